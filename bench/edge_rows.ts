import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { DenoServe } from "./deno_serve.ts";
import { summarize } from "./measure.ts";
import type { Row } from "./row.ts";

const MODULE = "src/server/edge.ts";
/** The graders as one module, which `deno task package:edge` writes. */
const PORTABLE = fileURLToPath(new URL("../dist/edge/edge.js", import.meta.url));
const ANSWER = { grader: "gsm8k", completion: "<answer>42</answer>", answer: "42" };
const PROGRAM = {
  grader: "hidden_tests",
  completion: "```python\ndef add(a, b):\n    return a + b\n```",
  tests: ["assert add(1, 2) == 3"],
};
/**
 * Prints the milliseconds from the import of the module in `argv` to its first grade. Deno loads each Web API at its first
 * use; a server that has received a request has them, and so has this program.
 */
const COLD_START = `
await new Request("http://localhost", { method: "POST", body: "{}" }).json();
await Response.json({}).text();
await crypto.subtle.digest("SHA-256", new Uint8Array(1));
clearTimeout(setTimeout(() => {}));
const startedAt = performance.now();
const { edgeApp } = await import(Deno.args[0]);
const headers = { authorization: "Bearer a-token-of-the-bench" };
const body = ${JSON.stringify(JSON.stringify(ANSWER))};
const request = new Request("http://localhost/grade", { method: "POST", headers, body });
const { score } = await (await edgeApp({ token: "a-token-of-the-bench" }).fetch(request)).json();
console.log(score === 1 ? performance.now() - startedAt : NaN);
`;
const GRADES = 1_000;
const MIB = 1024 * 1024;

/**
 * Measures graders at the edge: from start to first response, with a process, its modules, and an image for Python; and
 * the portable module, if it has been built.
 */
export async function edgeRows({ effort }: { effort: number }): Promise<Row[]> {
  const plain: number[] = [];
  const python: number[] = [];
  const warm: number[] = [];
  for (let run = 0; run < 5 * effort; run++) plain.push(...await firstGrades(MODULE, [ANSWER]));
  for (let run = 0; run < 3 * effort; run++) {
    const [first = NaN, ...next] = await firstGrades(MODULE, [PROGRAM, PROGRAM, PROGRAM, PROGRAM]);
    python.push(first);
    warm.push(...next);
  }
  return [
    { what: "edge: start to first grade", ...summarize(plain), unit: "ms" },
    { what: "edge: start to first grade of a program", ...summarize(python), unit: "ms" },
    { what: "edge: next grade of a program", ...summarize(warm), unit: "ms" },
    ...(await missingForEdgeModule() === undefined ? await moduleRows(effort) : []),
  ];
}

/** Returns why the portable module cannot be measured; `undefined` if it can. */
export async function missingForEdgeModule(): Promise<string | undefined> {
  const isBuilt = await Deno.stat(PORTABLE).then(() => true, () => false);
  return isBuilt ? undefined : "'deno task package:edge' must have been run";
}

async function moduleRows(effort: number): Promise<Row[]> {
  const imports: number[] = [];
  const starts: number[] = [];
  for (let run = 0; run < 9 * effort; run++) {
    imports.push(await coldStart());
    starts.push(...await firstGrades(PORTABLE, [ANSWER]));
  }
  return [
    {
      what: "edge module, compressed, without the detector of languages",
      value: gzipSync(await Deno.readFile(PORTABLE), { level: 9 }).length / 1000,
      unit: "kB",
      bound: 300,
    },
    { what: "edge module: import to first grade", ...summarize(imports), unit: "ms", bound: 30 },
    { what: "edge module: start of Deno to first grade", ...summarize(starts), unit: "ms" },
    {
      what: `edge module: memory of its process after ${GRADES} grades`,
      value: await memoryMb(),
      unit: "MB",
      bound: 128,
    },
  ];
}

/** Returns the milliseconds from the import of the portable module to its first grade, in a new process. */
async function coldStart(): Promise<number> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", "--quiet", COLD_START, `file://${PORTABLE}`],
    stderr: "inherit",
  }).output();
  return Number(new TextDecoder().decode(stdout));
}

/** Returns the resident memory of a server of the portable module, in MB; `NaN` if the system has no `/proc`. */
async function memoryMb(): Promise<number> {
  await using server = await DenoServe.start(PORTABLE);
  for (let grade = 0; grade < GRADES; grade++) await (await server.grade(ANSWER)).body?.cancel();
  const status = await Deno.readTextFile(`/proc/${server.pid}/status`).catch(() => "");
  return Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1] ?? NaN) * 1024 / MIB;
}

/** Starts a server, sends the requests one after the other, and returns the milliseconds until each response. */
async function firstGrades(module: string, requests: readonly object[]): Promise<number[]> {
  let startedAt = performance.now();
  await using server = await DenoServe.start(module);
  const times: number[] = [];
  for (const request of requests) {
    const response = await server.grade(request);
    const text = await response.text();
    if (JSON.parse(text).score !== 1) {
      throw new Error(`Cannot measure the server at the edge as the score must be 1: response is ${text}`);
    }
    times.push(performance.now() - startedAt);
    startedAt = performance.now();
  }
  return times;
}
