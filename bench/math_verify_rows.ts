import { math } from "../src/rewards/math.ts";
import { History } from "../src/history.ts";
import { findMissingWheel } from "../src/rewards/math/math_verify/wheels.ts";
import type { Grader } from "../src/rewards/grader.ts";
import { summarize } from "./measure.ts";
import { PersistentPython, runChild } from "./peers.ts";
import type { Row } from "./row.ts";
import type { BenchSetup } from "./sandbox_rows.ts";

/** Rounds of pairs. A round has other numbers than the ones before, as both libraries cache what they parse. */
const ROUNDS = 5;
const PAIRS_OF_ROUND = 96;
/** Minimum speed of one interpreter, of that of native Python. */
const MIN_RATIO = 0.4;

const DEFINE = `
import json, logging
logging.disable(logging.CRITICAL)
from math_verify import parse, verify
def grade(pairs):
    print(json.dumps([verify(parse(g), parse(a)) for g, a in pairs]))
`;

/** Returns what the rows need and this machine does not have; `undefined` if nothing is missing. */
export async function missingForMathVerify(setup: BenchSetup): Promise<string | undefined> {
  const wheel = findMissingWheel(setup.cacheDir);
  if (wheel !== undefined) return `'${wheel.file}' is missing: run deno task fetch-math-verify`;
  const { mathVerifyPython: python } = setup;
  const needs = "give a Python with math-verify 0.9.0 by --math-verify-python or PADDOCK_MATH_VERIFY_PYTHON";
  if (python === undefined) return needs;
  const version = await runChild(
    python,
    "import importlib.metadata as m; print(m.version('math-verify'))",
  ).catch(() => "");
  return version.trim() === "0.9.0" ? undefined : `${needs}: found none in '${python}'`;
}

/** Measures `math({ verifier: "math-verify" })` and the same library in native Python, in turns. */
export async function mathVerifyRows(setup: BenchSetup): Promise<Row[]> {
  const { mathVerifyPython: python, cacheDir, effort } = setup;
  if (python === undefined || await missingForMathVerify(setup) !== undefined) return [];
  const open = (size: number) => math({ verifier: "math-verify", size, cacheDir, timeoutMs: 60_000 });
  await using native = new PersistentPython(python);
  await native.exec(DEFINE);
  const cores = navigator.hardwareConcurrency;
  await using one = open(1);
  await using all = open(cores);
  const first: Pair = ["$1$", "$1$"];
  await gradePairs(all, [first]); // builds the image, if it is not in the cache
  const { seconds: firstSeconds } = await timed(() => gradePairs(one, [first]));
  const rates = { native: [] as number[], one: [] as number[], all: [] as number[] };
  for (let round = 0; round <= ROUNDS * effort; round++) {
    const pairs = pairsOf(round);
    const expected = await timed(async () => {
      const [output] = await native.exec(`grade(json.loads(${JSON.stringify(JSON.stringify(pairs))}))`);
      return JSON.parse(output);
    });
    const sandboxed = await timed(() => gradePairs(one, pairs));
    const parallel = await timed(() => gradePairs(all, pairs));
    for (const { result } of [sandboxed, parallel]) requireSame(result, expected.result);
    if (round === 0) continue; // caches are empty, and V8 compiles
    rates.native.push(PAIRS_OF_ROUND / expected.seconds);
    rates.one.push(PAIRS_OF_ROUND / sandboxed.seconds);
    rates.all.push(PAIRS_OF_ROUND / parallel.seconds);
  }
  const ratios = rates.one.map((rate, at) => rate / (rates.native[at] ?? NaN));
  return [
    { what: "math-verify in native Python", ...summarize(rates.native), unit: "/s" },
    { what: "math-verify in a sandbox", ...summarize(rates.one), unit: "/s" },
    { what: "the same, against native Python", ...summarize(ratios), unit: "×", bound: MIN_RATIO },
    { what: `math-verify in ${cores} interpreters`, ...summarize(rates.all), unit: "/s" },
    { what: "first grade by math-verify, image cached", value: firstSeconds * 1_000, unit: "ms" },
  ];
}

type Pair = readonly [gold: string, answer: string];

async function gradePairs(grader: Grader, pairs: readonly Pair[]): Promise<boolean[]> {
  return await Promise.all(pairs.map(async ([answer, content]) => {
    const history = History.fromChats([{ role: "assistant", content }]);
    const score = await grader.grade({ task: { id: "bench", query: "q", answer }, history });
    return typeof score === "object" && score?.score === 1;
  }));
}

/** Numbers, fractions, radicals, polynomials, sets, intervals and matrices, of which every fourth is wrong. */
function pairsOf(round: number): Pair[] {
  return Array.from({ length: PAIRS_OF_ROUND }, (_, at): Pair => {
    const [a, b] = [2 + (round * 131 + at * 17) % 97, 3 + (round * 57 + at * 29) % 89];
    const c = at % 4 === 3 ? b + 1 : b;
    const kinds: readonly Pair[] = [
      [`$${a * b}$`, `We multiply them. The answer is \\boxed{${a * c}}.`],
      [`$\\frac{${a}}{${b}}$`, `So it is \\boxed{${a}/${c}}`],
      [`$${a}\\sqrt{${b}}$`, `Hence $\\boxed{\\sqrt{${a * a * c}}}$.`],
      [`$x^2+${a + b}x+${a * b}$`, `It factors: $\\boxed{(x+${a})(x+${c})}$`],
      [`$\\{${a},${b}\\}$`, `$\\boxed{\\{${c},${a}\\}}$`],
      [`$[${a},${a + b})$`, `$\\boxed{[${a},${a + c})}$`],
      [
        `$\\begin{pmatrix}${a}&1\\\\0&${b}\\end{pmatrix}$`,
        `$\\begin{pmatrix}${a}&1\\\\0&${c}\\end{pmatrix}$`,
      ],
      [`$x>${b}$`, `Final Answer: The final answer is $x>${c}$. I hope it is correct.`],
    ];
    return kinds[(at >> 2) % kinds.length] ?? ["", ""];
  });
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; seconds: number }> {
  const startedAt = performance.now();
  const result = await work();
  return { result, seconds: (performance.now() - startedAt) / 1_000 };
}

function requireSame(found: readonly boolean[], expected: readonly boolean[]): void {
  const at = found.findIndex((verdict, index) => verdict !== expected[index]);
  if (at < 0) return;
  throw new Error(
    `Cannot measure math-verify as its verdicts must be those of native Python: pair ${at} differs`,
  );
}
