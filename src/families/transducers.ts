import { type Draw, until } from "./draw.ts";
import type { Family, ReplyProblem, Verdict } from "./family.ts";

/** A machine that writes text for each character and moves to a state. */
interface Transducer {
  readonly inputs: string;
  readonly states: readonly string[];
  /** Text and next state by state and character. */
  readonly rules: ReadonlyMap<string, { readonly output: string; readonly next: string }>;
}

/** Longest input that is checked, in characters. */
const MAX_INPUT = 1_000;
const [FIRST_OUTPUTS, SECOND_OUTPUTS] = ["xyz", "PQR"];

/**
 * Run a finite-state transducer by hand. Difficulty adds states and length, then a second transducer that reads the
 * output of the first, then the search for an input with a given output.
 */
export const transducers: Family = {
  about: "the output of finite-state transducers, or an input for a given output",
  version: 1,
  kind: "reply",
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ReplyProblem | undefined {
  const size = 2 + Math.floor(difficulty / 3);
  const isInverse = difficulty >= 8;
  const first = randomTransducer(draw, { size, inputs: "abc", outputs: FIRST_OUTPUTS });
  const second = difficulty >= 5 && !isInverse
    ? randomTransducer(draw, { size, inputs: FIRST_OUTPUTS, outputs: SECOND_OUTPUTS })
    : undefined;
  const machines = second === undefined ? [first] : [first, second];
  const input = randomText(draw, "abc", 6 + 2 * difficulty);
  const output = machines.reduce<string | undefined>((text, machine) => text && run(machine, text), input);
  // a short output can be guessed
  if (output === undefined || output.length < 5) return undefined;
  const description = machines.map((machine, at) => describe(machine, at, machines.length)).join("\n");
  return isInverse
    ? inverse({ first, description, input, output })
    : forward({ description, input, output, outputs: second === undefined ? FIRST_OUTPUTS : SECOND_OUTPUTS });
}

function forward(
  { description, input, output, outputs }: Record<"description" | "input" | "output" | "outputs", string>,
): ReplyProblem {
  return {
    kind: "reply",
    query: `${description}\nWhat is the final output for the input ${input}?`,
    solution: output,
    copies: [input],
    guess: (draw) => randomText(draw, outputs, output.length),
    check: (answer): Verdict => {
      if (!isOver(answer, outputs)) return "malformed";
      return answer === output ? "right" : "wrong";
    },
  };
}

function inverse(
  { first, description, input, output }: {
    first: Transducer;
    description: string;
    input: string;
    output: string;
  },
): ReplyProblem {
  return {
    kind: "reply",
    query: `${description}\nGive an input for which the output is ${output}`,
    solution: input,
    copies: [output],
    guess: (draw) => randomText(draw, first.inputs, input.length),
    check: (answer): Verdict => {
      if (!isOver(answer, first.inputs) || answer.length > MAX_INPUT) return "malformed";
      return run(first, answer) === output ? "right" : "wrong";
    },
  };
}

function isOver(text: string, alphabet: string): boolean {
  return text !== "" && [...text].every((character) => alphabet.includes(character));
}

function randomTransducer(
  draw: Draw,
  { size, inputs, outputs }: { size: number; inputs: string; outputs: string },
): Transducer {
  const states = Array.from({ length: size }, (_, at) => `S${at + 1}`);
  const rules = states.flatMap((state) =>
    [...inputs].map((character) => {
      const output = randomText(draw, outputs, draw.pick([0, 1, 1, 1, 2]));
      return [`${state} ${character}`, { output, next: draw.pick(states) }] as const;
    })
  );
  return { inputs, states, rules: new Map(rules) };
}

function randomText(draw: Draw, alphabet: string, length: number): string {
  return Array.from({ length }, () => draw.pick([...alphabet])).join("");
}

function describe({ states, inputs, rules }: Transducer, at: number, count: number): string {
  const name = count === 1 ? "A transducer" : at === 0 ? "A first transducer" : "A second transducer";
  const source = at === 0 ? "" : " that reads the output of the first";
  const lines = states.flatMap((state) =>
    [...inputs].map((character) => {
      const { output, next } = rules.get(`${state} ${character}`) ?? { output: "", next: state };
      return `in ${state}, read ${character}: write ${output === "" ? "nothing" : output}, go to ${next}`;
    })
  );
  return `${name}${source} starts in S1:\n${lines.join("\n")}`;
}

/** Returns the output; undefined if a character is no input. */
function run({ rules }: Transducer, input: string): string | undefined {
  let state = "S1";
  let output = "";
  for (const character of input) {
    const rule = rules.get(`${state} ${character}`);
    if (rule === undefined) return undefined;
    output += rule.output;
    state = rule.next;
  }
  return output;
}
