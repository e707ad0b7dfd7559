import type { Connection } from "./connection.ts";
import { forMs, type LoadReport, runLoad } from "./load.ts";
import { summarize } from "./measure.ts";
import type { Row } from "./row.ts";
import { Serving } from "./serving.ts";

/** Numbers of connections: one client, and so many that their grades go to the worker together. */
const CONNECTIONS = [1, 32];
const ROUNDS = 5;
const ROUND_MS = 2_000;

const REPLY = "Half of them is 12, and a quarter of 24 is 6, so ";
const SUM = `import sys
from collections import defaultdict, deque
import heapq, math
input = sys.stdin.readline
def main():
    n = int(input())
    print(sum(list(map(int, input().split()))[:n]))
main()`;
/** The same by a thread, as for deep recursion. */
const SUM_BY_THREAD = `import threading\n${
  SUM.replace(/main\(\)$/, "worker = threading.Thread(target=main)\nworker.start()\nworker.join()")
}`;
/** A program that may leave something for the next run, so that its interpreter is rewound after each test. */
const SUM_AND_FILE = `${SUM}\nopen("done", "w").close()`;
/** Requests by grader. */
export const GRADES: Readonly<Record<string, object>> = {
  gsm8k: gradeRequest("gsm8k", `${REPLY}12 + 6 = 18.\n<answer>18</answer>`, "12 + 6 = 18\n#### 18"),
  math: gradeRequest(
    "math",
    `${REPLY}it is \\boxed{\\frac{2\\sqrt{2}}{3}}.`,
    "\\boxed{\\frac{\\sqrt{8}}{3}}",
  ),
  ...Object.fromEntries(
    [1, 5, 20, 100].map((count) => [`hidden_tests of ${count} inputs`, programRequest(count, SUM)]),
  ),
  "hidden_tests of 100 inputs, by a thread": programRequest(100, SUM_BY_THREAD),
  "hidden_tests of 100 inputs, each in a rewound interpreter": programRequest(100, SUM_AND_FILE),
};

function programRequest(count: number, program: string): object {
  const tests = Array.from({ length: count }, (_, n) => ({ input: `2\n${n} 7\n`, output: `${n + 7}\n` }));
  return {
    grader: "hidden_tests",
    task: { query: "Read n, and n integers. Print their sum.", fields: { tests } },
    messages: [{ role: "assistant", content: `\`\`\`python\n${program}\n\`\`\`` }],
  };
}

function gradeRequest(grader: string, content: string, answer: string): object {
  return { grader, task: { query: "How many?", answer }, messages: [{ role: "assistant", content }] };
}

/** Measures `/v1/grade` of `paddock serve` in another process, for one client and for many. */
export async function gradeRows({ effort }: { effort: number }): Promise<Row[]> {
  await using serving = await Serving.start("--max-sessions", "1");
  const rows: Row[] = [];
  for (const grader of Object.keys(GRADES)) {
    for (const connections of CONNECTIONS) {
      const rates: number[] = [];
      for (let round = 0; round <= ROUNDS * effort; round++) {
        const { times, seconds } = await gradeLoad(serving.url, grader, { connections, ms: ROUND_MS });
        if (round > 0) rates.push(times.length / seconds); // in the first round V8 compiles what is used
      }
      const what = `/v1/grade of ${grader} by ${connections} connection${connections === 1 ? "" : "s"}`;
      rows.push({ what, ...summarize(rates), unit: "/s" });
    }
  }
  return rows;
}

/**
 * Sends grades for `ms` milliseconds.
 *
 * @throws {Error} if a grade fails or is wrong.
 */
export async function gradeLoad(
  url: string,
  grader: string,
  { connections, ms }: { connections: number; ms: number },
): Promise<LoadReport> {
  const body = GRADES[grader] ?? {};
  const ask = (connection: Connection) => requireRight(connection, body);
  const report = await runLoad({ url, connections, goOn: forMs(ms), ask });
  if (report.errors.length > 0) throw report.errors[0];
  return report;
}

async function requireRight(connection: Connection, request: object): Promise<void> {
  const { status, body } = await connection.post<{ readonly score: unknown }>("/v1/grade", request);
  if (status === 200 && body?.score === 1) return;
  throw new Error(
    `Cannot measure grades as each must have the score 1: found ${status} ${JSON.stringify(body)}`,
  );
}
