import { Argument, Command } from "commander";
import { EXIT, runCommand } from "../run_command.ts";
import { UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { parseWholeNumber } from "../options.ts";
import { toSinkText, writeText } from "../output.ts";
import { cacheDirectory, flagsOf } from "../sandbox_options.ts";
import {
  CACHE_KINDS,
  type CacheEntry,
  type CacheKind,
  clearCache,
  listCache,
  readCommandLines,
} from "./cache_files.ts";

interface CacheFlags {
  cacheDir?: string;
  json?: boolean;
}

interface ClearFlags extends CacheFlags {
  unusedDays?: number;
  dryRun?: boolean;
}

const NOTES = `
  images     base images of interpreters, built again when they are needed (some seconds each)
  packages   downloaded packages of profiles, downloaded again when they are needed
  choices    packages that 'exec --with-deps' has chosen for programs
  verifier   wheels of the grader math_verify, which 'deno task fetch-math-verify' downloads again
  history    lines of 'paddock repl'

An image of a running sandbox, of one that is being built, or of sessions that a server has saved (--state-dir), is never
removed; sandboxes in other containers that share the folder cannot be seen. Images that were not used for 30 days are removed whenever one is built.

Examples:
  paddock cache list
  paddock cache clear --unused-days 7
  paddock cache clear images packages --dry-run

Exit codes: 0 ok, 2 wrong usage, 125 the cache cannot be read.`;

/** Returns the command `cache`, which lists and clears the folder of images and packages. */
export function cacheCommand(): Command {
  const command = new Command("cache")
    .description("List and clear the cached base images and packages")
    .addHelpText("after", NOTES);
  command.addCommand(
    new Command("list").description("print what the cache holds, its size and its last use")
      .option("--json", "print one JSON object")
      .action((_: object, self: Command) => runCommand(() => runList(flagsOf(self)))),
  );
  command.addCommand(
    new Command("size").description("print the size of the cache by kind")
      .option("--json", "print one JSON object")
      .action((_: object, self: Command) => runCommand(() => runSize(flagsOf(self)))),
  );
  command.addCommand(
    new Command("clear").description("remove what is not in use (default: images)")
      .addArgument(new Argument("[kinds...]", "what to remove").choices(CACHE_KINDS))
      .option("--unused-days <n>", "only what was not used for this many days", parseWholeNumber(0))
      .option("--dry-run", "only print what would be removed")
      .option("--json", "print one JSON object")
      .action((kinds: CacheKind[], _: object, self: Command) =>
        runCommand(() => runClear(kinds.length === 0 ? ["images"] : kinds, flagsOf(self)))
      ),
  );
  return command;
}

async function runList({ cacheDir, json }: CacheFlags): Promise<number> {
  const directory = cacheDirectory(cacheDir);
  const entries = await listCache(directory, await readCommandLines() ?? "");
  if (json) return await print([JSON.stringify({ directory, bytes: totalBytes(entries), entries })]);
  const rows = entries.map((entry) =>
    [
      entry.kind.padEnd(9),
      formatBytes(entry.bytes).padStart(9),
      entry.usedAt.slice(0, 10),
      entry.inUse ? "in use" : "      ",
      entry.name,
      entry.profiles.length > 0 ? `(${entry.profiles.join(", ")})` : "",
    ].join("  ").trimEnd()
  );
  return await print([...rows, `${formatBytes(totalBytes(entries))} in ${directory}`]);
}

async function runSize({ cacheDir, json }: CacheFlags): Promise<number> {
  const directory = cacheDirectory(cacheDir);
  const entries = await listCache(directory, "");
  const kinds = Object.fromEntries(
    CACHE_KINDS.map((kind) => {
      const found = entries.filter((entry) => entry.kind === kind);
      return [kind, { count: found.length, bytes: totalBytes(found) }];
    }),
  );
  if (json) return await print([JSON.stringify({ directory, bytes: totalBytes(entries), kinds })]);
  const rows = Object.entries(kinds).map(([kind, { count, bytes }]) =>
    `${kind.padEnd(9)}  ${formatBytes(bytes).padStart(9)}  ${count}`
  );
  return await print([...rows, `${formatBytes(totalBytes(entries))} in ${directory}`]);
}

async function runClear(kinds: readonly CacheKind[], flags: ClearFlags): Promise<number> {
  const { unusedDays = 0, dryRun = false, json } = flags;
  const directory = cacheDirectory(flags.cacheDir);
  const commandLines = await readCommandLines();
  if (commandLines === undefined) {
    throw new UsageError(
      `Cannot clear '${directory}' as the running sandboxes must be known: this host does not list processes`,
    );
  }
  const before = Date.now() - unusedDays * DAY_MS;
  const entries = (await listCache(directory, commandLines))
    .filter(({ kind, usedAt }) => kinds.includes(kind) && Date.parse(usedAt) <= before);
  const removed = dryRun ? entries.filter(({ inUse }) => !inUse) : await clearCache(directory, entries);
  const kept = entries.filter((entry) => !removed.includes(entry));
  const bytes = totalBytes(removed);
  if (json) return await print([JSON.stringify({ directory, bytes, dryRun, removed, kept })]);
  const verb = dryRun ? "Would remove" : "Removed";
  const rest = kept.length === 0 ? "" : `; kept ${kept.length} in use`;
  return await print([
    `${verb} ${removed.length} of ${kinds.join(", ")}, ${formatBytes(bytes)}${rest}, in ${directory}`,
  ]);
}

const DAY_MS = 24 * 3_600_000;

function totalBytes(entries: readonly CacheEntry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0);
}

function formatBytes(bytes: number): string {
  return bytes < 100_000 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

async function print(lines: readonly string[]): Promise<number> {
  const { stdout } = currentIo();
  await writeText(stdout, toSinkText(stdout, `${lines.join("\n")}\n`));
  return EXIT.ok;
}
