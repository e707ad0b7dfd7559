import { slideChanges } from "./slide_changes.ts";

/** Lines `[fromStart, fromEnd)` that are replaced by `[toStart, toEnd)`. */
export interface LineChange {
  readonly fromStart: number;
  readonly fromEnd: number;
  readonly toStart: number;
  readonly toEnd: number;
}

/** A side of a comparison: which lines differ, and the lines that the search looks at. */
class Side {
  /** Numbers of the lines: equal lines have the same number. */
  readonly classes: Int32Array;
  readonly marks: Uint8Array;
  /** Positions of the lines that the search looks at, and their classes. */
  positions = new Int32Array(0);
  searched = new Int32Array(0);

  constructor(classes: readonly number[]) {
    this.classes = Int32Array.from(classes);
    this.marks = new Uint8Array(classes.length + 1);
  }

  keep(positions: readonly number[]): void {
    this.positions = Int32Array.from(positions);
    this.searched = this.positions.map((at) => this.classes[at] ?? 0);
  }
}

/** Number of equal lines in a row that make a place worth a split of the search. */
const LONG_RUN = 20;
const MIN_COST = 256;
const RUN_WEIGHT = 4;
const MAX_FREQUENT = 1024;
const WINDOW = 100;

/**
 * Compares lines as git does by default: the algorithm of Myers in linear space with git's bounds for long
 * comparisons, and changes moved to where the indentation suggests.
 *
 * @param keys Texts that are equal for lines that count as equal.
 * @param lines The lines themselves, for their indentation.
 */
export function lineChanges(
  keys: { readonly from: readonly string[]; readonly to: readonly string[] },
  lines: { readonly from: readonly string[]; readonly to: readonly string[] },
): LineChange[] {
  const numbers = new Map<string, number>();
  const numbered = (texts: readonly string[]) =>
    texts.map((text) => {
      const known = numbers.get(text) ?? numbers.size;
      numbers.set(text, known);
      return known;
    });
  const [from, to] = [new Side(numbered(keys.from)), new Side(numbered(keys.to))];
  chooseSearched(from, to, numbers.size);
  new Search(from, to).run();
  slideChanges(
    { classes: from.classes, marks: from.marks, lines: lines.from },
    { classes: to.classes, marks: to.marks, lines: lines.to },
  );
  slideChanges(
    { classes: to.classes, marks: to.marks, lines: lines.to },
    { classes: from.classes, marks: from.marks, lines: lines.from },
  );
  return collect(from, to);
}

/** Marks lines that the other side lacks, and leaves those out of the search that would only mislead it. */
function chooseSearched(from: Side, to: Side, classCount: number): void {
  const [left, right] = [from.classes, to.classes];
  const shorter = Math.min(left.length, right.length);
  let start = 0;
  while (start < shorter && left[start] === right[start]) start++;
  let tail = 0;
  while (
    tail < shorter - start && left[left.length - 1 - tail] === right[right.length - 1 - tail]
  ) tail++;
  const choose = (side: Side, other: Side) => {
    const counts = new Int32Array(classCount);
    for (const number of other.classes) counts[number] = (counts[number] ?? 0) + 1;
    const frequent = Math.min(roughRoot(side.classes.length), MAX_FREQUENT);
    const end = side.classes.length - tail;
    const rank = side.classes.map((number, at) => {
      if (at < start || at >= end) return 0;
      const count = counts[number] ?? 0;
      return count === 0 ? 0 : count >= frequent ? 2 : 1;
    });
    const kept: number[] = [];
    for (let at = start; at < end; at++) {
      if (rank[at] === 1 || (rank[at] === 2 && !isAmongUnmatched(rank, at, { start, end: end - 1 }))) {
        kept.push(at);
      } else side.marks[at] = 1;
    }
    side.keep(kept);
  };
  choose(from, to);
  choose(to, from);
}

/** True if most lines around a frequent line have no match, so that a match of it would split a change. */
function isAmongUnmatched(
  rank: Int32Array,
  at: number,
  { start, end }: { start: number; end: number },
): boolean {
  const count = (step: number, limit: number) => {
    let [unmatched, frequent] = [0, 1];
    for (let index = at + step; step < 0 ? index >= limit : index <= limit; index += step) {
      if (rank[index] === 0) unmatched++;
      else if (rank[index] === 2) frequent++;
      else break;
    }
    return { unmatched, frequent };
  };
  const before = count(-1, Math.max(start, at - WINDOW));
  if (before.unmatched === 0) return false;
  const after = count(1, Math.min(end, at + WINDOW));
  if (after.unmatched === 0) return false;
  const [unmatched, frequent] = [
    before.unmatched + after.unmatched,
    before.frequent + after.frequent,
  ];
  return frequent * RUN_WEIGHT < frequent + unmatched;
}

/** A power of two near the square root. */
function roughRoot(value: number): number {
  let root = 1;
  for (let left = value; left > 0; left >>= 2) root <<= 1;
  return root;
}

/** A part of the two sides. */
interface Box {
  readonly fromStart: number;
  readonly fromEnd: number;
  readonly toStart: number;
  readonly toEnd: number;
  /** True if the shortest script is wanted, whatever it costs. */
  readonly isExact: boolean;
}

/** Where a box is split, and which of its parts are worth an exact search. */
interface Split {
  readonly from: number;
  readonly to: number;
  readonly isExactBefore: boolean;
  readonly isExactAfter: boolean;
}

const FAR = 0x7fffffff;

class Search {
  readonly #from: Side;
  readonly #to: Side;
  /** Furthest positions by diagonal, from the start and from the end. */
  readonly #forward: Int32Array;
  readonly #backward: Int32Array;
  readonly #offset: number;
  readonly #maxCost: number;

  constructor(from: Side, to: Side) {
    this.#from = from;
    this.#to = to;
    const diagonals = from.searched.length + to.searched.length + 3;
    this.#forward = new Int32Array(diagonals + 1);
    this.#backward = new Int32Array(diagonals + 1);
    this.#offset = to.searched.length + 1;
    this.#maxCost = Math.max(roughRoot(diagonals), MIN_COST);
  }

  run(): void {
    const boxes: Box[] = [{
      fromStart: 0,
      fromEnd: this.#from.searched.length,
      toStart: 0,
      toEnd: this.#to.searched.length,
      isExact: false,
    }];
    for (let box = boxes.pop(); box; box = boxes.pop()) {
      const inner = this.#withoutEqualEnds(box);
      const { fromStart, fromEnd, toStart, toEnd } = inner;
      if (fromStart === fromEnd) this.#mark(this.#to, toStart, toEnd);
      else if (toStart === toEnd) this.#mark(this.#from, fromStart, fromEnd);
      else {
        const { from, to, isExactBefore, isExactAfter } = this.#split(inner);
        boxes.push({ fromStart: from, fromEnd, toStart: to, toEnd, isExact: isExactAfter });
        boxes.push({ fromStart, fromEnd: from, toStart, toEnd: to, isExact: isExactBefore });
      }
    }
  }

  #mark({ marks, positions }: Side, start: number, end: number): void {
    for (let at = start; at < end; at++) marks[positions[at] ?? 0] = 1;
  }

  #withoutEqualEnds(box: Box): Box {
    const [left, right] = [this.#from.searched, this.#to.searched];
    let { fromStart, fromEnd, toStart, toEnd } = box;
    while (fromStart < fromEnd && toStart < toEnd && left[fromStart] === right[toStart]) {
      fromStart++;
      toStart++;
    }
    while (fromStart < fromEnd && toStart < toEnd && left[fromEnd - 1] === right[toEnd - 1]) {
      fromEnd--;
      toEnd--;
    }
    return { ...box, fromStart, fromEnd, toStart, toEnd };
  }

  /** Searches from both ends of a box until the paths meet, or until that costs too much. */
  #split({ fromStart, fromEnd, toStart, toEnd, isExact }: Box): Split {
    const [left, right] = [this.#from.searched, this.#to.searched];
    const [forward, backward, offset] = [this.#forward, this.#backward, this.#offset];
    const [lowest, highest] = [fromStart - toEnd, fromEnd - toStart];
    const [startDiagonal, endDiagonal] = [fromStart - toStart, fromEnd - toEnd];
    const isOdd = ((startDiagonal - endDiagonal) & 1) !== 0;
    let [forwardLow, forwardHigh] = [startDiagonal, startDiagonal];
    let [backwardLow, backwardHigh] = [endDiagonal, endDiagonal];
    forward[offset + startDiagonal] = fromStart;
    backward[offset + endDiagonal] = fromEnd;
    for (let cost = 1;; cost++) {
      let hasLongRun = false;
      if (forwardLow > lowest) forward[offset + --forwardLow - 1] = -1;
      else forwardLow++;
      if (forwardHigh < highest) forward[offset + ++forwardHigh + 1] = -1;
      else forwardHigh--;
      for (let diagonal = forwardHigh; diagonal >= forwardLow; diagonal -= 2) {
        const at = offset + diagonal;
        const [below = 0, above = 0] = [forward[at - 1], forward[at + 1]];
        let x = below >= above ? below + 1 : above;
        const first = x;
        let y = x - diagonal;
        while (x < fromEnd && y < toEnd && left[x] === right[y]) {
          x++;
          y++;
        }
        if (x - first > LONG_RUN) hasLongRun = true;
        forward[at] = x;
        const meets = isOdd && backwardLow <= diagonal && diagonal <= backwardHigh;
        if (meets && (backward[at] ?? 0) <= x) {
          return { from: x, to: y, isExactBefore: true, isExactAfter: true };
        }
      }
      if (backwardLow > lowest) backward[offset + --backwardLow - 1] = FAR;
      else backwardLow++;
      if (backwardHigh < highest) backward[offset + ++backwardHigh + 1] = FAR;
      else backwardHigh--;
      for (let diagonal = backwardHigh; diagonal >= backwardLow; diagonal -= 2) {
        const at = offset + diagonal;
        const [below = 0, above = 0] = [backward[at - 1], backward[at + 1]];
        let x = below < above ? below : above - 1;
        const first = x;
        let y = x - diagonal;
        while (x > fromStart && y > toStart && left[x - 1] === right[y - 1]) {
          x--;
          y--;
        }
        if (first - x > LONG_RUN) hasLongRun = true;
        backward[at] = x;
        const meets = !isOdd && forwardLow <= diagonal && diagonal <= forwardHigh;
        if (meets && x <= (forward[at] ?? 0)) {
          return { from: x, to: y, isExactBefore: true, isExactAfter: true };
        }
      }
      if (isExact) continue;
      const box = { fromStart, fromEnd, toStart, toEnd, isExact };
      const ranges = { forwardLow, forwardHigh, backwardLow, backwardHigh };
      if (hasLongRun && cost > MIN_COST) {
        const split = this.#splitAtLongRun(box, { ...ranges, cost });
        if (split) return split;
      }
      if (cost >= this.#maxCost) return this.#splitAtFurthest(box, ranges);
    }
  }

  /** Splits a box behind or before a long run of equal lines that is far from its end. */
  #splitAtLongRun(
    { fromStart, fromEnd, toStart, toEnd }: Box,
    { forwardLow, forwardHigh, backwardLow, backwardHigh, cost }: Ranges & { cost: number },
  ): Split | undefined {
    const [left, right] = [this.#from.searched, this.#to.searched];
    const isRun = (x: number, y: number) => {
      for (let at = 0; at < LONG_RUN; at++) if (left[x + at] !== right[y + at]) return false;
      return true;
    };
    let best = 0;
    let found: Split | undefined;
    for (let diagonal = forwardHigh; diagonal >= forwardLow; diagonal -= 2) {
      const x = this.#forward[this.#offset + diagonal] ?? 0;
      const y = x - diagonal;
      const value = x - fromStart + y - toStart - Math.abs(diagonal - (fromStart - toStart));
      const isInside = fromStart + LONG_RUN <= x && x < fromEnd && toStart + LONG_RUN <= y && y < toEnd;
      if (value > RUN_WEIGHT * cost && value > best && isInside && isRun(x - LONG_RUN, y - LONG_RUN)) {
        best = value;
        found = { from: x, to: y, isExactBefore: true, isExactAfter: false };
      }
    }
    if (found) return found;
    for (let diagonal = backwardHigh; diagonal >= backwardLow; diagonal -= 2) {
      const x = this.#backward[this.#offset + diagonal] ?? 0;
      const y = x - diagonal;
      const value = fromEnd - x + toEnd - y - Math.abs(diagonal - (fromEnd - toEnd));
      const isInside = fromStart < x && x <= fromEnd - LONG_RUN && toStart < y && y <= toEnd - LONG_RUN;
      if (value > RUN_WEIGHT * cost && value > best && isInside && isRun(x, y)) {
        best = value;
        found = { from: x, to: y, isExactBefore: false, isExactAfter: true };
      }
    }
    return found;
  }

  #splitAtFurthest(
    { fromStart, fromEnd, toStart, toEnd }: Box,
    { forwardLow, forwardHigh, backwardLow, backwardHigh }: Ranges,
  ): Split {
    let [bestForward, forwardX] = [-1, -1];
    for (let diagonal = forwardHigh; diagonal >= forwardLow; diagonal -= 2) {
      let x = Math.min(this.#forward[this.#offset + diagonal] ?? 0, fromEnd);
      let y = x - diagonal;
      if (toEnd < y) [x, y] = [toEnd + diagonal, toEnd];
      if (bestForward < x + y) [bestForward, forwardX] = [x + y, x];
    }
    let [bestBackward, backwardX] = [FAR, FAR];
    for (let diagonal = backwardHigh; diagonal >= backwardLow; diagonal -= 2) {
      let x = Math.max(fromStart, this.#backward[this.#offset + diagonal] ?? 0);
      let y = x - diagonal;
      if (y < toStart) [x, y] = [toStart + diagonal, toStart];
      if (x + y < bestBackward) [bestBackward, backwardX] = [x + y, x];
    }
    if (fromEnd + toEnd - bestBackward < bestForward - (fromStart + toStart)) {
      return { from: forwardX, to: bestForward - forwardX, isExactBefore: true, isExactAfter: false };
    }
    return { from: backwardX, to: bestBackward - backwardX, isExactBefore: false, isExactAfter: true };
  }
}

/** Diagonals that the two searches have reached. */
interface Ranges {
  readonly forwardLow: number;
  readonly forwardHigh: number;
  readonly backwardLow: number;
  readonly backwardHigh: number;
}

function collect(from: Side, to: Side): LineChange[] {
  const changes: LineChange[] = [];
  let [x, y] = [0, 0];
  while (x < from.classes.length || y < to.classes.length) {
    if (!from.marks[x] && !to.marks[y]) {
      x++;
      y++;
      continue;
    }
    const [fromStart, toStart] = [x, y];
    while (from.marks[x]) x++;
    while (to.marks[y]) y++;
    changes.push({ fromStart, fromEnd: x, toStart, toEnd: y });
  }
  return changes;
}
