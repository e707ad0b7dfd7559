import * as z from "zod";
import type { TestProblem } from "./test_problem.ts";

/** Tests that are checked and compiled. */
export interface PreparedTests {
  /** Names that the tests take from the candidate beside its entry point. */
  readonly names: readonly string[];
  /** Arguments of the tests' first request, which looks up their names in the candidate, as JSON. */
  readonly lookup: string;
  /** The checked and compiled tests, for other sessions. Empty if the tests are long. */
  readonly packed: string;
}

const preparedSchema = z.tuple([z.array(z.string()), z.string(), z.string()]);

/** Parses what `prepare` of `tests.py` returns. The session is the tests' own, so that no program can forge it. */
export function parsePreparedTests(value: string | undefined): PreparedTests {
  const [names, lookup, packed] = preparedSchema.parse(JSON.parse(value ?? "[]"));
  return { names, lookup, packed };
}

/** Maximum length of all packed tests of a grader with their sources, in characters. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * Tests that a grader has prepared, so that the next episode of the same task need not check and compile them again. The
 * tests that were not used for longest are dropped first.
 */
export class PackedTests {
  readonly #kept = new Map<string, PreparedTests>();
  #characters = 0;

  /** Returns the tests of a problem; `undefined` if they were not prepared or are dropped. */
  get(problem: TestProblem): PreparedTests | undefined {
    const key = keyOf(problem);
    const tests = this.#kept.get(key);
    if (tests === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, tests);
    return tests;
  }

  /** Keeps the tests of a problem, if they are packed. */
  set(problem: TestProblem, tests: PreparedTests): void {
    const key = keyOf(problem);
    if (tests.packed === "" || this.#kept.has(key)) return;
    this.#kept.set(key, tests);
    this.#characters += lengthOf(key, tests);
    for (const [oldest, dropped] of this.#kept) {
      if (this.#characters <= MAX_CHARACTERS) return;
      this.#kept.delete(oldest);
      this.#characters -= lengthOf(oldest, dropped);
    }
  }
}

function lengthOf(key: string, { names, lookup, packed }: PreparedTests): number {
  return key.length + names.join().length + lookup.length + packed.length;
}

/** Returns a text that only problems with the same tests share. */
function keyOf({ prompt, setup, codeTests, entryPoint }: TestProblem): string {
  return JSON.stringify([prompt, setup, codeTests, entryPoint]);
}
