/** Lines `[fromStart, fromEnd)` that are replaced by `[toStart, toEnd)`. */
export interface Change {
  readonly fromStart: number;
  readonly fromEnd: number;
  readonly toStart: number;
  readonly toEnd: number;
}

/** Lines of both files that follow each other and are of the same kind. */
export interface LineGroup {
  readonly kind: "old" | "new" | "unchanged" | "changed";
  readonly old: readonly string[];
  readonly new: readonly string[];
  /** Index of the first line, or of the line before which the group would stand. */
  readonly oldStart: number;
  readonly newStart: number;
}

/** Returns all lines of two files in groups. */
export function groupsOf(
  before: readonly string[],
  after: readonly string[],
  changes: readonly Change[],
): LineGroup[] {
  const groups: LineGroup[] = [];
  let [oldStart, newStart] = [0, 0];
  const add = (kind: LineGroup["kind"], oldEnd: number, newEnd: number) => {
    if (oldEnd > oldStart || newEnd > newStart) {
      groups.push({
        kind,
        old: before.slice(oldStart, oldEnd),
        new: after.slice(newStart, newEnd),
        oldStart,
        newStart,
      });
    }
    [oldStart, newStart] = [oldEnd, newEnd];
  };
  for (const { fromStart, fromEnd, toStart, toEnd } of changes) {
    add("unchanged", fromStart, toStart);
    add(fromStart === fromEnd ? "new" : toStart === toEnd ? "old" : "changed", fromEnd, toEnd);
  }
  add("unchanged", before.length, after.length);
  return groups;
}
