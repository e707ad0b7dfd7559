// deno-lint-ignore-file no-console -- a program that prints its report
/**
 * Compares the shell with bash 5.2 and GNU's tools on command lines of public repositories.
 *
 * Needs `bwrap` (bubblewrap), git, and checkouts of the repositories in `sources.ts`, as folders `owner+name` of one
 * folder.
 */
import { parseArgs } from "node:util";
import { type Outcome, runNative } from "./native.ts";
import { TreeSandbox } from "./sandbox.ts";
import { type CommandLine, readLines, REPOSITORIES } from "./sources.ts";
import { makeTrees, workingDirectory } from "./trees.ts";

const HELP = `Compare the shell with bash on command lines of public repositories

Usage: deno task test:shell-lines --path <dir> [--only <source>] [--report <file>]

  --path <dir>     folder with a checkout of each repository, named owner+name:
${REPOSITORIES.map(({ name, commit }) => `                   ${name} ${commit.slice(0, 12)}`).join("\n")}
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

/** Commands that print files in the order of a folder, which each file system chooses. */
const IN_FOLDER_ORDER = /\b(?:find|tree|du|tar)\b|\bgrep\b.* -\w*[rR]|\bls\b.* -\w*[fU]/;

function sortWords(text: string): string {
  return text.split(/[\n\0 ]/).sort().join("\n");
}

/** Names what differs, or returns `undefined`. */
function differenceOf(text: string, native: Outcome, sandbox: Outcome): string | undefined {
  if (native.exitCode !== sandbox.exitCode) return "exit code";
  const isSame = IN_FOLDER_ORDER.test(text)
    ? sortWords(native.stdout) === sortWords(sandbox.stdout)
    : native.stdout === sandbox.stdout;
  if (!isSame) return "stdout";
  if (JSON.stringify(native.changes) !== JSON.stringify(sandbox.changes)) return "files";
  return native.complains === sandbox.complains ? undefined : "stderr";
}

/** Runs a line in bash twice. Returns `undefined` if the results differ, so that no other shell could have them. */
async function runTwice(text: string, tree: string, cwd: string): Promise<Outcome | undefined> {
  const [first, second] = await Promise.all([runNative(text, tree, cwd), runNative(text, tree, cwd)]);
  return first && second && differenceOf("", first, second) === undefined ? first : undefined;
}

async function compareLines(
  lines: readonly CommandLine[],
  trees: string,
): Promise<{ rows: Row[]; left: number }> {
  const rows: Row[] = [];
  let left = 0;
  for (const tree of new Set(lines.map((line) => line.tree))) {
    const folder = `${trees}/${tree}`;
    const cwd = workingDirectory(tree);
    await using sandbox = await TreeSandbox.start(folder, cwd);
    for (const line of lines.filter((candidate) => candidate.tree === tree)) {
      const native = await runTwice(line.text, folder, cwd);
      if (!native) {
        left++;
        continue;
      }
      const outcome = await sandbox.run(line.text);
      rows.push({ line, native, sandbox: outcome, difference: differenceOf(line.text, native, outcome) });
      if (rows.length % 100 === 0) console.error(`${rows.length + left} of ${lines.length} lines`);
    }
  }
  return { rows, left };
}

function printTable(rows: readonly Row[]): void {
  const table = new Map<string, { lines: number; same: number; silent: number }>();
  for (const { line, sandbox, difference } of rows) {
    for (const name of [line.id.replace(/-\d+$/, ""), "all"]) {
      const row = table.get(name) ?? { lines: 0, same: 0, silent: 0 };
      row.lines++;
      if (!difference) row.same++;
      else if (!sandbox.complains && sandbox.exitCode === 0) row.silent++;
      table.set(name, row);
    }
  }
  for (const [name, { lines, same, silent }] of table) {
    const share = (100 * same / lines).toFixed(1);
    console.log(`${name}: ${lines} lines, ${same} the same (${share} %), ${silent} differ without an error`);
  }
}

const { values } = parseArgs({
  options: {
    path: { type: "string" },
    only: { type: "string", default: "" },
    again: { type: "string" },
    report: { type: "string" },
    help: { type: "boolean" },
  },
});
if (!values.path || values.help) {
  console.error(HELP);
  Deno.exit(values.help ? 0 : 2);
}
const earlier = values.again === undefined
  ? undefined
  : (await Deno.readTextFile(values.again)).trim().split("\n").map((row) => JSON.parse(row).line.id);
const trees = await Deno.makeTempDir();
try {
  await makeTrees(values.path, trees);
  const lines = (await readLines(values.path)).filter(({ id }) => id.startsWith(values.only))
    .filter(({ id }) => earlier?.includes(id) ?? true);
  const { rows, left } = await compareLines(lines, trees);
  printTable(rows);
  console.log(`${left} lines were left out, as two runs in bash differ or do not end in 5 s`);
  if (values.report) {
    const differing = rows.filter(({ difference }) => difference).map((row) => `${JSON.stringify(row)}\n`);
    await Deno.writeTextFile(values.report, differing.join(""));
  }
} finally {
  await Deno.remove(trees, { recursive: true });
}
