import { Command, Option } from "commander";
import { readRunRecord, settingText } from "../../rollout/run_record.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import { viewerServer } from "../../server/viewer_server.ts";
import { escapeLine } from "../../terminal_text.ts";
import { RunFolder } from "../../viewer/run_folder.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { requireReadable, resolveTokenizer, STDIN, toInputPath } from "../input.ts";
import { currentIo } from "../io.ts";
import { parseWholeNumber } from "../options.ts";
import { wantsColour, writeText } from "../output.ts";
import { readSavedEpisodes } from "../rollout/trajectory_file.ts";
import { flagsOf } from "../sandbox_options.ts";
import { LOOPBACK_NAMES } from "../serve/address.ts";
import { listen, logError, waitForAbort } from "../serve/listening.ts";
import { formatTranscript } from "../transcript.ts";

interface ViewFlags {
  port: number;
  tokenizer?: string;
  id?: string;
  failed?: boolean;
  wrong?: boolean;
  cut?: boolean;
  limit?: number;
  web?: true;
}

const HOSTNAME = "127.0.0.1";

const NOTES = `
Examples:
  paddock view runs/a.jsonl --wrong --limit 3
  paddock view runs/a.jsonl --id paint | less
  paddock view runs/ --web

Exit codes: 0 ok, 1 no episode matches, 2 wrong usage or an unreadable file, 69 the port is in
use, 130 interrupted.`;

/** Returns the command `view`, which prints saved episodes as readable text or shows them in a browser. */
export function viewCommand(): Command {
  return new Command("view")
    .description("Show saved episodes")
    .argument("<file>", "JSON lines written by rollout --out, or a folder of them for --web; - reads stdin")
    .option("--id <id>", "show only episodes of this task")
    .option("--failed", "show only episodes that failed at a boundary")
    .option("--wrong", "show only episodes with a reward below 1")
    .option("--cut", "show only episodes that a limit of tokens cut off")
    .option("--limit <n>", "show only the first n matching episodes", parseWholeNumber(1))
    .addOption(
      new Option("--web", "serve pages for a browser on this machine until Ctrl-C")
        .conflicts(["id", "failed", "wrong", "cut", "limit"]),
    )
    .option("--port <n>", "port of --web; 0 chooses a free one", parseWholeNumber(0), 8472)
    .option("--tokenizer <dir>", "folder with the tokenizer of the model, for --web to show tokens as text")
    .addHelpText("after", NOTES)
    .action(async (file: string, _: object, command: Command) => {
      const flags = flagsOf<ViewFlags>(command);
      await runCommand((signal) =>
        flags.web ? serveViewer(file, flags, signal) : runView(toInputPath(file), flags, signal)
      );
    });
}

async function runView(file: string, flags: ViewFlags, signal: AbortSignal): Promise<number> {
  await requireReadable(file);
  const { limit = Infinity } = flags;
  let shown = 0;
  for await (const trajectory of readSavedEpisodes(file)) {
    signal.throwIfAborted();
    if (!matchesFlags(trajectory, flags)) continue;
    await writeText(currentIo().stdout, formatTranscript(trajectory, { colour: wantsColour() }));
    if (++shown >= limit) break;
  }
  if (shown === 0) await writeText(currentIo().stderr, "No episode matches\n");
  else if (file !== STDIN) await printRecord(file);
  return shown === 0 ? EXIT.error : EXIT.ok;
}

/** Prints what the run of a file was, if the file has a record. */
async function printRecord(file: string): Promise<void> {
  const run = (await rethrowAsUsageError(() => readRunRecord(file)))?.runs.at(-1);
  if (run === undefined) return;
  const settings = Object.entries(run.settings).map(([name, value]) => `${name}: ${settingText(value)}`);
  const data = run.data.map(({ path, sha256 }) => `data: ${path} (sha256 ${sha256.slice(0, 16)})`);
  const lines = [
    `command: ${run.command}`,
    ...settings,
    ...data,
    `paddock: ${run.paddock}, ${run.startedAt}`,
  ];
  await writeText(
    currentIo().stdout,
    `── run ──\n${lines.map((line) => `  ${escapeLine(line)}\n`).join("")}`,
  );
}

function matchesFlags(trajectory: Trajectory, { id, failed, wrong, cut }: ViewFlags): boolean {
  const { task, error, reward } = trajectory;
  if (id !== undefined && task.id !== id) return false;
  if (cut && trajectory.cut === undefined) return false;
  if (failed && error === undefined) return false;
  return !wrong || (reward !== null && reward < 1);
}

/**
 * Serves the pages of a folder of runs, or of a file, until the signal is aborted. Only programs of this machine can
 * connect.
 *
 * @throws {UsageError} if the path is stdin or does not exist, or the tokenizer cannot be read.
 */
async function serveViewer(path: string, flags: ViewFlags, signal: AbortSignal): Promise<number> {
  if (path === STDIN) throw new UsageError("Cannot show stdin in a browser: give a file or a folder");
  await requireReadable(path, { mayBeFolder: true });
  const folder = await RunFolder.open(path);
  const tokenizer = await resolveTokenizer(flags.tokenizer);
  const handler = viewerServer({ folder, tokenizer, signal, hosts: LOOPBACK_NAMES, onError: logError });
  await using server = await listen(handler, { hostname: HOSTNAME, name: HOSTNAME, port: flags.port });
  await writeText(
    currentIo().stderr,
    `Viewing at http://${HOSTNAME}:${server.port}/runs; press Ctrl-C to stop\n`,
  );
  await waitForAbort(signal);
  return EXIT.ok;
}
