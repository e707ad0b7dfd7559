import { Command } from "commander";
import type { Env } from "../../envs/env.ts";
import { scriptedPolicy } from "../../policy/scripted.ts";
import { makeChatEnv } from "../../rollout/make_chat_env.ts";
import { rollout } from "../../rollout/rollout.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import type { RunnableBlocks } from "../../tools/python_blocks.ts";
import { escapeJsonControls, escapeLine } from "../../terminal_text.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { UsageError } from "../cli_errors.ts";
import { requireReadable, toInputPath } from "../input.ts";
import { currentIo } from "../io.ts";
import { collectValues, nameOption, parseWholeNumber } from "../options.ts";
import { writeText } from "../output.ts";
import { ENVS } from "../rollout/envs.ts";
import { pythonProfileOption } from "../rollout/python_files.ts";
import { openTools, type RunTools, type ToolFlags } from "../rollout/tools.ts";
import { readSavedEpisodes } from "../rollout/trajectory_file.ts";
import {
  createLazyPool,
  flagsOf,
  prepareImage,
  profileOption,
  resolveProfile,
  type SandboxFlags,
} from "../sandbox_options.ts";
import {
  compareTrajectories,
  firstDifference,
  NORMALIZED,
  type ReplayDifference,
  repliesOf,
} from "./compare.ts";

interface ReplayFlags extends SandboxFlags, ToolFlags, RunnableBlocks {
  json?: boolean;
}

const NOTES = `
ROW is a file of rollout --out, FILE for all of its rows, or FILE:N for its Nth episode. The recorded replies are played
again in a fresh interpreter for each row, with the row's seed, and each tool result is compared with the recorded one:
its status, and the text that the model reads. Not compared: ${NORMALIZED}.

Give the --profile, --tool, --mcp, --tool-callers, --calls, --timeout-ms, --run-unlabeled, --run-thoughts and --python-profile of the rollout. Rows of the
envs python, tools and chat can be replayed, and those of tau-bench and workspaces cannot.

Examples:
  paddock replay runs/a.jsonl:3
  paddock replay runs/a.jsonl --json | jq 'select(.same | not)'

Exit codes: 0 all results are the same, 1 a result differs, 2 wrong usage or an unreadable file, 125 the sandbox failed,
130 interrupted.`;

/** Returns the command `replay`, which runs the tool calls of saved episodes again and compares the results. */
export function replayCommand(): Command {
  return new Command("replay")
    .description("Run the tool calls of saved episodes again and show where results differ")
    .argument("<row>", "FILE or FILE:N; - reads stdin")
    .optionsGroup("Tools:")
    .option("--mcp <file>", "JSONC file of the MCP servers of the rollout")
    .option("--tool <file>", "TypeScript or Python file with tools of the rollout; repeatable", collectValues)
    .option("--tool-callers <callers>", "who calls the tools: model, code or model,code (default: model)")
    .addOption(nameOption("--calls <style>", "format of tool calls (default: tag)", Object.keys(CALL_STYLES)))
    .optionsGroup("Sandbox:")
    .addOption(profileOption())
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
  const profile = await resolveProfile(flags, signal);
  await requireReadable(path);
  await using stack = new AsyncDisposableStack();
  const hasTools = flags.mcp !== undefined || flags.tool !== undefined;
  const tools = hasTools ? await openTools(flags, { stack, signal, size: 1 }) : undefined;
  const pool = createLazyPool({ profile, size: 1, resetMode: "fresh", cacheDir, stack });
  let at = 0;
  let replayed = 0;
  let different = 0;
  for await (const trajectory of readSavedEpisodes(path)) {
    signal.throwIfAborted();
    if (number !== undefined && ++at !== number) continue;
    requireReplayable(trajectory, tools);
    if (replayed++ === 0) await prepareImage(profile, { cacheDir, signal });
    const makeEnv = () =>
      makeChatEnv({
        maxTurns: trajectory.turns,
        tools: tools?.transforms(),
        python: runsPython(trajectory, tools)
          ? {
            pool: pool(),
            timeoutMs,
            runUnlabeled,
            runThoughts,
            tools: tools?.ofCode,
            toolLimits: { timeoutMs },
            describeTools: false, // the recorded prompt has the text
          }
          : undefined,
      });
    const differences = await replay(trajectory, makeEnv, signal);
    if (differences.length > 0) different++;
    const label = number ?? replayed;
    await writeText(
      currentIo().stdout,
      json ? toJson(trajectory, label, differences) : toText(trajectory, label, differences),
    );
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

function runsPython({ toolResults }: Trajectory, tools: RunTools | undefined): boolean {
  return tools === undefined || toolResults.some(({ tool }) => tool === "python");
}

function requireReplayable(
  { task, toolResults, turns, versions }: Trajectory,
  tools: RunTools | undefined,
): void {
  const other = toolResults.find(({ tool }) => tool !== "python");
  const start = `Cannot replay the episode of task '${task.id}'`;
  const { env } = versions;
  if (env !== undefined && !Object.hasOwn(ENVS, env)) {
    throw new UsageError(`${start} as its env must be one of Paddock's: it is '${env}' of a file`);
  }
  if (turns === 0) throw new UsageError(`${start} as it must have a reply: it has none`);
  if (other !== undefined && tools === undefined) {
    throw new UsageError(`${start} as it calls '${other.tool}': give --tool FILE or --mcp FILE`);
  }
}

async function replay(
  recorded: Trajectory,
  makeEnv: () => Env,
  signal: AbortSignal,
): Promise<ReplayDifference[]> {
  const { task, seed, turns } = recorded;
  const replies = repliesOf(recorded);
  let turn = 0;
  const policy = scriptedPolicy({
    script: () => ({ message: replies[turn++] ?? { role: "assistant", content: "" } }),
  });
  await using env = makeEnv();
  const replayed = await rollout(env, policy, task, { seed, maxTurns: turns, signal });
  if (replayed.error !== undefined && recorded.error === undefined) throw new Error(replayed.error.message);
  return compareTrajectories(recorded, replayed);
}

function toText(
  { task, seed, toolResults }: Trajectory,
  row: number,
  differences: readonly ReplayDifference[],
): string {
  const count = `${toolResults.length} ${toolResults.length === 1 ? "result" : "results"}`;
  const name = `row ${row}, task ${escapeLine(task.id)}`;
  if (differences.length === 0) return `${name}: ${count}, all the same\n`;
  const hint = seed === undefined ? " (the row has no seed: random values differ)" : "";
  const lines = differences.flatMap((difference) => {
    const [recorded, replayed] = firstDifference(difference).map((line) =>
      escapeLine(line.slice(0, MAX_SHOWN))
    );
    return [`  turn ${difference.turn}`, `    recorded  ${recorded}`, `    replayed  ${replayed}`];
  });
  return [
    `${name}: ${count}, ${differences.length} ${
      differences.length === 1 ? "turn differs" : "turns differ"
    }${hint}`,
    ...lines,
    "",
  ].join("\n");
}

/** Characters of a line that are shown, and of a text in JSON. */
const MAX_SHOWN = 200;
const MAX_JSON = 10_000;

function toJson({ task, sample }: Trajectory, row: number, differences: readonly ReplayDifference[]): string {
  const shortened = differences.map(({ turn, recorded, replayed }) => ({
    turn,
    recorded: recorded.slice(0, MAX_JSON),
    replayed: replayed.slice(0, MAX_JSON),
  }));
  const line = { row, task: task.id, sample, same: differences.length === 0, differences: shortened };
  return `${escapeJsonControls(JSON.stringify(line))}\n`;
}
