/** The characters of words: printable ASCII. */
const FIRST = 32;
const LAST = 126;
/** Largest number in braces. */
const MAX_REPEATS = 64;
/** Largest number of states of an expression's automaton. */
const MAX_STATES = 4_000;
/** Deepest nesting of groups. */
const MAX_DEPTH = 40;
/** Most states that a comparison visits, over all sets of states and characters. */
const MAX_VISITS = 400_000;

/** A set of characters: a bit for each printable character. */
type Characters = bigint;

/** A nondeterministic automaton with the start 0 and the only end 1. */
export interface Automaton {
  /** For each state the edges that read a character. */
  readonly reads: readonly (readonly { readonly on: Characters; readonly to: number }[])[];
  /** For each state the edges that read nothing. */
  readonly skips: readonly (readonly number[])[];
}

/** A deterministic automaton over a small alphabet with the start 0. The edge -1 leads to no word. */
export interface Deterministic {
  readonly alphabet: string;
  /** For each state the next state of each character of the alphabet. */
  readonly next: readonly (readonly number[])[];
  readonly accepts: readonly boolean[];
}

/** An expression that is not one of a regular language, or too large. */
class PatternError extends Error {}

const ALL: Characters = (1n << BigInt(LAST - FIRST + 1)) - 1n;
const DIGITS = charactersOf("0123456789");
const LETTERS = charactersOf("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
const CLASSES: Readonly<Record<string, Characters>> = {
  d: DIGITS,
  w: DIGITS | LETTERS | charactersOf("_"),
  s: charactersOf(" "),
};

/** Returns the characters of a text as a set. */
export function charactersOf(text: string): Characters {
  return [...text].reduce((set, character) => set | bitOf(character.codePointAt(0) ?? 0), 0n);
}

function bitOf(code: number): Characters {
  return code < FIRST || code > LAST ? 0n : 1n << BigInt(code - FIRST);
}

/**
 * Parses a regular expression that matches whole words of printable ASCII: literals, `.`, classes, groups, `|`, `*`, `+`,
 * `?`, braces, and `^` and `$` at the ends. The expression is never run by the host's engine.
 *
 * @returns undefined if the text is no such expression, or has too many states.
 */
export function parsePattern(pattern: string): Automaton | undefined {
  try {
    return new PatternParser(pattern).parse();
  } catch (error) {
    if (error instanceof PatternError) return undefined;
    throw error;
  }
}

/** Builds the automaton of a pattern while it is parsed, from the syntax tree of the parts. */
type Node =
  | { readonly kind: "characters"; readonly on: Characters }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Node[] }
  | { readonly kind: "repeat"; readonly part: Node; readonly min: number; readonly max: number };

class PatternParser {
  readonly #pattern: string;
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#pattern = pattern.replace(/^\^/, "").replace(/(?<=(?<!\\)(?:\\\\)*)\$$/, "");
  }

  parse(): Automaton {
    const tree = this.#choice();
    if (this.#at < this.#pattern.length) throw new PatternError("an unmatched ')'");
    return new AutomatonBuilder().build(tree);
  }

  #choice(): Node {
    if (++this.#depth > MAX_DEPTH) throw new PatternError("too deep");
    const parts = [this.#sequence()];
    while (this.#take("|")) parts.push(this.#sequence());
    this.#depth--;
    return { kind: "choice", parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#pattern.length && !"|)".includes(this.#pattern[this.#at] ?? "")) {
      parts.push(this.#repeat());
    }
    return { kind: "sequence", parts };
  }

  #repeat(): Node {
    const part = this.#atom();
    const [min, max] = this.#quantifier() ?? [1, 1];
    if (min === 1 && max === 1) return part;
    this.#take("?"); // a lazy quantifier has the same words
    if ("*+?{".includes(this.#pattern[this.#at] ?? " ")) throw new PatternError("a second quantifier");
    return { kind: "repeat", part, min, max };
  }

  #quantifier(): [min: number, max: number] | undefined {
    if (this.#take("*")) return [0, Infinity];
    if (this.#take("+")) return [1, Infinity];
    if (this.#take("?")) return [0, 1];
    if (!this.#take("{")) return undefined;
    const [text, low = "", comma, high = ""] =
      /^(\d{1,3})(,(\d{0,3}))?\}/.exec(this.#pattern.slice(this.#at)) ?? [];
    if (text === undefined) throw new PatternError("braces without a number");
    this.#at += text.length;
    const min = Number(low);
    const max = comma === undefined ? min : high === "" ? Infinity : Number(high);
    if (min > max || min > MAX_REPEATS || (max !== Infinity && max > MAX_REPEATS)) {
      throw new PatternError("braces");
    }
    return [min, max];
  }

  #atom(): Node {
    const character = this.#next();
    switch (character) {
      case "(":
        return this.#group();
      case "[":
        return { kind: "characters", on: this.#class() };
      case ".":
        return { kind: "characters", on: ALL };
      case "\\":
        return { kind: "characters", on: this.#escape() };
      default:
        if ("*+?{}^$]".includes(character)) throw new PatternError(`a bare '${character}'`);
        return { kind: "characters", on: this.#literal(character) };
    }
  }

  #group(): Node {
    if (this.#take("?") && !this.#take(":")) throw new PatternError("a special group");
    const inner = this.#choice();
    if (!this.#take(")")) throw new PatternError("an open group");
    return inner;
  }

  #class(): Characters {
    const isNegated = this.#take("^");
    let set = 0n;
    for (let isFirst = true; isFirst || this.#pattern[this.#at] !== "]"; isFirst = false) {
      const start = this.#next();
      const from = start === "\\" ? this.#escape() : this.#literal(start);
      const isRange = this.#pattern[this.#at] === "-" && this.#pattern[this.#at + 1] !== "]";
      if (!isRange) {
        set |= from;
        continue;
      }
      this.#at++;
      const end = this.#next();
      set |= rangeOf(from, end === "\\" ? this.#escape() : this.#literal(end));
    }
    this.#at++;
    return isNegated ? ALL & ~set : set;
  }

  #escape(): Characters {
    const character = this.#next();
    const known = CLASSES[character];
    if (known !== undefined) return known;
    const negated = CLASSES[character.toLowerCase()];
    if (negated !== undefined) return ALL & ~negated;
    if (/[a-zA-Z0-9]/.test(character)) throw new PatternError(`the escape '\\${character}'`);
    return this.#literal(character);
  }

  #literal(character: string): Characters {
    const bit = bitOf(character.codePointAt(0) ?? 0);
    if (bit === 0n) throw new PatternError("a character that no word has");
    return bit;
  }

  #next(): string {
    const character = this.#pattern[this.#at++];
    if (character === undefined) throw new PatternError("the end of the pattern");
    return character;
  }

  #take(character: string): boolean {
    const isNext = this.#pattern[this.#at] === character;
    if (isNext) this.#at++;
    return isNext;
  }
}

/** Returns the characters from one to another one, which are sets with a single character. */
function rangeOf(from: Characters, to: Characters): Characters {
  const isSingle = (set: Characters) => set !== 0n && (set & (set - 1n)) === 0n;
  if (!isSingle(from) || !isSingle(to) || from > to) throw new PatternError("a range");
  return (to << 1n) - from;
}

class AutomatonBuilder {
  readonly #reads: { on: Characters; to: number }[][] = [[], []];
  readonly #skips: number[][] = [[], []];

  build(tree: Node): Automaton {
    this.#add(tree, 0, 1);
    return { reads: this.#reads, skips: this.#skips };
  }

  #state(): number {
    if (this.#reads.length >= MAX_STATES) throw new PatternError("too many states");
    this.#skips.push([]);
    return this.#reads.push([]) - 1;
  }

  #add(node: Node, from: number, to: number): void {
    switch (node.kind) {
      case "characters":
        this.#reads[from]?.push({ on: node.on, to });
        return;
      case "choice":
        for (const part of node.parts) {
          const [start, end] = [this.#state(), this.#state()];
          this.#skips[from]?.push(start);
          this.#add(part, start, end);
          this.#skips[end]?.push(to);
        }
        return;
      case "sequence": {
        let at = from;
        for (const part of node.parts) {
          const next = this.#state();
          this.#add(part, at, next);
          at = next;
        }
        this.#skips[at]?.push(to);
        return;
      }
      case "repeat":
        this.#addRepeat(node, from, to);
    }
  }

  #addRepeat({ part, min, max }: Node & { kind: "repeat" }, from: number, to: number): void {
    let at = this.#state();
    this.#skips[from]?.push(at);
    for (let count = 0; count < min; count++) at = this.#after(part, at);
    if (max === Infinity) {
      const loop = this.#state();
      this.#skips[at]?.push(loop);
      this.#skips[this.#after(part, loop)]?.push(loop);
      this.#skips[loop]?.push(to);
      return;
    }
    for (let count = min; count < max; count++) {
      this.#skips[at]?.push(to);
      at = this.#after(part, at);
    }
    this.#skips[at]?.push(to);
  }

  #after(part: Node, from: number): number {
    const next = this.#state();
    this.#add(part, from, next);
    return next;
  }
}

/** States of an automaton at once. */
class Subset {
  readonly states: readonly number[];
  readonly key: string;

  constructor({ skips }: Automaton, states: Iterable<number>) {
    const reached = new Set(states);
    for (const state of reached) for (const next of skips[state] ?? []) reached.add(next);
    this.states = [...reached].sort((one, other) => one - other);
    this.key = this.states.join();
  }

  get accepts(): boolean {
    return this.states.includes(1);
  }

  after(automaton: Automaton, bit: Characters): Subset {
    const next = this.states.flatMap((state) =>
      (automaton.reads[state] ?? []).filter(({ on }) => (on & bit) !== 0n).map(({ to }) => to)
    );
    return new Subset(automaton, next);
  }
}

/**
 * Returns whether two automata accept the same words; undefined if the comparison would take too long.
 */
export function isSameLanguage(one: Automaton, other: Automaton): boolean | undefined {
  const bits = representatives([one, other]);
  const first = [new Subset(one, [0]), new Subset(other, [0])] as const;
  const seen = new Map([[`${first[0].key};${first[1].key}`, first]]);
  let visits = 0;
  for (const [left, right] of seen.values()) {
    if (left.accepts !== right.accepts) return false;
    for (const bit of bits) {
      visits += 1 + left.states.length + right.states.length;
      if (visits > MAX_VISITS) return undefined;
      const next = [left.after(one, bit), right.after(other, bit)] as const;
      if (next[0].states.length === 0 && next[1].states.length === 0) continue;
      const key = `${next[0].key};${next[1].key}`;
      if (!seen.has(key)) seen.set(key, next);
    }
  }
  return true;
}

/** Returns a character of each class of characters that no edge tells apart. */
function representatives(automata: readonly Automaton[]): Characters[] {
  const sets = new Set(automata.flatMap(({ reads }) => reads.flatMap((edges) => edges.map(({ on }) => on))));
  let classes = [ALL];
  for (const set of sets) {
    classes = classes.flatMap((characters) => [characters & set, characters & ~set]).filter((part) =>
      part !== 0n
    );
  }
  return classes.map((characters) => characters & -characters);
}

/** Returns whether a word is accepted. */
export function acceptsWord(automaton: Automaton, word: string): boolean {
  const end = [...word].reduce(
    (subset, character) => subset.after(automaton, charactersOf(character)),
    new Subset(automaton, [0]),
  );
  return end.accepts;
}

/**
 * Returns a regular expression of the words of a deterministic automaton, by elimination of states; undefined if the
 * expression would have more than `maxCharacters`.
 */
export function patternOf(
  { alphabet, next, accepts }: Deterministic,
  { maxCharacters }: { maxCharacters: number },
): string | undefined {
  const [start, end] = [next.length, next.length + 1];
  const edges = new EdgePatterns();
  edges.add(start, 0, "");
  for (const [state, targets] of next.entries()) {
    for (const [at, target] of targets.entries()) {
      if (target >= 0) edges.add(state, target, alphabet[at] ?? "");
    }
    if (accepts[state]) edges.add(state, end, "");
  }
  const left = new Set(next.keys());
  while (left.size > 0 && edges.longest <= maxCharacters) {
    const state = [...left].reduce((one, other) => edges.degreeOf(other) < edges.degreeOf(one) ? other : one);
    left.delete(state);
    edges.eliminate(state);
  }
  return edges.longest > maxCharacters ? undefined : edges.get(start, end);
}

/** The edges of an automaton whose edges read the words of an expression. */
class EdgePatterns {
  readonly #patterns = new Map<
    string,
    { readonly from: number; readonly to: number; readonly pattern: string }
  >();
  /** Length of the longest pattern so far. */
  longest = 0;

  get(from: number, to: number): string | undefined {
    return this.#patterns.get(`${from} ${to}`)?.pattern;
  }

  add(from: number, to: number, pattern: string): void {
    const known = this.get(from, to);
    const joined = known === undefined ? pattern : `${known}|${pattern}`;
    this.longest = Math.max(this.longest, joined.length);
    this.#patterns.set(`${from} ${to}`, { from, to, pattern: joined });
  }

  /** Returns the number of pairs of edges that lead through a state. */
  degreeOf(state: number): number {
    const edges = [...this.#patterns.values()].filter(({ from, to }) => from !== to);
    return edges.filter(({ to }) => to === state).length * edges.filter(({ from }) => from === state).length;
  }

  /** Removes a state. Edges that led through the state become direct edges. */
  eliminate(state: number): void {
    const own = this.get(state, state);
    const loop = own === undefined ? "" : `(${own})*`;
    const touching = [...this.#patterns.values()].filter(({ from, to }) => from === state || to === state);
    for (const { from, to } of touching) this.#patterns.delete(`${from} ${to}`);
    const group = (pattern: string) => pattern.includes("|") ? `(${pattern})` : pattern;
    for (const before of touching.filter(({ from }) => from !== state)) {
      for (const after of touching.filter(({ to }) => to !== state)) {
        this.add(before.from, after.to, group(before.pattern) + loop + group(after.pattern));
      }
    }
  }
}
