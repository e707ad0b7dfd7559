import { Command } from "commander";
import type { Env } from "../../envs/env.ts";
import type { AnswerSubCall } from "../../envs/rlm/recursive_env.ts";
import { MAX_TIMER_MS } from "../../async/abort.ts";
import { scriptedPolicy } from "../../policy/scripted.ts";
import type { EnvFile } from "../../plugins/env_file.ts";
import { fileEnv } from "../../rollout/file_env.ts";
import { familyEnv } from "../../rollout/family_env.ts";
import { makeChatEnv } from "../../rollout/make_chat_env.ts";
import { rollout } from "../../rollout/rollout.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import type { SessionPool } from "../../sandbox/contract/pool.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import type { ToolCallParser } from "../../tools/parsers/tool_call_parser.ts";
import type { RunnableBlocks } from "../../tools/python_blocks.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { UsageError } from "../cli_errors.ts";
import { requireReadable, toInputPath } from "../input.ts";
import { currentIo } from "../io.ts";
import { collectValues, lookUp, nameOption, parseWholeNumber } from "../options.ts";
import { writeText } from "../output.ts";
import { isFamilyEnv } from "../rollout/envs/families.ts";
import { ENVS, type FileEnvFlags, openEnvFile, rlmEnv } from "../rollout/envs.ts";
import { isPluginPath } from "../rollout/plugins.ts";
import { pythonProfileOption } from "../rollout/python_files.ts";
import { openTools, type RunTools, type ToolFlags } from "../rollout/tools.ts";
import { readSavedEpisodes } from "../rollout/trajectory_file.ts";
import {
  clockOption,
  createLazyPool,
  flagsOf,
  prepareImage,
  profileOption,
  resolveProfile,
  type SandboxFlags,
} from "../sandbox_options.ts";
import { compareTrajectories, NORMALIZED, repliesOf } from "./compare.ts";
import { compareExactly } from "./exact.ts";
import { recordedTools } from "./recorded_calls.ts";
import { isQuestion, replayedRows } from "./replayed_rows.ts";
import { exactReport, normalReport } from "./report.ts";

interface ReplayFlags extends SandboxFlags, ToolFlags, FileEnvFlags, RunnableBlocks {
  /** File of the env. */
  env?: string;
  json?: boolean;
  exact?: boolean;
}

const NOTES = `
ROW is a file of rollout --out, FILE for all of its rows, or FILE:N for its Nth episode. The recorded replies are played
again in a fresh interpreter for each row, with the row's seed, and each tool result is compared with the recorded one:
its status, and the text that the model reads. Not compared: ${NORMALIZED}.

With --exact the digests of the execs are compared instead: code, inputs, output, value and files, bit by bit. The first exec
that differs is printed, with the first byte that differs in what the model reads. Execs after one that is inexact are not
compared.

Calls of tools that the code made are answered from the row, without the tools. The first call that the row does not have
is printed. A call whose result the row has not completely is answered by the tool, which then must be given.

Give the --profile, --env FILE, --env-allow, --tool, --mcp, --tool-callers, --calls, --timeout-ms, --run-unlabeled,
--run-thoughts and --python-profile of the rollout. Rows of the envs python, tools, chat and rlm, of families, and of an env in a file can
be replayed, and those of tau-bench and workspaces cannot. Questions of code in the env rlm are answered from their rows,
which follow after that of their episode.

Examples:
  paddock replay runs/a.jsonl:3
  paddock replay runs/b.jsonl --env ./env.py
  paddock replay runs/a.jsonl --json | jq 'select(.same | not)'

Exit codes: 0 all results are the same, 1 a result differs, 2 wrong usage or an unreadable file, 125 the sandbox failed,
130 interrupted.`;

/** Returns the command `replay`, which runs the tool calls of saved episodes again and compares the results. */
export function replayCommand(): Command {
  return new Command("replay")
    .description("Run the tool calls of saved episodes again and show where results differ")
    .argument("<row>", "FILE or FILE:N; - reads stdin")
    .optionsGroup("Env:")
    .option("--env <file>", "TypeScript or Python file with the env of the rollout")
    .option("--env-allow <what>", "permission of a TypeScript env, as in rollout; repeatable", collectValues)
    .optionsGroup("Tools:")
    .option("--mcp <file>", "JSONC file of the MCP servers of the rollout")
    .option("--tool <file>", "TypeScript or Python file with tools of the rollout; repeatable", collectValues)
    .option("--tool-callers <callers>", "who calls the tools: model, code or model,code (default: model)")
    .addOption(nameOption("--calls <style>", "format of tool calls (default: tag)", Object.keys(CALL_STYLES)))
    .optionsGroup("Sandbox:")
    .addOption(profileOption())
    .addOption(clockOption())
    .option("--exact", "compare the digests of all execs, of rows that were played with --clock virtual")
    .addOption(pythonProfileOption())
    .option(
      "--timeout-ms <n>",
      "timeout of a code block or tool call in milliseconds",
      parseWholeNumber(1),
      2000,
    )
    .option("--run-unlabeled", "run code blocks without a language too")
    .option("--run-thoughts", "run code blocks inside thoughts too")
    .optionsGroup("Output:")
    .option("--json", "print one JSON line per row")
    .addHelpText("after", NOTES)
    .action(async (row: string, _: object, command: Command) => {
      await runCommand((signal) => runReplay(row, flagsOf(command), signal));
    });
}

async function runReplay(row: string, flags: ReplayFlags, signal: AbortSignal): Promise<number> {
  const { path, number } = await parseRow(row);
  const { json, cacheDir, timeoutMs, runUnlabeled, runThoughts } = flags;
  const profile = await resolveProfile(flags.exact ? { ...flags, clock: "virtual" } : flags, signal);
  await requireReadable(path);
  await using stack = new AsyncDisposableStack();
  const hasTools = flags.mcp !== undefined || flags.tool !== undefined;
  const tools = hasTools ? await openTools(flags, { stack, signal, size: 1 }) : undefined;
  const pool = createLazyPool({ profile, size: 1, resetMode: "fresh", cacheDir, stack });
  const file = await openEnv(flags, { stack, signal });
  const { parser } = lookUp(CALL_STYLES, flags.calls ?? "tag", "call style");
  const parts = { file, tools, pool, parser, limits: { timeoutMs, runUnlabeled, runThoughts } };
  let at = 0;
  let replayed = 0;
  let different = 0;
  for await (const { trajectory, row, answer } of replayedRows(readSavedEpisodes(path))) {
    signal.throwIfAborted();
    at = Math.max(at, row);
    if (number === undefined ? isQuestion(trajectory) : row !== number) continue;
    requireReplayable(trajectory, { tools, file });
    if (replayed++ === 0) await prepareImage(profile, { cacheDir, signal });
    const makeEnv = () => makeReplayEnv(trajectory, { ...parts, answer });
    const again = await replay(trajectory, makeEnv, signal);
    const report = flags.exact
      ? exactReport(trajectory, row, compareExactly(trajectory, again))
      : normalReport(trajectory, row, compareTrajectories(trajectory, again));
    if (!report.isSame) different++;
    await writeText(currentIo().stdout, json ? report.json : report.text);
    if (number !== undefined) break;
  }
  if (replayed === 0) {
    throw new UsageError(
      `Cannot replay '${row}' as there must be ${
        number === undefined ? "an episode" : `an episode ${number}`
      }: found ${at}`,
    );
  }
  return different > 0 ? EXIT.error : EXIT.ok;
}

/** Opens the env of a file, if any. */
async function openEnv(
  flags: ReplayFlags,
  { stack, signal }: { stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<EnvFile | undefined> {
  const { env: path, envAllow } = flags;
  if (path === undefined && envAllow === undefined) return undefined;
  if (path !== undefined && isPluginPath(path)) {
    return await openEnvFile(path, { flags, owner: { size: 1, stack, signal } });
  }
  throw new UsageError(
    path === undefined
      ? "Cannot replay with --env-allow as it is for an env in a file: give --env FILE.ts"
      : `Cannot replay with --env '${path}' as it must be a file: the rows name Paddock's own envs`,
  );
}

/** What the envs of a replay are made of. */
interface ReplayParts {
  readonly file: EnvFile | undefined;
  readonly tools: RunTools | undefined;
  readonly pool: () => SessionPool;
  readonly parser: () => ToolCallParser;
  readonly limits: RunnableBlocks & { readonly timeoutMs: number };
  /** Answers the questions of an episode whose code asks. */
  readonly answer?: AnswerSubCall | undefined;
}

function makeReplayEnv(
  trajectory: Trajectory,
  { file, tools, pool, parser, limits, answer }: ReplayParts,
): Env {
  const maxTurns = trajectory.turns;
  if (answer !== undefined) return rlmEnv({ pool: pool(), maxTurns, timeoutMs: limits.timeoutMs, answer });
  if (file !== undefined) {
    return fileEnv(file, {
      ...limits,
      maxTurns,
      tools: tools?.transforms(),
      toolNames: tools?.names,
      pool: file.description.python ? pool() : undefined,
      parser: parser(),
    });
  }
  const { env = "" } = trajectory.versions;
  if (isFamilyEnv(env)) return familyEnv(env, { maxTurns, pool: pool(), parser: parser() });
  const ofCode = recordedTools(trajectory, tools?.shared ?? []);
  return makeChatEnv({
    maxTurns,
    tools: tools?.transformsOfModel(),
    python: runsPython(trajectory, tools)
      ? {
        pool: pool(),
        ...limits,
        ...ofCode,
        toolLimits: REPLAY_LIMITS,
        describeTools: false, // the recorded prompt has the text
      }
      : undefined,
  });
}

/** Splits `FILE:N`. A file whose own name ends so is a file. */
async function parseRow(row: string): Promise<{ path: string; number?: number }> {
  const [, path = "", digits = ""] = /^(.+):(\d+)$/.exec(row) ?? [];
  const isFile = await Deno.stat(row).then(() => true, () => false);
  if (path === "" || isFile) return { path: toInputPath(row) };
  const number = Number(digits);
  if (number >= 1 && Number.isSafeInteger(number)) return { path: toInputPath(path), number };
  throw new UsageError(
    `Cannot replay '${row}' as the number of an episode must be >= 1: current value is ${digits}`,
  );
}

/** Only the block's own limits bound a replayed block: the recorded calls were within the limits of their episode. */
const REPLAY_LIMITS = {
  maxCalls: Infinity,
  maxConcurrentCalls: Infinity,
  maxResultBytes: Infinity,
  maxTotalMs: MAX_TIMER_MS,
};

function runsPython({ toolResults }: Trajectory, tools: RunTools | undefined): boolean {
  return tools === undefined || toolResults.some(({ tool }) => tool === "python");
}

function requireReplayable(
  trajectory: Trajectory,
  { tools, file }: Pick<ReplayParts, "tools" | "file">,
): void {
  const { task, toolResults, turns, versions, parent } = trajectory;
  const isFamily = isFamilyEnv(versions.env ?? "");
  const other = isFamily ? undefined : toolResults.find(({ tool }) => tool !== "python");
  const start = `Cannot replay the episode of task '${task.id}'`;
  if (isQuestion(trajectory)) {
    throw new UsageError(`${start} as it is a question of the episode '${parent?.id}': give the row of that`);
  }
  const { env } = versions;
  const own = file?.description.name;
  if (own !== undefined && env !== own) {
    throw new UsageError(`${start} as its env must be that of --env, '${own}': it is '${env ?? "python"}'`);
  }
  if (own === undefined && env !== undefined && !Object.hasOwn(ENVS, env)) {
    throw new UsageError(`${start} as its env '${env}' is in a file: give --env FILE`);
  }
  if (turns === 0) throw new UsageError(`${start} as it must have a reply: it has none`);
  if (other !== undefined && tools === undefined && file === undefined) {
    throw new UsageError(`${start} as it calls '${other.tool}': give --tool FILE or --mcp FILE`);
  }
}

async function replay(
  recorded: Trajectory,
  makeEnv: () => Env,
  signal: AbortSignal,
): Promise<Trajectory> {
  const { task, seed, turns } = recorded;
  const replies = repliesOf(recorded);
  let turn = 0;
  const policy = scriptedPolicy({
    script: () => ({ message: replies[turn++] ?? { role: "assistant", content: "" } }),
  });
  await using env = makeEnv();
  const replayed = await rollout(env, policy, task, { seed, maxTurns: turns, signal });
  if (replayed.error !== undefined && recorded.error === undefined) throw new Error(replayed.error.message);
  return replayed;
}
