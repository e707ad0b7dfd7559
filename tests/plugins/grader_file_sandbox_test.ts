import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { childrenOf } from "../../bench/processes.ts";
import { GraderError, SandboxError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { type GraderFile, graderFile } from "../../src/plugins/grader_file.ts";
import type { Score } from "../../src/rewards/grader.ts";
import { detectLayers } from "../../src/sandbox/process/layers.ts";
import type { Task } from "../../src/task.ts";
import { TempFolder } from "../temp_folder.ts";

const detected = await detectLayers();
const HOSTILE = new URL("./files/hostile_grader.ts", import.meta.url);

type Graded = Score | number | null;

async function grade(grader: GraderFile, completion: string, rest: Partial<Task> = {}): Promise<Graded> {
  const history = History.fromChats([
    { role: "user", content: "q" },
    { role: "assistant", content: completion, reasoning_content: "secret" },
  ]);
  return await grader.grade({ task: { id: "1", query: "q", ...rest }, history });
}

Deno.test("graderFile() grades with examples/plugins/grader.ts", async () => {
  await using grader = await graderFile(new URL("../../examples/plugins/grader.ts", import.meta.url), {
    detected,
  });
  assertEquals(grader.name, "brief");
  assertEquals(await grade(grader, "It is 42.", { answer: "42" }), {
    score: 1,
    parts: { right: 1, extra: 0 },
  });
  assertEquals(await grade(grader, `${" ".repeat(298)}42`, { answer: "42" }), {
    score: 0.9,
    parts: { right: 1, extra: 100 },
  });
  assertEquals(await grade(grader, "42"), { score: null, reason: "the task has no answer" });
});

Deno.test("graderFile() lets a file import the package's helpers also when it may import packages", async () => {
  const file = new URL("../../examples/plugins/grader.ts", import.meta.url);
  await using grader = await graderFile(file, { detected, permissions: { import: true } });
  assertEquals((await grade(grader, "It is 42.", { answer: "42" }) as Score).score, 1);
});

Deno.test("graderFile() gives a file the task, the answer and the messages without reasoning", async () => {
  await using grader = await graderFile(HOSTILE, { detected, name: "mine" });
  assertEquals(grader.name, "mine");
  const task = {
    id: "7",
    query: [{ role: "user", content: "q" }],
    answer: "a",
    fields: { n: 1 },
    group: "g",
  };
  const code = "return { score: 1, reason: JSON.stringify(input) }";
  const { reason = "" } = await grade(grader, code, task) as Score;
  assertEquals(JSON.parse(reason), {
    completion: code,
    answer: "a",
    task,
    messages: [{ role: "user", content: "q" }, { role: "assistant", content: code }],
  });
});

Deno.test("graderFile() refuses wrong results and names the file", async () => {
  await using grader = await graderFile(HOSTILE, { detected });
  const wrong: Readonly<Record<string, string>> = {
    "return 'good'":
      `it must return a number, null, or { score, parts?, reason? } with at most 100 parts: it returned "good"`,
    "return { score: 1, bonus: 2 }": 'it returned {"score":1,"bonus":2}',
    "return { score: '1' }": "it must return a number",
    "return { score: 1, parts: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, n])) }":
      "it must return",
    "return { score: 1, reason: 'x'.repeat(1001) }": "it must return",
    "return NaN": "'value' of the result must be a finite number: it is NaN",
    "return { score: Infinity }": "'score' of the result must be a finite number: it is Infinity",
    "": "'grade' must return a value: it returned undefined",
    "throw new Error('no idea')": "hostile_grader.ts': no idea",
    "return 'x'.repeat(2 ** 20)": "a result must have at most 1048576 bytes: it has",
    "return Array.from({ length: 100_001 }, () => 1)": "JSON must have at most 100000 values",
    "Deno.exit(3)": "the grader's process is gone: the process ended with code 3",
    "return await Deno.readTextFile('/etc/passwd')": "Requires read access",
    "return (await fetch('http://127.0.0.1:81')).status": "Requires net access",
  };
  for (const [code, reason] of Object.entries(wrong)) {
    const error = await assertRejects(() => grade(grader, code), GraderError);
    assertStringIncludes(error.message, "Cannot call 'grade' of grader 'file://");
    assertStringIncludes(error.message, reason, code);
    assertEquals(await grade(grader, "return 0.5"), 0.5);
  }
});

Deno.test("graderFile() ends a grade that takes too long, and one that is aborted", async () => {
  await using grader = await graderFile(HOSTILE, { detected, timeoutMs: 400 });
  for (const code of ["while (true);", "await wait()"]) {
    await assertRejects(
      () => grade(grader, code),
      GraderError,
      "hostile_grader.ts': it took more than 400 ms",
    );
    const grades = () => grade(grader, "return calls").catch(() => undefined); // a start may take longer
    while (await grades() !== 1) { /* the old process ends */ }
  }
  const abort = new AbortController();
  const history = History.fromChats([{ role: "assistant", content: "while (true);" }]);
  const graded = Promise.try(() =>
    grader.grade({ task: { id: "1", query: "q" }, history, signal: abort.signal })
  );
  setTimeout(() => abort.abort(new Error("stop")), 50);
  await assertRejects(() => graded, Error, "stop");
});

Deno.test("graderFile() grants exactly the named permissions", async () => {
  await using folder = await TempFolder.of({ "words.txt": "three small words" });
  const path = join(folder.path, "words.txt");
  await using grader = await graderFile(HOSTILE, {
    detected,
    permissions: { read: [path], env: ["COLOR"] },
    env: { COLOR: "red" },
  });
  const code = `return { score: (await Deno.readTextFile(${
    JSON.stringify(path)
  })).length, reason: Deno.env.get("COLOR") }`;
  assertEquals(await grade(grader, code), { score: 17, reason: "red" });
  await assertRejects(() => grade(grader, "Deno.env.get('HOME')"), GraderError, "Requires env access");
});

Deno.test("graderFile() lets a file read what it imports, and no other file of its folder while it is loaded", async () => {
  const reading = (path: string) =>
    `import { word } from "./word.ts";
const other = Deno.readTextFileSync(${JSON.stringify(path)});
export default { grade: () => ({ score: 1, reason: word + other }) };`;
  await using folder = await TempFolder.of({ "word.ts": "export const word = 'a';", "other.txt": "b" });
  const path = join(folder.path, "g.ts");
  await Deno.writeTextFile(path, reading(join(folder.path, "other.txt")));
  await assertRejects(() => graderFile(path, { detected }), SandboxError, "Requires read access to");
  await Deno.writeTextFile(
    path,
    "import { word } from './word.ts';\nexport default { grade: () => word.length };",
  );
  await using grader = await graderFile(path, { detected });
  assertEquals(await grade(grader, ""), 1);
});

const NOT_GRADERS: Readonly<Record<string, readonly [source: string, reason: string]>> = {
  "no default": [
    "export const grade = () => 1;",
    "the file must have a default export, as in 'export default defineGrader({ … })': found none",
  ],
  "a function": [
    "export default () => 1;",
    "the default export must be an object, as in 'export default defineGrader({ … })': found a value of type function",
  ],
  "null": ["export default null;", "found null"],
  "another kind": ["export default { reply: () => 'x' };", "must have a function 'grade', as in"],
  "a wrong type": [
    "export default { grade: 1 };",
    "'grade' of the default export must be a function: found a value of type number",
  ],
  "a wrong name": [
    "export default { name: 1, grade: () => 1 };",
    "'name' of the default export must be a string",
  ],
  "no syntax": ["export default {", "SyntaxError: "],
  "another helper": [
    "import { gsm8k } from '@paddock/paddock/rewards'; export default gsm8k();",
    "does not provide an export named 'gsm8k'",
  ],
  "an error": ["throw new Error('not today');", "not today"],
};

Deno.test("graderFile() refuses files without a grader in one line", async () => {
  for (const [source, reason] of Object.values(NOT_GRADERS)) {
    await using folder = await TempFolder.of({ "g.ts": source });
    const error = await assertRejects(
      () => graderFile(join(folder.path, "g.ts"), { detected }),
      SandboxError,
    );
    assertStringIncludes(error.message, `Cannot start grader file '${join(folder.path, "g.ts")}': `);
    assertStringIncludes(error.message, reason);
    assertEquals(error.message.split("\n").length, 1);
  }
  await assertRejects(() => graderFile(HOSTILE, { detected, timeoutMs: 0 }), RangeError, "timeoutMs");
});

Deno.test("graderFile() leaves no process behind when it is disposed", async () => {
  await using folder = await TempFolder.of({ "own_hostile.ts": await Deno.readTextFile(HOSTILE) });
  const grader = await graderFile(join(folder.path, "own_hostile.ts"), { detected });
  assertEquals((await childrenOf(Deno.pid, folder.path)).length, 1); // tests of other files have processes, too
  const hang = grade(grader, "while (true);");
  const rejected = assertRejects(() => hang, GraderError, "Cannot call");
  await grader[Symbol.asyncDispose]();
  await rejected;
  assertEquals(await childrenOf(Deno.pid, folder.path), []);
});
