import { Command, Option } from "commander";
import { GRADERS } from "../../rewards/registry.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { REWARD_AT } from "../../transforms/mlgym/mlgym_reward_assignment.ts";
import { runCommand } from "../command.ts";
import { applyConfig, configOption, isSet } from "../config/config_file.ts";
import { UsageError } from "../errors.ts";
import {
  collectValues,
  formatNames,
  lookUp,
  nameOption,
  parseNumber,
  parseNumberAtLeast,
  parseWholeNumber,
} from "../options.ts";
import { flagsOf, profileOption } from "../sandbox_options.ts";
import { ENVS } from "./envs.ts";
import { ALLOW_HELP } from "./plugins.ts";
import { POLICIES } from "./policies.ts";
import { type RolloutFlags, runRollout } from "./run.ts";
import { TAU_BENCH } from "./tau_bench.ts";
import { USER_STRATEGIES, USERS } from "./users.ts";
import { WORKSPACE_ENV } from "./workspace.ts";

const NAMES = formatNames("Envs", ENVS) + formatNames("Policies", POLICIES) + formatNames("Users", USERS) +
  formatNames("Graders", GRADERS) + formatNames("Calls", CALL_STYLES);

const NOTES = `
Examples:
  paddock rollout --tasks examples/tasks.jsonl --show
  paddock rollout --tasks test.jsonl --policy openai:http://localhost:8000 --model qwen --samples 8 \\
    --concurrency 32 --out runs/a.jsonl
  paddock rollout … --out runs/a.jsonl --resume
  paddock rollout --env tau-bench --path ~/tau-bench --domain retail --user openai:http://localhost:8001 \\
    --user-model gpt --policy openai:http://localhost:8000 --model qwen
  paddock rollout --env workspace --task examples/workspace/prisoners_dilemma --samples 8 \\
    --policy openai:http://localhost:8000 --model qwen

Ctrl-C, SIGTERM or SIGHUP ends the running episodes and saves finished ones. --resume continues the run and
plays failed episodes again.

A row is { query, id?, answer?, replies?, reference?, fields? }, or a row of GSM8K, IFEval, HumanEval, MBPP or
MATH. \`fields\` holds other data of graders and envs, such as hidden tests. An invalid row is a failed episode;
the other rows are played.

Exit codes: 0 all episodes were played, 1 an episode failed, 2 wrong usage or unreadable tasks, 74 the file of
--out cannot be written, 125 the sandbox failed, 130 interrupted.`;

/** Returns the command `rollout`. */
export function rolloutCommand(): Command {
  return new Command("rollout")
    .description("Play every task of a file, of tau-bench, or of a workspace in the sandbox and score it")
    .optionsGroup("Tasks:")
    .addOption(nameOption("--env <name>", "environment", Object.keys(ENVS)).default("python"))
    .option(
      "--tasks <file>",
      "task file: JSON lines, CSV (also .gz) or Parquet, a folder of these, or - for stdin",
    )
    .option(
      "--split <name>",
      "split: files of a folder (default: train, else all) or tasks of tau-bench (default: test)",
    )
    .option("--limit <n>", "play only the first n tasks", parseWholeNumber(1))
    .option("--samples <n>", "episodes per task", parseWholeNumber(1), 1)
    .option("--seed <n>", "seed for reproducible episodes", parseWholeNumber(0))
    .option(
      "--branch <count@turn>",
      "play trees: 4@2 plays turn 1 once, and from turn 2 on four continuations; repeatable",
      collectValues,
    )
    .optionsGroup("Policy:")
    .addOption(
      nameOption("--policy <name>", "policy, or a file like ./my_policy.ts", Object.keys(POLICIES)).default(
        "scripted",
      ),
    )
    .option("--policy-allow <permission>", `permission of that file: ${ALLOW_HELP}`, collectValues)
    .option("--model <name>", "model name sent to the server of --policy")
    .option("--temperature <t>", "sampling temperature (default: the server's)", parseNumberAtLeast(0))
    .option("--max-tokens <n>", "maximum tokens of one reply (default: the server's)", parseWholeNumber(1))
    .option("--request-timeout-ms <n>", "timeout of one reply in milliseconds", parseWholeNumber(1), 300_000)
    .option("--system <text>", "system message before each query")
    .option(
      "--max-turns <n>",
      "maximum replies per episode (default: 8; tau-bench: 30; workspace: 50 commands)",
      parseWholeNumber(1),
    )
    .optionsGroup("Reward:")
    .addOption(
      new Option("--cut-score <how>", "score of an episode that a limit of tokens cut off")
        .choices(["grade", "none"]).default("grade"),
    )
    .addOption(
      nameOption("--grader <name>", "grader, none for no scores, or a file like ./my_grader.ts", [
        ...Object.keys(GRADERS),
        "none",
      ])
        .default("number_match"),
    )
    .option(
      "--transform <file>",
      "file like ./my_transform.ts that changes queries, tool results or rewards of a chat; repeatable",
      collectValues,
    )
    .option("--transform-allow <permission>", `permission of these files: ${ALLOW_HELP}`, collectValues)
    .option("--grader-allow <permission>", `permission of that file: ${ALLOW_HELP}`, collectValues)
    .option("--judge <policy>", "judge of the grader `judge`: openai:URL, sglang:URL")
    .option("--judge-model <name>", "model name sent to its server")
    .optionsGroup("Tools:")
    .option("--mcp <file>", "JSONC file of MCP servers whose tools the policy may call")
    .option(
      "--tool <file>",
      "TypeScript file with a tool that runs without permissions; repeatable",
      collectValues,
    )
    .addOption(
      nameOption(
        "--calls <style>",
        "format of tool calls (default: tag; tau-bench: qwen25)",
        Object.keys(CALL_STYLES),
      ),
    )
    .optionsGroup("Env tau-bench:")
    .option("--path <dir>", "checkout, or a folder with the same layout")
    .option("--domain <name>", "domain, for example retail or airline")
    .addOption(nameOption("--user <name>", "simulated user", Object.keys(USERS)))
    .option("--user-model <name>", "model name sent to its server")
    .addOption(
      new Option("--user-strategy <name>", "strategy of a model that plays the user").choices(USER_STRATEGIES)
        .default("llm"),
    )
    .optionsGroup("Env workspace:")
    .option(
      "--task <path>",
      "folder with a task.yaml, or a YAML file; repeatable",
      collectValues,
    )
    .option(
      "--agent <file>",
      "YAML file of the agent (default: Paddock's own agent)",
    )
    .addOption(
      new Option("--reward-at <when>", "steps that give a reward (default: end)").choices(
        REWARD_AT,
      ),
    )
    .option(
      "--wrong-format-reward <r>",
      "reward of a reply without a command, for example -0.1",
      parseNumber,
    )
    .optionsGroup("Sandbox and speed:")
    .addOption(profileOption())
    .option(
      "--timeout-ms <n>",
      "timeout of a code block or tool call in milliseconds (workspace commands: 25000)",
      parseWholeNumber(1),
      2000,
    )
    .option("--run-unlabeled", "run code blocks without a language too")
    .option("--run-thoughts", "run code blocks inside thoughts too, as TorchRL does")
    .option(
      "--concurrency <n>",
      "concurrent episodes (default: 8 with a server, else one per core)",
      parseWholeNumber(1),
    )
    .option(
      "--pool-size <n>",
      "number of interpreters (default: --concurrency; without a server at most one per core)",
      parseWholeNumber(1),
    )
    .addOption(
      new Option(
        "--reset <mode>",
        "how interpreters are reset between episodes; rewind is faster, for a single trusted policy",
      )
        .choices(["rewind", "fresh"]).default("rewind"),
    )
    .optionsGroup("Output:")
    .option("--out <file>", "write one JSON line per episode to a file")
    .addOption(new Option("--resume", "continue the file of --out or --train-out").conflicts("force"))
    .option("--force", "discard the contents of the file of --out")
    .option("--show", "print each episode's messages")
    .option("--show-first <n>", "print the messages of the first n episodes", parseWholeNumber(1))
    .addOption(
      new Option("--json", "print one JSON line per episode to stdout and the table to stderr").conflicts([
        "show",
        "showFirst",
      ]),
    )
    .optionsGroup("Training:")
    .option("--train-out <file>", "write tokens, loss masks and rewards for a trainer; needs --tokenizer")
    .option("--tokenizer <dir>", "folder with tokenizer.json and tokenizer_config.json; records token ids")
    .addOption(
      new Option("--token-mode <mode>", "append to earlier tokens, or render each prompt again")
        .choices(["append", "rerender"]).default("append"),
    )
    .optionsGroup("Options:")
    .addOption(configOption())
    .addHelpText("after", NAMES + NOTES)
    .action(async (_: object, command: Command) => {
      await runCommand(async (signal) => {
        await applyConfig(command);
        const flags = flagsOf<RolloutFlags>(command);
        const { tasks, env } = flags;
        lookUp(ENVS, env, "env");
        checkEnvOptions(command, { env });
        if (tasks === undefined && env !== TAU_BENCH && env !== WORKSPACE_ENV) {
          throw new UsageError(`Cannot play env '${env}' as it needs tasks: give --tasks FILE`);
        }
        const isGiven = isSet(command, "timeoutMs");
        return await runRollout({ ...flags, ...(isGiven && { commandTimeoutMs: flags.timeoutMs }) }, signal);
      });
    });
}

/** Options of a single env. */
const ENV_OF_OPTION: Readonly<Record<string, string>> = {
  path: TAU_BENCH,
  domain: TAU_BENCH,
  user: TAU_BENCH,
  userModel: TAU_BENCH,
  userStrategy: TAU_BENCH,
  task: WORKSPACE_ENV,
  agent: WORKSPACE_ENV,
  rewardAt: WORKSPACE_ENV,
  wrongFormatReward: WORKSPACE_ENV,
  runUnlabeled: "python",
  runThoughts: "python",
};
/** Options of envs that are chats of `ChatEnv`. */
const CHAT_OPTIONS = ["transform", "transformAllow"];
const CHAT_ENVS = ["python", "tools", "chat"];
/** Options that the task and agent files of a workspace set. */
const SET_BY_WORKSPACE_FILES = [
  "grader",
  "graderAllow",
  "judge",
  "judgeModel",
  "system",
  "split",
  "profile",
  "calls",
];

/**
 * Checks that the env supports all given options, so that none is ignored silently.
 *
 * @throws {UsageError} for the first unsupported option.
 */
function checkEnvOptions(command: Command, { env }: { env: string }): void {
  for (const option of command.options) {
    const name = option.attributeName();
    if (!isSet(command, name)) continue;
    const owner = ENV_OF_OPTION[name];
    if (owner !== undefined && owner !== env) {
      throw new UsageError(
        `Cannot play env '${env}' with ${option.long} as it is for env '${owner}': add --env ${owner}`,
      );
    }
    if (CHAT_OPTIONS.includes(name) && !CHAT_ENVS.includes(env)) {
      throw new UsageError(
        `Cannot play env '${env}' with ${option.long} as it is for envs ${
          CHAT_ENVS.join(", ")
        }: remove ${option.long}`,
      );
    }
    if (env === WORKSPACE_ENV && SET_BY_WORKSPACE_FILES.includes(name)) {
      throw new UsageError(
        `Cannot play env '${env}' with ${option.long} as its task and agent files set it: remove ${option.long}`,
      );
    }
  }
}
