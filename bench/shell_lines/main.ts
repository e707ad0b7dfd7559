/**
 * Compares the shell with bash 5.2 and GNU's tools on command lines of public repositories.
 *
 *     deno task test:shell-lines --path DIR [--only SOURCE] [--report FILE]
 */
import { parseArgs } from "node:util";
import { type Outcome, runNative } from "./native.ts";
import { TreeSandbox } from "./sandbox.ts";
import { type CommandLine, readLines } from "./sources.ts";
import { makeTrees, workingDirectory } from "./trees.ts";

interface Row {
  readonly line: CommandLine;
  readonly native: Outcome;
  readonly sandbox: Outcome;
  readonly difference: string | undefined;
}

/** Commands that print files in the order of a folder, which each file system chooses. */
const IN_FOLDER_ORDER = /\b(?:find|tree|du|tar)\b|\bgrep\b.* -\w*[rR]|\bls\b.* -\w*[fU]/;

function sortLines(text: string): string {
  return text.split(/[\n\0 ]/).sort().join("\n");
}

/** Names what differs, or returns `undefined`. */
function differenceOf(text: string, native: Outcome, sandbox: Outcome): string | undefined {
  if (native.exitCode !== sandbox.exitCode) return "exit code";
  const isSame = IN_FOLDER_ORDER.test(text)
    ? sortLines(native.stdout) === sortLines(sandbox.stdout)
    : native.stdout === sandbox.stdout;
  if (!isSame) return "stdout";
  if (JSON.stringify(native.changes) !== JSON.stringify(sandbox.changes)) return "files";
  if (native.complains !== sandbox.complains) return "stderr";
  return undefined;
}

const { values } = parseArgs({
  options: {
    path: { type: "string" },
    only: { type: "string" },
    again: { type: "string" },
    report: { type: "string" },
    trees: { type: "string" },
    native: { type: "string" },
    every: { type: "string" },
  },
});
if (!values.path) {
  console.error("test:shell-lines needs --path DIR with the checkouts of the repositories in sources.ts");
  Deno.exit(2);
}
const trees = values.trees ?? await Deno.makeTempDir();
if (!values.trees) await makeTrees(values.path, trees);
const lines = (await readLines(values.path)).filter(({ id }) => !values.only || id.startsWith(values.only));
const again = values.again === undefined ? undefined : new Set(
  (await Deno.readTextFile(values.again)).trim().split("\n").map((row) => JSON.parse(row).line.id),
);
const cache = new Map<string, Outcome | null>();
if (values.native) {
  try {
    for (const row of (await Deno.readTextFile(values.native)).trim().split("\n")) {
      const { id, outcome } = JSON.parse(row);
      cache.set(id, outcome);
    }
  } catch { /* made below */ }
}
const results: Row[] = [];
let left = 0;
for (const tree of new Set(lines.map((line) => line.tree))) {
  const folder = `${trees}/${tree}`;
  const cwd = workingDirectory(tree);
  await using sandbox = await TreeSandbox.start(folder, cwd);
  for (
    const line of lines.filter((candidate) => candidate.tree === tree && (again?.has(candidate.id) ?? true))
  ) {
    const key = line.id + " " + line.text;
    if (!cache.has(key)) {
      const native = await runNative(line.text, folder, cwd);
      const again = native && await runNative(line.text, folder, cwd);
      const same = native && again && differenceOf("", native, again) === undefined;
      cache.set(key, same ? native : null);
      if (values.native) {
        await Deno.writeTextFile(
          values.native,
          JSON.stringify({ id: key, outcome: same ? native : null }) + "\n",
          { append: true },
        );
      }
    }
    const native = cache.get(key);
    if (!native) {
      left++;
      continue;
    }
    const outcome = await sandbox.run(line.text).catch((error) => ({
      stdout: "",
      stderr: String(error),
      complains: true,
      exitCode: -3,
      changes: {},
    }));
    results.push({ line, native, sandbox: outcome, difference: differenceOf(line.text, native, outcome) });
    if (results.length % 100 === 0) console.error(`${results.length} of ${lines.length} lines`);
  }
}
const table = new Map<string, { lines: number; same: number; silent: number }>();
for (const { line, sandbox, difference } of results) {
  for (const name of [line.id.replace(/-\d+$/, ""), "all"]) {
    const row = table.get(name) ?? { lines: 0, same: 0, silent: 0 };
    row.lines++;
    if (!difference) row.same++;
    else if (!sandbox.complains && sandbox.exitCode === 0) row.silent++;
    table.set(name, row);
  }
}
for (const [name, { lines, same, silent }] of table) {
  console.log(
    `${name}: ${lines} lines, ${same} the same (${
      (100 * same / lines).toFixed(1)
    } %), ${silent} differ without an error`,
  );
}
console.log(`${left} lines were left out, since two runs in bash differ or do not end in 5 s`);
if (values.report) {
  const rows = results.filter(({ difference }) => difference);
  await Deno.writeTextFile(values.report, rows.map((row) => JSON.stringify(row)).join("\n") + "\n");
}
