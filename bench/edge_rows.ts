import { DenoServe } from "./deno_serve.ts";
import { median } from "./measure.ts";
import type { Row } from "./row.ts";

const MODULE = "src/server/edge.ts";
const ANSWER = { grader: "gsm8k", completion: "<answer>42</answer>", answer: "42" };
const PROGRAM = {
  grader: "hidden_tests",
  completion: "```python\ndef add(a, b):\n    return a + b\n```",
  tests: ["assert add(1, 2) == 3"],
};

/** Measures graders at the edge from start to first response: a process, its modules, and an image for Python. */
export async function edgeRows({ effort }: { effort: number }): Promise<Row[]> {
  const plain: number[] = [];
  const python: number[] = [];
  const warm: number[] = [];
  for (let run = 0; run < 5 * effort; run++) plain.push(...await firstGrades([ANSWER]));
  for (let run = 0; run < 3 * effort; run++) {
    const [first = NaN, ...next] = await firstGrades([PROGRAM, PROGRAM, PROGRAM, PROGRAM]);
    python.push(first);
    warm.push(...next);
  }
  return [
    { what: "edge: start to first grade", value: median(plain), unit: "ms" },
    { what: "edge: start to first grade of a program", value: median(python), unit: "ms" },
    { what: "edge: next grade of a program", value: median(warm), unit: "ms" },
  ];
}

/** Starts a server, sends the requests one after the other, and returns the milliseconds until each response. */
async function firstGrades(requests: readonly object[]): Promise<number[]> {
  let startedAt = performance.now();
  await using server = await DenoServe.start(MODULE);
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
