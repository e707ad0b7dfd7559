import * as z from "zod";
import type { TestProblem } from "./test_problem.ts";

/** Tests whose setup has run. */
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
  readonly #packed = new Map<string, string>();
  #characters = 0;

  /** Returns the packed tests of a problem; `undefined` if there are none. */
  get(problem: TestProblem): string | undefined {
    const key = keyOf(problem);
    const packed = this.#packed.get(key);
    if (packed === undefined) return undefined;
    this.#packed.delete(key);
    this.#packed.set(key, packed);
    return packed;
  }

  /** Keeps the packed tests of a problem, if they can be packed. */
  set(problem: TestProblem, packed: string): void {
    const key = keyOf(problem);
    if (packed === "" || this.#packed.has(key)) return;
    this.#packed.set(key, packed);
    this.#characters += key.length + packed.length;
    for (const [oldest, text] of this.#packed) {
      if (this.#characters <= MAX_CHARACTERS) return;
      this.#packed.delete(oldest);
      this.#characters -= oldest.length + text.length;
    }
  }
}

/** Returns a text that only problems with the same tests share. */
function keyOf({ prompt, setup, codeTests, entryPoint }: TestProblem): string {
  return JSON.stringify([prompt, setup, codeTests, entryPoint]);
}
