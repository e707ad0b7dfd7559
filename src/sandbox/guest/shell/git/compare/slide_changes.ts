/** A side whose changes are moved, with the marks of its changed lines and an unmarked place behind them. */
export interface SlidingSide {
  readonly classes: Int32Array;
  readonly marks: Uint8Array;
  readonly lines: readonly string[];
}

/** A run of changed lines, which may be empty. */
interface Group {
  start: number;
  end: number;
}

const MAX_SLIDE = 100;
const MAX_INDENT = 200;
const MAX_BLANK = 20;
/**
 * Weights by which git rates a place at which a change begins or ends. They were fitted to changes that people made.
 */
const WEIGHTS = {
  startOfFile: 1,
  endOfFile: 21,
  blank: -30,
  blankBehind: 6,
  indent: [-4, 10],
  outdent: [24, 17],
  dedent: [23, 17],
  depth: 60,
} as const;

/**
 * Moves each change of a side up or down along equal lines: to a change of the other side if such a change is in
 * reach, otherwise to where the indentation suggests.
 */
export function slideChanges(side: SlidingSide, other: SlidingSide): void {
  const [group, opposite] = [firstGroup(side), firstGroup(other)];
  do {
    if (group.end > group.start) slideGroup(side, other, group, opposite);
    // Both sides have the same number of unchanged lines, and so of groups between them.
  } while (nextGroup(side, group) && nextGroup(other, opposite));
}

function slideGroup(side: SlidingSide, other: SlidingSide, group: Group, opposite: Group): void {
  let size: number;
  let earliest: number;
  let matching: number;
  do {
    size = group.end - group.start;
    matching = -1;
    while (slideUp(side, group)) previousGroup(other, opposite);
    earliest = group.end;
    if (opposite.end > opposite.start) matching = group.end;
    while (slideDown(side, group)) {
      nextGroup(other, opposite);
      if (opposite.end > opposite.start) matching = group.end;
    }
  } while (size !== group.end - group.start);
  if (group.end === earliest) return;
  if (matching !== -1) {
    while (opposite.end === opposite.start) {
      slideUp(side, group);
      previousGroup(other, opposite);
    }
    return;
  }
  const best = bestEnd(side, { earliest, latest: group.end, size });
  while (group.end > best) {
    slideUp(side, group);
    previousGroup(other, opposite);
  }
}

function firstGroup({ marks }: SlidingSide): Group {
  let end = 0;
  while (marks[end]) end++;
  return { start: 0, end };
}

function nextGroup({ marks, classes }: SlidingSide, group: Group): boolean {
  if (group.end === classes.length) return false;
  group.start = group.end + 1;
  group.end = group.start;
  while (marks[group.end]) group.end++;
  return true;
}

function previousGroup({ marks }: SlidingSide, group: Group): void {
  if (group.start === 0) return;
  group.end = group.start - 1;
  group.start = group.end;
  while (group.start > 0 && marks[group.start - 1]) group.start--;
}

function slideUp({ marks, classes }: SlidingSide, group: Group): boolean {
  if (group.start === 0 || classes[group.start - 1] !== classes[group.end - 1]) return false;
  marks[--group.start] = 1;
  marks[--group.end] = 0;
  while (group.start > 0 && marks[group.start - 1]) group.start--;
  return true;
}

function slideDown({ marks, classes }: SlidingSide, group: Group): boolean {
  if (group.end >= classes.length || classes[group.start] !== classes[group.end]) return false;
  marks[group.start++] = 0;
  marks[group.end++] = 1;
  while (marks[group.end]) group.end++;
  return true;
}

/** Returns the end of a group at which its two borders look best. */
function bestEnd(
  { lines }: SlidingSide,
  { earliest, latest, size }: { earliest: number; latest: number; size: number },
): number {
  let best = -1;
  let bestScore = { depth: 0, penalty: 0 };
  for (let end = Math.max(earliest, latest - size - 1, latest - MAX_SLIDE); end <= latest; end++) {
    const score = { depth: 0, penalty: 0 };
    for (const at of [end, end - size]) addBorder(lines, at, score);
    const order = WEIGHTS.depth * Math.sign(score.depth - bestScore.depth) + score.penalty -
      bestScore.penalty;
    if (best < 0 || order <= 0) {
      best = end;
      bestScore = score;
    }
  }
  return best;
}

/** Rates a border before a line. A lower sum is better. */
function addBorder(lines: readonly string[], at: number, score: { depth: number; penalty: number }): void {
  const isEnd = at >= lines.length;
  const own = isEnd ? -1 : indentOf(lines[at] ?? "");
  const before = scanBlank(lines, at - 1, -1);
  const behind = scanBlank(lines, at + 1, 1);
  if (before.indent === -1 && before.blank === 0) score.penalty += WEIGHTS.startOfFile;
  if (isEnd) score.penalty += WEIGHTS.endOfFile;
  const blankBehind = own === -1 ? 1 + behind.blank : 0;
  const blank = before.blank + blankBehind;
  score.penalty += WEIGHTS.blank * blank + WEIGHTS.blankBehind * blankBehind;
  const indent = own !== -1 ? own : behind.indent;
  score.depth += indent;
  if (indent === -1 || before.indent === -1 || indent === before.indent) return;
  const kind = indent > before.indent
    ? WEIGHTS.indent
    : behind.indent !== -1 && behind.indent > indent
    ? WEIGHTS.outdent
    : WEIGHTS.dedent;
  score.penalty += kind[blank > 0 ? 1 : 0];
}

/** Returns the number of blank lines from a place on, and the indentation of the line behind them. */
function scanBlank(lines: readonly string[], start: number, step: number): { indent: number; blank: number } {
  let blank = 0;
  for (let at = start; at >= 0 && at < lines.length; at += step) {
    const indent = indentOf(lines[at] ?? "");
    if (indent !== -1) return { indent, blank };
    if (++blank === MAX_BLANK) return { indent: 0, blank };
  }
  return { indent: -1, blank };
}

/** Returns the width of a line's indentation, or -1 for a blank line. */
function indentOf(line: string): number {
  let width = 0;
  for (const sign of line) {
    if (sign === " ") width++;
    else if (sign === "\t") width += 8 - width % 8;
    else if (!/[\n\v\f\r]/.test(sign)) return width;
    if (width >= MAX_INDENT) return MAX_INDENT;
  }
  return -1;
}
