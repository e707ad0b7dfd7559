/** Lines `fromStart` to `fromEnd` of a text that are lines `toStart` to `toEnd` of another text. */
interface Change {
  readonly fromStart: number;
  readonly fromEnd: number;
  readonly toStart: number;
  readonly toEnd: number;
}

/** A text of the two, with the part that a hunk shows. */
interface Shown {
  readonly lines: readonly string[];
  readonly start: number;
  readonly end: number;
}

/** Returns the hunks of `diff -c`. Each of `hunks` has the changes that are shown together. */
export function contextText(
  before: readonly string[],
  after: readonly string[],
  { hunks, context, prefixed }: {
    readonly hunks: readonly (readonly Change[])[];
    readonly context: number;
    readonly prefixed: (prefix: string, lines: readonly string[]) => string;
  },
): string {
  return hunks.map((hunk) => {
    const [first, last] = [hunk[0], hunk.at(-1)];
    if (!first || !last) return "";
    const lead = Math.min(context, first.fromStart);
    const tail = Math.min(context, before.length - last.fromEnd);
    const old: Shown = { lines: before, start: first.fromStart - lead, end: last.fromEnd + tail };
    const fresh: Shown = { lines: after, start: first.toStart - lead, end: last.toEnd + tail };
    const side = (
      shown: Shown,
      sign: string,
      rangeOf: (change: Change) => readonly [number, number, boolean],
    ) => {
      const ranges = hunk.map(rangeOf);
      if (ranges.every(([start, end]) => start === end)) return "";
      let text = "";
      let at = shown.start;
      for (const [start, end, isBoth] of ranges) {
        text += prefixed("  ", shown.lines.slice(at, start)) +
          prefixed(isBoth ? "! " : sign, shown.lines.slice(start, end));
        at = end;
      }
      return text + prefixed("  ", shown.lines.slice(at, shown.end));
    };
    const isBoth = (change: Change) => change.fromStart < change.fromEnd && change.toStart < change.toEnd;
    return `***************\n*** ${rangeText(old)} ****\n` +
      side(old, "- ", (change) => [change.fromStart, change.fromEnd, isBoth(change)]) +
      `--- ${rangeText(fresh)} ----\n` +
      side(fresh, "+ ", (change) => [change.toStart, change.toEnd, isBoth(change)]);
  }).join("");
}

function rangeText({ start, end }: Shown): string {
  return end - start > 1 ? `${start + 1},${end}` : String(end);
}
