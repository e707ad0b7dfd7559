import { Command } from "commander";
import { GRADERS } from "../../rewards/registry.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { runCommand } from "../run_command.ts";
import { applyConfig, isSet } from "../config/config_file.ts";
import { UsageError } from "../cli_errors.ts";
import { addOptions, argumentsOf } from "../option_table.ts";
import { formatNames, lookUp } from "../options.ts";
import { flagsOf } from "../sandbox_options.ts";
import { ENVS } from "./envs.ts";
import { checkEnvOptions, ROLLOUT_OPTIONS } from "./options.ts";
import { isPluginPath } from "./plugins.ts";
import { POLICIES } from "./policies.ts";
import type { RolloutFlags } from "./rollout_flags.ts";
import { runRollout } from "./run.ts";
import { familyProfile, isFamilyEnv } from "./envs/families.ts";
import { REASONING_GYM } from "./envs/reasoning_gym.ts";
import { HARBOR_ENV } from "./envs/harbor.ts";
import { TAU_BENCH } from "./envs/tau_bench.ts";
import { USERS } from "./envs/users.ts";
import { WORKSPACE_ENV } from "./envs/workspace.ts";

const NAMES = formatNames("Envs", ENVS) + formatNames("Policies", POLICIES) + formatNames("Users", USERS) +
  formatNames("Graders", GRADERS) + formatNames("Calls", CALL_STYLES);

const NOTES = `
Examples:
  paddock rollout --tasks examples/tasks.jsonl --show
  paddock rollout --tasks test.jsonl --policy openai:http://localhost:8000 --model qwen --samples 8 \\
    --concurrency 32 --out runs/a.jsonl
  paddock rollout … --out runs/a.jsonl --resume
  paddock rollout --env ./env.py --tasks tasks.jsonl --policy openai:http://localhost:8000 --model qwen
  paddock rollout --env paddock/graph-paths --difficulty 3 --policy openai:http://localhost:8000 --model qwen
  paddock rollout --env tau-bench --path ~/tau-bench --domain retail --user openai:http://localhost:8001 \\
    --user-model gpt --policy openai:http://localhost:8000 --model qwen
  paddock rollout --env workspace --task examples/workspace/prisoners_dilemma --samples 8 \\
    --policy openai:http://localhost:8000 --model qwen
  paddock rollout --harbor ~/tasks --samples 8 --policy openai:http://localhost:8000 --model qwen

Ctrl-C, SIGTERM or SIGHUP ends the running episodes and saves finished ones. --resume continues the run and
plays failed episodes again.

A row is { query, id?, answer?, replies?, reference?, fields? }, a row of GSM8K, IFEval, HumanEval, MBPP, MATH,
TRL, verl or inspect, or one whose columns --query-field and --answer-field name. \`fields\` holds other data of
graders and envs, such as hidden tests. An invalid row is a failed episode; the other rows are played. If all
first rows lack a column, the run ends with 2.

Exit codes: 0 all episodes were played, 1 an episode failed, 2 wrong usage or unreadable tasks, 74 the file of
--out cannot be written, 125 the sandbox failed, 130 interrupted.`;

/** Returns the command `rollout`. */
export function rolloutCommand(): Command {
  const command = new Command("rollout")
    .description(
      "Play every task of a file, of a family, of tau-bench, of a workspace, or of Harbor in the sandbox and score it",
    );
  return addOptions(command, ROLLOUT_OPTIONS)
    .addHelpText("after", NAMES + NOTES)
    .action((_: object, command: Command) => runCommand((signal) => playCommand(command, signal)));
}

async function playCommand(command: Command, signal: AbortSignal): Promise<number> {
  await applyConfig(command);
  const given = flagsOf<RolloutFlags>(command);
  const isHarbor = given.harbor !== undefined && !isSet(command, "env");
  const flags = isHarbor ? { ...given, env: HARBOR_ENV } : given;
  const { tasks, env } = flags;
  if (!isPluginPath(env)) lookUp(ENVS, env, "env");
  checkEnvOptions(Object.keys(ROLLOUT_OPTIONS).filter((name) => isSet(command, name)), env);
  const hasTasks = [TAU_BENCH, WORKSPACE_ENV, REASONING_GYM, HARBOR_ENV].includes(env) || isFamilyEnv(env);
  if (tasks === undefined && !hasTasks) {
    throw new UsageError(`Cannot play env '${env}' as it needs tasks: give --tasks FILE`);
  }
  const profile = isFamilyEnv(env) && !isSet(command, "profile") ? familyProfile(env) : undefined;
  const isGiven = isSet(command, "timeoutMs");
  const args = argumentsOf(command);
  return await runRollout({
    ...flags,
    args,
    ...(profile !== undefined && { profile }),
    ...(isGiven && { commandTimeoutMs: flags.timeoutMs }),
  }, signal);
}
