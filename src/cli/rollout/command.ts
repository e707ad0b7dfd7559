import { Command, Option } from "commander";
import { GRADERS } from "../../rewards/registry.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { REWARD_AT } from "../../transforms/mlgym/mlgym_reward_assignment.ts";
import { runCommand } from "../command.ts";
import { UsageError } from "../errors.ts";
import {
  collectValues,
  formatNames,
  lookUp,
  parseNumber,
  parseNumberAtLeast,
  parseWholeNumber,
} from "../options.ts";
import { flagsOf, profileOption } from "../sandbox_options.ts";
import { ENVS } from "./envs.ts";
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
  paddock rollout --tasks test.jsonl --policy openai:http://localhost:8000 --model qwen --n 8 \\
    --concurrency 32 --out runs/a.jsonl
  paddock rollout … --out runs/a.jsonl --resume
  paddock rollout --env tau-bench --path ~/tau-bench --domain retail --user openai:http://localhost:8001 \\
    --user-model gpt --policy openai:http://localhost:8000 --model qwen
  paddock rollout --env workspace --task examples/workspace/prisoners_dilemma --n 8 \\
    --policy openai:http://localhost:8000 --model qwen

Ctrl-C, SIGTERM or a terminal that goes away end the running episodes and keep those that are over; --resume
goes on there, and plays episodes again that failed at a boundary.

A row is { query, id?, answer?, replies?, reference?, fields? }, or one of GSM8K, IFEval, HumanEval, MBPP or
MATH; \`fields\` are what graders and envs need beside the answer, such as hidden tests. A row that is no task
is an episode that failed; the others are played.

Exit codes: 0 all episodes were played, 1 an episode failed at a boundary, 2 wrong usage or tasks that cannot
be read, 74 the file of --out cannot be written any more, 125 the sandbox itself failed, 130 interrupted.`;

/** The command `rollout`: plays every task of a file, several at once. */
export function rolloutCommand(): Command {
  return new Command("rollout")
    .description("Play every task of a file, of tau-bench, or of a workspace in the sandbox and score it")
    .option(
      "--tasks <file>",
      "rows to play: JSON lines or CSV (.gz too), Parquet, a folder of these; - is stdin",
    )
    .option(
      "--split <name>",
      "which files of a folder (default: train if there is one, else all), or tasks of tau-bench (default: test)",
    )
    .option("--limit <n>", "play only the first n tasks", parseWholeNumber(1))
    .option("--env <name>", "environment", "python")
    .option("--policy <name>", "policy", "scripted")
    .option("--grader <name>", "grader; none leaves episodes unscored", "number_match")
    .option("--judge <policy>", "judge of the grader `judge`: openai:URL, sglang:URL")
    .option("--judge-model <name>", "the model that its server is asked for")
    .option("--model <name>", "the model that the server is asked for")
    .option("--temperature <t>", "sampling temperature (default: the server's)", parseNumberAtLeast(0))
    .option("--max-tokens <n>", "maximum tokens of one reply (default: the server's)", parseWholeNumber(1))
    .option("--request-timeout-ms <n>", "milliseconds that a reply may take", parseWholeNumber(1), 300_000)
    .option("--system <text>", "a system message before each query")
    .option("--n <n>", "episodes of each task", parseWholeNumber(1), 1)
    .option("--seed <n>", "seed for reproducible episodes", parseWholeNumber(0))
    .option("--tokenizer <dir>", "a model's tokenizer.json and tokenizer_config.json: gives token ids too")
    .option("--mcp <file>", "a JSONC file of MCP servers whose tools may be called")
    .option(
      "--tool <file>",
      "a TypeScript file that may be called, and may reach nothing; repeatable",
      collectValues,
    )
    .option("--calls <style>", "how calls are written (default: tag, in tau-bench qwen25)")
    .option("--path <dir>", "for tau-bench: a checkout of it, or a folder with the same layout")
    .option("--domain <name>", "for tau-bench: such as retail or airline")
    .option(
      "--task <path>",
      "for workspace: a folder with a task.yaml, or a YAML file; repeatable",
      collectValues,
    )
    .option(
      "--agent <file>",
      "for workspace: a YAML file of the agent's configuration (default: Paddock's own)",
    )
    .addOption(
      new Option("--reward-at <when>", "for workspace: what is worth a reward (default: end)").choices(
        REWARD_AT,
      ),
    )
    .option(
      "--wrong-format-reward <r>",
      "for workspace: added when a reply holds no command, such as -0.1",
      parseNumber,
    )
    .option("--user <name>", "for tau-bench: simulated user")
    .option("--user-model <name>", "the model that its server is asked for")
    .addOption(
      new Option("--user-strategy <name>", "strategy of a model that plays the user").choices(USER_STRATEGIES)
        .default("llm"),
    )
    .addOption(profileOption())
    .option(
      "--concurrency <n>",
      "episodes at once (default: 8 with a server, else one per core)",
      parseWholeNumber(1),
    )
    .option("--pool-size <n>", "interpreters at once (default: those that are of use)", parseWholeNumber(1))
    .addOption(
      new Option(
        "--reset <mode>",
        "how interpreters are reset between episodes; rewind is faster, for a single trusted policy",
      )
        .choices(["rewind", "fresh"]).default("rewind"),
    )
    .option(
      "--timeout-ms <n>",
      "milliseconds that a block of code, a call, or a command in a workspace may take (there: 25000)",
      parseWholeNumber(1),
      2000,
    )
    .option(
      "--max-turns <n>",
      "replies that an episode may take (default: 8, in tau-bench 30, commands in a workspace 50)",
      parseWholeNumber(1),
    )
    .addOption(
      new Option("--json", "one JSON line per episode on stdout, the table on stderr").conflicts([
        "show",
        "showFirst",
      ]),
    )
    .option("--out <file>", "write the JSON lines to a file")
    .option("--train-out <file>", "write tokens, loss masks and rewards for a trainer; needs --tokenizer")
    .addOption(
      new Option("--token-mode <mode>", "append to earlier tokens, or render each prompt again")
        .choices(["append", "rerender"]).default("append"),
    )
    .addOption(new Option("--resume", "continue the file of --out or --train-out").conflicts("force"))
    .option("--force", "discard the contents of the file of --out")
    .option("--show", "print each episode's messages")
    .option("--show-first <n>", "print the messages of the first n episodes", parseWholeNumber(1))
    .addHelpText("after", NAMES + NOTES)
    .action(async ({ tasks, env }: RolloutFlags, command: Command) => {
      await runCommand(async (signal) => {
        lookUp(ENVS, env, "env");
        checkEnvOptions(command, { env });
        if (tasks === undefined && env !== TAU_BENCH && env !== WORKSPACE_ENV) {
          throw new UsageError(`Cannot play env '${env}' as it needs tasks: give --tasks FILE`);
        }
        const flags = flagsOf<RolloutFlags>(command);
        const isAsked = command.getOptionValueSource("timeoutMs") === "cli";
        return await runRollout({ ...flags, ...(isAsked && { commandTimeoutMs: flags.timeoutMs }) }, signal);
      });
    });
}

/** Options that one env alone understands. */
const OF_ONE: Readonly<Record<string, string>> = {
  path: TAU_BENCH,
  domain: TAU_BENCH,
  user: TAU_BENCH,
  userModel: TAU_BENCH,
  userStrategy: TAU_BENCH,
  task: WORKSPACE_ENV,
  agent: WORKSPACE_ENV,
  rewardAt: WORKSPACE_ENV,
  wrongFormatReward: WORKSPACE_ENV,
};
/** Options that say what a workspace's task and agent say themselves. */
const NOT_OF_WORKSPACES = ["grader", "judge", "judgeModel", "system", "split", "profile", "calls"];

/**
 * Lets a command pass whose options its env understands, so that none is passed over in silence.
 *
 * @throws {UsageError} with the first that it does not.
 */
export function checkEnvOptions(command: Command, { env }: { env: string }): void {
  for (const option of command.options) {
    const name = option.attributeName();
    if (command.getOptionValueSource(name) !== "cli") continue;
    const owner = OF_ONE[name];
    if (owner !== undefined && owner !== env) {
      throw new UsageError(
        `Cannot play env '${env}' with ${option.long} as it is for env '${owner}': add --env ${owner}`,
      );
    }
    if (env === WORKSPACE_ENV && NOT_OF_WORKSPACES.includes(name)) {
      throw new UsageError(
        `Cannot play env '${env}' with ${option.long} as its task and its agent say that: leave ${option.long} out`,
      );
    }
  }
}
