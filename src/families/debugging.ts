import type { PythonSession } from "../sandbox/contract/pool.ts";
import { type Draw, until } from "./draw.ts";
import type { Family, ProgramProblem, Verdict } from "./family.ts";
import {
  describeProgram,
  mutantsOf,
  type Program,
  randomProgram,
  runProgram,
  toPython,
} from "./debugging/program.ts";

/** Inputs on which an answer is checked, none of which is in the query. */
const CASES = 24;
const MAX_SOURCE = 20_000;
const TIMEOUT_MS = 5_000;

/** Repair a function that differs from the description. Difficulty adds branches and faults. */
export const debugging: Family = {
  about: "a Python function with faults, to be repaired by its description",
  version: 1,
  kind: "program",
  profile: "python",
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ProgramProblem | undefined {
  const program = randomProgram(draw, difficulty);
  const inputs = Array.from({ length: CASES + 1 }, () => randomInput(draw));
  const [example = [], ...cases] = inputs;
  const expected = cases.map((items) => runProgram(program, items));
  if (new Set(expected).size < CASES / 2) return undefined;
  const broken = mutate(draw, program, { faults: 1 + Math.floor(difficulty / 4), cases });
  if (broken === undefined || runProgram(broken, example) === runProgram(program, example)) return undefined;
  const source = toPython(broken);
  return {
    kind: "program",
    query: `This function does not do what its description says.\n\n${source}\n\n` +
      `Description: ${describeProgram(program)}\n\n` +
      `For example, solve([${example.join(", ")}]) must return ${
        runProgram(program, example)
      }, and returns ` +
      `${runProgram(broken, example)}. Give the repaired function.`,
    solution: toPython(program),
    copies: [source, `def solve(items):\n    return ${runProgram(program, example)}`],
    guess: (draw) => toPython(draw.pick(mutantsOf(broken))),
    check: (answer, session, options) => check(answer, session, { cases, expected, ...options }),
  };
}

function randomInput(draw: Draw): number[] {
  return Array.from({ length: draw.int(4, 9) }, () => draw.int(-12, 30));
}

/** Returns a program with faults, each of which changes a result; undefined if there is none. */
function mutate(
  draw: Draw,
  program: Program,
  { faults, cases }: { faults: number; cases: readonly (readonly number[])[] },
): Program | undefined {
  const resultsOf = (each: Program) => JSON.stringify(cases.map((items) => runProgram(each, items)));
  const seen = new Set([resultsOf(program)]);
  let broken = program;
  for (let count = 0; count < faults; count++) {
    const next = draw.shuffle(mutantsOf(broken)).find((mutant) => !seen.has(resultsOf(mutant)));
    if (next === undefined) return undefined;
    seen.add(resultsOf(next));
    broken = next;
  }
  return broken;
}

async function check(
  answer: string,
  session: PythonSession,
  { cases, expected, signal }: {
    cases: readonly (readonly number[])[];
    expected: readonly number[];
    signal?: AbortSignal | undefined;
  },
): Promise<Verdict> {
  if (answer.length > MAX_SOURCE || !/\bsolve\b/.test(answer)) return "malformed";
  const defined = await session.exec(answer, { timeoutMs: TIMEOUT_MS, signal });
  if (defined.status !== "ok") return "malformed";
  const call = "[solve(list(case)) for case in cases]";
  const result = await session.exec(call, { inputs: { cases }, timeoutMs: TIMEOUT_MS, signal });
  const values = result.status === "ok" ? result.valueJson : undefined;
  return JSON.stringify(values) === JSON.stringify(expected) ? "right" : "wrong";
}
