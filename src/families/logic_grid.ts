import { type Draw, until } from "./draw.ts";
import type { Family, ReplyProblem, Verdict } from "./family.ts";

/** Values by attribute and position. */
type Grid = readonly (readonly string[])[];

/** A value of an attribute, as indices. */
interface Value {
  readonly attribute: number;
  readonly value: number;
}

/** A clue: a relation of the positions of one or two values. */
interface Clue {
  readonly text: string;
  readonly values: readonly Value[];
  holds(first: number, second: number): boolean;
}

const ATTRIBUTES: readonly { readonly name: string; readonly values: readonly string[] }[] = [
  { name: "colour", values: ["red", "blue", "green", "white", "black"] },
  { name: "pet", values: ["cat", "dog", "fish", "horse", "parrot"] },
  { name: "drink", values: ["tea", "milk", "juice", "water", "coffee"] },
  { name: "job", values: ["baker", "nurse", "pilot", "tailor", "farmer"] },
  { name: "fruit", values: ["apple", "grape", "lemon", "melon", "peach"] },
];

/** Houses whose residents have attributes, found from clues. Difficulty adds houses and attributes. */
export const logicGrid: Family = {
  about: "a puzzle of houses and attributes with one solution",
  version: 1,
  kind: "reply",
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ReplyProblem | undefined {
  const size = difficulty < 3 ? 3 : difficulty < 7 ? 4 : 5;
  const attributes = draw.sample(ATTRIBUTES, Math.min(5, 2 + Math.floor(difficulty / 3)));
  const names: Grid = attributes.map(({ values }) => draw.sample(values, size));
  // `places[attribute][value]` is the position of the value
  const places = names.map((values) => draw.shuffle(values.map((_, at) => at)));
  const clues = minimalClues(draw, { names, places });
  if (clues === undefined) return undefined;
  const rows = Array.from(
    { length: size },
    (_, position) =>
      names.map((values, attribute) => values[places[attribute]?.indexOf(position) ?? 0] ?? ""),
  );
  return {
    kind: "reply",
    query: `${size} houses stand in a row, numbered 1 to ${size} from left to right. ` +
      attributes.map(({ name }, at) => `Each has another ${name}: ${names[at]?.join(", ")}. `).join("") +
      `\n${clues.map(({ text }) => `- ${text}`).join("\n")}\n` +
      `Give a line for each house, as in 1: ${names.map(([first]) => first).join(", ")}`,
    solution: format(rows),
    copies: [
      `1: ${names.map(([first]) => first).join(", ")}`,
      format(rows.map((_, at) => names.map((v) => v[at] ?? ""))),
    ],
    guess: (draw) => {
      const columns = names.map((values) => draw.shuffle(values));
      return format(rows.map((_, at) => columns.map((column) => column[at] ?? "")));
    },
    check: (answer) => check(answer, { rows, names }),
  };
}

function format(rows: Grid): string {
  return rows.map((row, at) => `${at + 1}: ${row.join(", ")}`).join("\n");
}

interface Puzzle {
  readonly names: Grid;
  readonly places: readonly (readonly number[])[];
}

/** Returns clues that leave one solution, none of which can be left out; undefined if all clues leave several. */
function minimalClues(draw: Draw, puzzle: Puzzle): Clue[] | undefined {
  const all = draw.shuffle(trueClues(draw, puzzle));
  const size = puzzle.names[0]?.length ?? 0;
  const isUnique = (clues: readonly Clue[]) =>
    countSolutions(clues, { size, attributes: puzzle.names.length }) === 1;
  if (!isUnique(all)) return undefined;
  let [few, enough] = [0, all.length]; // more clues never add solutions
  while (few + 1 < enough) {
    const middle = Math.floor((few + enough) / 2);
    if (isUnique(all.slice(0, middle))) enough = middle;
    else few = middle;
  }
  let chosen = all.slice(0, enough);
  for (const clue of [...chosen]) {
    const fewer = chosen.filter((other) => other !== clue);
    if (isUnique(fewer)) chosen = fewer;
  }
  return chosen;
}

/** Returns a random selection of clues that hold in the solution. */
function trueClues(draw: Draw, { names, places }: Puzzle): Clue[] {
  const values = names.flatMap((list, attribute) => list.map((_, value): Value => ({ attribute, value })));
  const nameOf = ({ attribute, value }: Value) => `the ${names[attribute]?.[value]}`;
  const placeOf = ({ attribute, value }: Value) => places[attribute]?.[value] ?? 0;
  const pairs = values.flatMap((one) =>
    values.flatMap((other) =>
      one.attribute === other.attribute && one.value === other.value ? [] : [[one, other]]
    )
  );
  const clues = pairs.flatMap(([one, other]): Clue[] => {
    if (one === undefined || other === undefined) return [];
    const [first, second] = [placeOf(one), placeOf(other)];
    const texts = `${nameOf(one)} %s ${nameOf(other)}`;
    return RELATIONS.flatMap(({ text, holds, isSymmetric }) => {
      const isTwice = isSymmetric && one.attribute * 10 + one.value > other.attribute * 10 + other.value;
      const sameAttribute = one.attribute === other.attribute && text.startsWith("is in");
      if (isTwice || sameAttribute || !holds(first, second)) return [];
      return [{ text: capitalize(texts.replace("%s", text)), values: [one, other], holds }];
    });
  });
  const direct = values.map((value): Clue => {
    const place = placeOf(value);
    const isTrue = draw.chance(0.3);
    const other = isTrue
      ? place
      : (place + draw.int(1, names[0] ? names[0].length - 1 : 1)) % (names[0]?.length ?? 1);
    return {
      text: capitalize(`${nameOf(value)} is ${isTrue ? "" : "not "}in house ${other + 1}`),
      values: [value],
      holds: (at) => (at === other) === isTrue,
    };
  });
  // relations are many, so that direct clues would be rare among all
  return [...draw.sample(clues, 6 * values.length), ...draw.sample(direct, values.length / 2)];
}

const RELATIONS: readonly {
  readonly text: string;
  readonly isSymmetric: boolean;
  holds(first: number, second: number): boolean;
}[] = [
  { text: "is in the same house as", isSymmetric: true, holds: (one, other) => one === other },
  { text: "is in another house than", isSymmetric: true, holds: (one, other) => one !== other },
  { text: "is next to", isSymmetric: true, holds: (one, other) => Math.abs(one - other) === 1 },
  { text: "is directly left of", isSymmetric: false, holds: (one, other) => one + 1 === other },
  { text: "is somewhere left of", isSymmetric: false, holds: (one, other) => one < other },
];

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns the number of solutions, at most 2. */
function countSolutions(
  clues: readonly Clue[],
  { size, attributes }: { size: number; attributes: number },
): number {
  const solver = new Solver({ size, attributes });
  for (const clue of clues) solver.add(clue);
  return solver.count();
}

/** A relation of two variables: for each position of the first, the allowed positions of the second as bits. */
interface Relation {
  readonly other: number;
  readonly allowed: readonly number[];
}

/**
 * Counts solutions by search with forward checking. A variable is a value of an attribute, and the domain of the variable
 * has a bit for each position.
 */
class Solver {
  readonly #size: number;
  readonly #relations: Relation[][];
  readonly #domains: number[];

  constructor({ size, attributes }: { size: number; attributes: number }) {
    this.#size = size;
    this.#domains = new Array<number>(size * attributes).fill((1 << size) - 1);
    const different = this.#table((one, other) => one !== other);
    this.#relations = this.#domains.map((_, variable) => {
      const first = variable - variable % size;
      const others = Array.from({ length: size }, (_, at) => first + at).filter((other) =>
        other !== variable
      );
      return others.map((other) => ({ other, allowed: different }));
    });
  }

  add({ values: [one, two], holds }: Clue): void {
    if (one === undefined) return;
    const first = one.attribute * this.#size + one.value;
    if (two === undefined) {
      const allowed = this.#bits((position) => holds(position, 0));
      this.#domains[first] = (this.#domains[first] ?? 0) & allowed;
      return;
    }
    const second = two.attribute * this.#size + two.value;
    this.#relations[first]?.push({ other: second, allowed: this.#table(holds) });
    this.#relations[second]?.push({ other: first, allowed: this.#table((own, other) => holds(other, own)) });
  }

  /** Returns the number of solutions, at most 2. */
  count(): number {
    return this.#domains.includes(0) ? 0 : this.#search(this.#domains, 0);
  }

  /** `done` has a bit for each variable that has a position. */
  #search(domains: readonly number[], done: number): number {
    let [next, fewest] = [-1, Infinity];
    for (let variable = 0; variable < domains.length; variable++) {
      if (done & (1 << variable)) continue;
      const count = bitsOf(domains[variable] ?? 0);
      if (count < fewest) [next, fewest] = [variable, count];
    }
    if (next < 0) return 1;
    let found = 0;
    for (let position = 0; position < this.#size && found < 2; position++) {
      if (!((domains[next] ?? 0) & (1 << position))) continue;
      const narrowed = this.#assign(domains, next, position);
      if (narrowed !== undefined) found += this.#search(narrowed, done | (1 << next));
    }
    return Math.min(found, 2);
  }

  #assign(domains: readonly number[], variable: number, position: number): number[] | undefined {
    const narrowed = domains.slice();
    narrowed[variable] = 1 << position;
    for (const { other, allowed } of this.#relations[variable] ?? []) {
      const domain = (narrowed[other] ?? 0) & (allowed[position] ?? 0);
      if (domain === 0) return undefined;
      narrowed[other] = domain;
    }
    return narrowed;
  }

  #table(holds: (own: number, other: number) => boolean): number[] {
    return Array.from({ length: this.#size }, (_, own) => this.#bits((other) => holds(own, other)));
  }

  #bits(holds: (position: number) => boolean): number {
    let set = 0;
    for (let at = 0; at < this.#size; at++) if (holds(at)) set |= 1 << at;
    return set;
  }
}

function bitsOf(set: number): number {
  let count = 0;
  for (let left = set; left > 0; left &= left - 1) count++;
  return count;
}

function check(answer: string, { rows, names }: { rows: Grid; names: Grid }): Verdict {
  const lines = answer.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const given = lines.map((line) => /^(\d+)\s*[:.]\s*(.*)$/.exec(line));
  const columns = names.length;
  const isFormed = given.length === rows.length &&
    given.every((match, at) =>
      match !== null && Number(match[1]) === at + 1 && match[2]?.split(",").length === columns
    );
  if (!isFormed) return "malformed";
  const isRight = given.every((match, at) => {
    const values = (match?.[2] ?? "").split(",").map((value) => value.trim().toLowerCase());
    return values.every((value, column) => value === rows[at]?.[column]);
  });
  return isRight ? "right" : "wrong";
}
