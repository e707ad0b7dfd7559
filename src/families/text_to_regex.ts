import { type Draw, until } from "./draw.ts";
import type { Family, ReplyProblem, Verdict } from "./family.ts";
import {
  acceptsWord,
  type Deterministic,
  isSameLanguage,
  parsePattern,
  patternOf,
} from "./regular_language.ts";

/** A part of a description, with the expression and an example. */
interface Part {
  readonly text: string;
  readonly pattern: string;
  example(draw: Draw): string;
}

/** Longest answer that is compared, in characters. */
const MAX_PATTERN = 3_000;
/** Longest expression of a reference, in characters. */
const MAX_REFERENCE = 1_500;
/** Difficulty from which on words are described by conditions that must all hold. */
const FIRST_CONDITIONS = 6;

/** Write a regular expression for words that a text describes. The expression is compared as a language. */
export const textToRegex: Family = {
  about: "a regular expression for the words that a text describes",
  version: 1,
  kind: "reply",
  generate: (draw, difficulty) =>
    until(() => difficulty < FIRST_CONDITIONS ? sequence(draw, difficulty) : conditions(draw, difficulty)),
};

/** Words whose parts follow each other. */
function sequence(draw: Draw, difficulty: number): ReplyProblem | undefined {
  const parts = Array.from({ length: 2 + difficulty }, () => part(draw, difficulty));
  const pattern = parts.map((each) => each.pattern).join("");
  const examples = Array.from({ length: 3 }, () => parts.map((each) => each.example(draw)).join(""));
  if (new Set(examples).size < 2) return undefined;
  const list = parts.map(({ text }, at) => `${at + 1}. ${text}`).join("\n");
  return problem({
    text: `consist of these parts in order:\n${list}\nand of nothing else.`,
    pattern,
    examples,
  });
}

/** Words over two or three letters for which conditions hold. */
function conditions(draw: Draw, difficulty: number): ReplyProblem | undefined {
  const alphabet = "abc".slice(0, difficulty < 8 ? 2 : draw.int(2, 3));
  const count = difficulty < 8 ? 2 : 3;
  const makers = draw.sample(CONDITIONS, count);
  const chosen = makers.map((make) => make(draw, alphabet));
  const automaton = intersect(alphabet, chosen.map(({ automaton }) => automaton));
  const pattern = patternOf(automaton, { maxCharacters: MAX_REFERENCE });
  if (pattern === undefined) return undefined;
  const examples = wordsOf(automaton, 12).filter((word) => word.length >= 2);
  if (examples.length < 4) return undefined;
  const list = chosen.map(({ text }, at) => `${at + 1}. ${text}`).join("\n");
  const letters = [...alphabet].join(", ");
  const text = `have only the letters ${letters} (or none), and meet all of these conditions:\n${list}`;
  return problem({ text, pattern, examples: draw.sample(examples, 3) });
}

function problem(
  { text, pattern, examples }: { text: string; pattern: string; examples: readonly string[] },
): ReplyProblem | undefined {
  const reference = parsePattern(pattern);
  if (reference === undefined) {
    throw new Error(`Cannot parse the reference as it is no expression: ${pattern}`);
  }
  if (!examples.every((word) => acceptsWord(reference, word))) throw new Error(`No word of ${pattern}`);
  const shown = examples.map((word) => JSON.stringify(word)).join(", ");
  return {
    kind: "reply",
    query: "Write a regular expression that matches exactly the words of printable ASCII that " +
      `${text}\nExamples: ${shown}.\nThe expression must match the whole word. ` +
      "Use only literals, classes, groups, |, *, +, ?, {m,n}, and the escapes of special characters, \\d, \\w and \\s.",
    solution: pattern,
    copies: [...examples, ".*"],
    guess: (draw) =>
      Array.from({ length: draw.int(1, 4) }, () => part(draw, draw.int(1, 5)).pattern).join(""),
    check: (answer): Verdict => {
      const automaton = answer.length > MAX_PATTERN ? undefined : parsePattern(answer);
      if (automaton === undefined) return "malformed";
      return isSameLanguage(automaton, reference) === true ? "right" : "wrong";
    },
  };
}

const SETS = [
  { name: "digit", plural: "digits", pattern: "\\d", characters: "0123456789" },
  {
    name: "lower-case letter",
    plural: "lower-case letters",
    pattern: "[a-z]",
    characters: "abcdefghijklmnopqrstuvwxyz",
  },
  {
    name: "upper-case letter",
    plural: "upper-case letters",
    pattern: "[A-Z]",
    characters: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  },
  { name: "vowel of aeiou", plural: "vowels of aeiou", pattern: "[aeiou]", characters: "aeiou" },
  {
    name: "hexadecimal digit (0-9, a-f)",
    plural: "hexadecimal digits (0-9, a-f)",
    pattern: "[0-9a-f]",
    characters: "0123456789abcdef",
  },
] as const;
const WORDS = ["id", "v", "cat", "dog", "tmp", "err", "ok", "num", "key"];
const SIGNS = ["-", ".", ":", "/", "+", "_", "#", "@"];

function part(draw: Draw, difficulty: number): Part {
  const kinds = difficulty < 2
    ? [counted, literal]
    : difficulty < 4
    ? [counted, literal, choice, optional]
    : [
      counted,
      literal,
      choice,
      optional,
      separated,
      except,
    ];
  return draw.pick(kinds)(draw);
}

function escapePattern(text: string): string {
  return text.replace(/[.+*?|()[\]{}^$\\/]/g, "\\$&");
}

function counted(draw: Draw): Part {
  const { name, plural, pattern, characters } = draw.pick(SETS);
  const low = draw.int(1, 3);
  const kind = draw.pick(["exact", "range", "many"] as const);
  const high = kind === "exact" ? low : low + draw.int(1, 3);
  const text = kind === "many"
    ? `${low} or more ${plural}`
    : kind === "range"
    ? `${low} to ${high} ${plural}`
    : `exactly ${low} ${low === 1 ? name : plural}`;
  const quantifier = kind === "many" ? `{${low},}` : kind === "range" ? `{${low},${high}}` : `{${low}}`;
  return {
    text,
    pattern: pattern + quantifier,
    example: (draw) => Array.from({ length: draw.int(low, high) }, () => draw.pick([...characters])).join(""),
  };
}

function literal(draw: Draw): Part {
  const word = draw.pick([...WORDS, ...SIGNS]);
  return { text: `the text ${JSON.stringify(word)}`, pattern: escapePattern(word), example: () => word };
}

function choice(draw: Draw): Part {
  const words = draw.sample(WORDS, draw.int(2, 3));
  const names = words.map((word) => JSON.stringify(word));
  return {
    text: `either ${names.join(" or ")}`,
    pattern: `(${words.join("|")})`,
    example: (draw) => draw.pick(words),
  };
}

function optional(draw: Draw): Part {
  const inner = draw.pick([counted, literal, choice])(draw);
  return {
    text: `optionally: ${inner.text}`,
    pattern: `(${inner.pattern})?`,
    example: (draw) => draw.chance(0.5) ? inner.example(draw) : "",
  };
}

function separated(draw: Draw): Part {
  const inner = draw.pick([counted, choice])(draw);
  const sign = draw.pick(SIGNS);
  return {
    text: `one or more groups, separated by ${JSON.stringify(sign)}, each of which is: ${inner.text}`,
    pattern: `${wrap(inner.pattern)}(${escapePattern(sign)}${inner.pattern})*`,
    example: (draw) => Array.from({ length: draw.int(1, 3) }, () => inner.example(draw)).join(sign),
  };
}

function wrap(pattern: string): string {
  return `(${pattern})`;
}

function except(draw: Draw): Part {
  const sign = draw.pick(SIGNS);
  const inside = sign === "-" || sign === "/" ? `\\${sign}` : sign;
  return {
    text: `one or more characters, none of which is ${JSON.stringify(sign)}`,
    pattern: `[^${inside}]+`,
    example: (draw) => Array.from({ length: draw.int(1, 4) }, () => draw.pick([..."abcXYZ019"])).join(""),
  };
}

/** A condition on words, with the automaton of the words that meet it. */
interface Condition {
  readonly text: string;
  readonly automaton: Deterministic;
}

const CONDITIONS: readonly ((draw: Draw, alphabet: string) => Condition)[] = [
  (draw, alphabet) => {
    const letter = draw.pick([...alphabet]);
    const [divisor, rest] = [draw.int(2, 3), draw.int(0, 1)];
    return {
      text: `the number of ${letter} leaves the remainder ${rest} when divided by ${divisor}`,
      automaton: automatonOf(alphabet, {
        size: divisor,
        step: (state, character) => character === letter ? (state + 1) % divisor : state,
        accepts: (state) => state === rest,
      }),
    };
  },
  (draw, alphabet) => {
    const word = randomWord(draw, alphabet, draw.int(2, 3));
    return { text: `the word contains ${word}`, automaton: containing(alphabet, word) };
  },
  (draw, alphabet) => {
    const word = randomWord(draw, alphabet, 2);
    const automaton = containing(alphabet, word);
    return {
      text: `the word does not contain ${word}`,
      automaton: { ...automaton, accepts: automaton.accepts.map((accepts) => !accepts) },
    };
  },
  (draw, alphabet) => {
    const [first, last] = [draw.pick([...alphabet]), draw.pick([...alphabet])];
    // 0 start, 1 wrong start, 2 right start and wrong end, 3 right start and end
    return {
      text: `the word starts with ${first} and ends with ${last}`,
      automaton: automatonOf(alphabet, {
        size: 4,
        step: (state, character) => {
          const isWrong = state === 1 || (state === 0 && character !== first);
          return isWrong ? 1 : character === last ? 3 : 2;
        },
        accepts: (state) => state === 3,
      }),
    };
  },
  (draw, alphabet) => {
    const divisor = draw.int(2, 3);
    return {
      text: `the length of the word is a multiple of ${divisor}`,
      automaton: automatonOf(alphabet, {
        size: divisor,
        step: (state) => (state + 1) % divisor,
        accepts: (state) => state === 0,
      }),
    };
  },
  (draw, alphabet) => {
    const [letter, count] = [draw.pick([...alphabet]), draw.int(1, 3)];
    return {
      text: `the word has at most ${count} times the letter ${letter}`,
      automaton: automatonOf(alphabet, {
        size: count + 2,
        step: (state, character) => character === letter ? Math.min(state + 1, count + 1) : state,
        accepts: (state) => state <= count,
      }),
    };
  },
];

function randomWord(draw: Draw, alphabet: string, length: number): string {
  return Array.from({ length }, () => draw.pick([...alphabet])).join("");
}

function automatonOf(
  alphabet: string,
  { size, step, accepts }: {
    size: number;
    step: (state: number, character: string) => number;
    accepts: (state: number) => boolean;
  },
): Deterministic {
  const states = Array.from({ length: size }, (_, state) => state);
  return {
    alphabet,
    next: states.map((state) => [...alphabet].map((character) => step(state, character))),
    accepts: states.map(accepts),
  };
}

/** Returns the automaton of the words that contain a word. A state is the length of the longest matched beginning. */
function containing(alphabet: string, word: string): Deterministic {
  return automatonOf(alphabet, {
    size: word.length + 1,
    step: (state, character) => {
      if (state === word.length) return state;
      const read = word.slice(0, state) + character;
      for (let length = read.length; length > 0; length--) {
        if (read.endsWith(word.slice(0, length))) return length;
      }
      return 0;
    },
    accepts: (state) => state === word.length,
  });
}

/** Returns the automaton of the words that all automata accept, without states that no word reaches or leaves. */
function intersect(alphabet: string, automata: readonly Deterministic[]): Deterministic {
  const start = automata.map(() => 0);
  const found = new Map([[start.join(), 0]]);
  const states = [start];
  const next: number[][] = [];
  for (const state of states) {
    next.push([...alphabet].map((_, at) => {
      const target = automata.map((automaton, index) => automaton.next[state[index] ?? 0]?.[at] ?? 0);
      const known = found.get(target.join());
      if (known !== undefined) return known;
      found.set(target.join(), states.length);
      return states.push(target) - 1;
    }));
  }
  const accepts = states.map((state) =>
    automata.every((automaton, index) => automaton.accepts[state[index] ?? 0])
  );
  return withoutDeadEdges({ alphabet, next, accepts });
}

/** Replaces edges to states from which no word is accepted by -1. */
function withoutDeadEdges({ alphabet, next, accepts }: Deterministic): Deterministic {
  const alive = [...accepts];
  for (let changed = true; changed;) {
    changed = false;
    for (const [state, targets] of next.entries()) {
      if (alive[state] || !targets.some((target) => alive[target])) continue;
      alive[state] = changed = true;
    }
  }
  return {
    alphabet,
    accepts,
    next: next.map((targets) => targets.map((target) => alive[target] ? target : -1)),
  };
}

/** Returns the first accepted words, in the order of their lengths. */
function wordsOf({ alphabet, next, accepts }: Deterministic, count: number): string[] {
  const words: string[] = [];
  let open = [{ state: 0, word: "" }];
  for (let length = 0; length < 10 && words.length < count; length++) {
    words.push(...open.filter(({ state }) => accepts[state]).map(({ word }) => word));
    open = open.flatMap(({ state, word }) =>
      [...alphabet].flatMap((character, at) => {
        const target = next[state]?.[at] ?? -1;
        return target < 0 ? [] : [{ state: target, word: word + character }];
      })
    ).slice(0, 500);
  }
  return words.slice(0, count);
}
