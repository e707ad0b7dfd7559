// deno-lint-ignore-file no-console -- a program that prints its report
/**
 * Compares the shell with bash 5.2 and GNU's tools on command lines of public repositories.
 *
 * Needs `bwrap` (bubblewrap), git, a C compiler, and checkouts of the repositories in `sources.ts`, as folders `owner+name` of one
 * folder. Bash sees no network, and of the files of the host only its programs.
 */
import { parseArgs } from "node:util";
import { type Outcome, TreeCopy } from "./native.ts";
import { TreeSandbox } from "./sandbox.ts";
import { type CommandLine, fetchRepositories, PARTS, readLines, REPOSITORIES } from "./sources.ts";
import { makeTrees, workingDirectory } from "./trees.ts";

const HELP = `Compare the shell with bash on command lines of public repositories

Usage: deno task test:shell-lines --path <dir> [--from <url>] [--part <n>] [--only <source>] [--report <file>]

  --path <dir>     folder with a checkout of each repository, named owner+name:
${REPOSITORIES.map(({ name, commit }) => `                   ${name} ${commit.slice(0, 12)}`).join("\n")}
  --from <url>     fetch missing repositories from below this URL, by their commits
  --part <n>       part of the lines: 0, 1 or 2 (default 2)
  --only <source>  lines whose id begins with this text, such as nl2bash
  --again <file>   lines of an earlier report
  --report <file>  write the lines that differ as JSON lines
`;

interface Row {
  readonly line: CommandLine;
  readonly native: Outcome;
  readonly sandbox: Outcome;
  readonly difference: string | undefined;
}

/** Commands that visit the entries of a folder in the order of their inodes. */
const IN_INODE_ORDER = /\b(?:tar|zip|cp|mv)\b/;

function sortWords(text: string): string {
  return text.split(/[\n\0 ]/).sort().join("\n");
}

/** Names what differs, or returns `undefined`. */
function differenceOf(text: string, native: Outcome, sandbox: Outcome): string | undefined {
  if (native.exitCode !== sandbox.exitCode) return "exit code";
  const isSame = IN_INODE_ORDER.test(text)
    ? sortWords(native.stdout) === sortWords(sandbox.stdout)
    : native.stdout === sandbox.stdout;
  if (!isSame) return "stdout";
  if (JSON.stringify(native.changes) !== JSON.stringify(sandbox.changes)) return "files";
  return native.complains === sandbox.complains ? undefined : "stderr";
}

/**
 * Runs a line in bash and in the sandbox, and once more in bash if the results differ. Returns `undefined` if the two
 * results of bash differ too, so that no other shell could have them, or if bash does not end.
 */
async function compareLine(line: CommandLine, places: Places): Promise<Row | undefined> {
  const { folder, cwd, sandbox } = places;
  await using copy = await TreeCopy.make(folder);
  const native = await copy.run(line.text, cwd);
  if (!native) return undefined;
  const outcome = await sandbox.run(line.text);
  const difference = differenceOf(line.text, native, outcome);
  if (difference) {
    await using other = await TreeCopy.make(folder); // beside the first, so that the inodes differ
    const second = await other.run(line.text, cwd);
    if (!second || differenceOf("", native, second)) return undefined;
  }
  return { line, native, sandbox: outcome, difference };
}

/** Where a line runs. */
interface Places {
  readonly folder: string;
  readonly cwd: string;
  readonly sandbox: TreeSandbox;
}

/** Rows of compared lines, and lines that are not comparable, as two runs in bash differ or do not end. */
interface Comparison {
  readonly rows: Row[];
  readonly left: CommandLine[];
}

async function compareLines(
  lines: readonly CommandLine[],
  trees: string,
  onRow: (row: Row) => Promise<void>,
): Promise<Comparison> {
  const rows: Row[] = [];
  const left: CommandLine[] = [];
  for (const tree of new Set(lines.map((line) => line.tree))) {
    const folder = `${trees}/${tree}`;
    const cwd = workingDirectory(tree);
    await using sandbox = await TreeSandbox.start(folder, cwd);
    for (const line of lines.filter((candidate) => candidate.tree === tree)) {
      const row = await compareLine(line, { folder, cwd, sandbox });
      if (!row) {
        left.push(line);
        continue;
      }
      rows.push(row);
      await onRow(row);
      if (rows.length % 100 === 0) console.error(`${rows.length + left.length} of ${lines.length} lines`);
    }
  }
  return { rows, left };
}

/** Returns the messages of a line without the numbers of lines, which `bash -c` writes and a terminal's shell not. */
function messagesOf({ stderr }: Outcome): string {
  return stderr.replace(/^(\S+: )line \d+: /gm, "$1");
}

/** True if a line differs and the sandbox has no message that bash does not have. */
function isSilent({ native, sandbox, difference }: Row): boolean {
  return difference !== undefined && (!sandbox.complains || messagesOf(native) === messagesOf(sandbox));
}

function printTable({ rows, left }: Comparison): void {
  const names = new Set([...rows.map(({ line }) => line), ...left].map(sourceOf));
  for (const name of [...names, "all"]) {
    const own = rows.filter(({ line }) => name === "all" || sourceOf(line) === name);
    const same = own.filter(({ difference }) => !difference);
    const complaining = same.filter(({ native }) => native.complains);
    const worded = complaining.filter(({ native, sandbox }) => messagesOf(native) === messagesOf(sandbox));
    const share = (100 * same.length / own.length).toFixed(1);
    const silent = own.filter(isSilent).length;
    const leftOut = left.filter((line) => name === "all" || sourceOf(line) === name).length;
    console.log(
      `${name}: ${own.length} lines, ${same.length} the same (${share} %), ` +
        `${own.length - same.length - silent} with an error, ${silent} differ without an error, ` +
        `${leftOut} not comparable; ` +
        `${worded.length} of ${complaining.length} same lines with messages have the same messages`,
    );
  }
}

function sourceOf({ id }: CommandLine): string {
  return id.replace(/-\d+$/, "");
}

const { values } = parseArgs({
  options: {
    path: { type: "string" },
    from: { type: "string" },
    part: { type: "string", default: String(PARTS - 1) },
    only: { type: "string", default: "" },
    again: { type: "string" },
    report: { type: "string" },
    help: { type: "boolean" },
  },
});
const part = Number(values.part);
if (!values.path || values.help || !(part >= 0 && part < PARTS)) {
  console.error(HELP);
  Deno.exit(values.help ? 0 : 2);
}
const earlier = values.again === undefined
  ? undefined
  : (await Deno.readTextFile(values.again)).trim().split("\n").map((row) => JSON.parse(row).line.id);
const trees = await Deno.makeTempDir();
try {
  if (values.from) await fetchRepositories(values.path, values.from);
  const lines = (await readLines(values.path, part)).filter(({ id }) => id.startsWith(values.only))
    .filter(({ id }) => earlier?.includes(id) ?? true);
  await makeTrees(values.path, trees, new Set(lines.map(({ tree }) => tree)));
  if (values.report) await Deno.writeTextFile(values.report, "");
  const comparison = await compareLines(lines, trees, async (row) => {
    if (!values.report || !row.difference) return;
    await Deno.writeTextFile(values.report, `${JSON.stringify(row)}\n`, { append: true });
  });
  printTable(comparison);
  console.log("Lines are not comparable if two runs in bash differ or do not end in 5 s");
} finally {
  await Deno.remove(trees, { recursive: true });
}
