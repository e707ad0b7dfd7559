import { type Change, groupsOf } from "./line_groups.ts";

const TAB = 8;
/** Columns between the halves, at least. */
const GUTTER = 3;

/** Settings of {@linkcode sideBySideText}. */
export interface SideBySideSettings {
  /** Columns of a line. */
  readonly width: number;
  /** True to write spaces in place of tabs. */
  readonly hasSpaces: boolean;
  /** Common lines: both, only the left line, or none. */
  readonly common: "both" | "left" | "none";
}

/** Prints two files in columns beside each other, as `diff -y` does. */
export function sideBySideText(
  before: readonly string[],
  after: readonly string[],
  changes: readonly Change[],
  settings: SideBySideSettings,
): string {
  const page = new Page(settings);
  for (const group of groupsOf(before, after, changes)) {
    const rows = Math.max(group.old.length, group.new.length);
    for (let at = 0; at < rows; at++) {
      const [left, right] = [group.old[at], group.new[at]];
      if (group.kind !== "unchanged") {
        page.add(left, left === undefined ? ">" : right === undefined ? "<" : "|", right);
      } else if (settings.common === "both") page.add(left, " ", right);
      else if (settings.common === "left") page.add(left, "(", undefined);
    }
  }
  return page.text;
}

class Page {
  text = "";
  readonly #tab: number;
  /** Columns of a half, and the column at which the right half begins. */
  readonly #half: number;
  readonly #right: number;

  constructor({ width, hasSpaces }: SideBySideSettings) {
    this.#tab = hasSpaces ? 1 : TAB;
    const gap = this.#tab + GUTTER;
    const middle = (width >> 1) + (gap >> 1) + (width & gap & 1);
    const right = middle - middle % this.#tab;
    this.#half = Math.max(0, Math.min(right - GUTTER, width - right));
    this.#right = this.#half > 0 ? right : width;
  }

  add(left: string | undefined, sign: string, right: string | undefined): void {
    let column = left === undefined ? 0 : this.#addHalf(left, 0);
    const ends = [left, right].map((line) => line?.endsWith("\n") === true);
    if (sign !== " ") {
      column = this.#moveTo(column, (this.#half + this.#right - 1) >> 1) + 1;
      this.text += sign === "|" && ends[0] !== ends[1] ? (ends[0] ? "/" : "\\") : sign;
    }
    if (right !== undefined && right !== "\n" && right !== "") {
      this.#addHalf(right, this.#moveTo(column, this.#right));
    }
    if (ends.includes(true)) this.text += "\n";
  }

  /** Writes tabs and spaces up to a column. */
  #moveTo(from: number, to: number): number {
    let column = from;
    if (this.#tab > 1) {
      for (let stop = column - column % TAB + TAB; stop <= to; stop += TAB) {
        this.text += "\t";
        column = stop;
      }
    }
    this.text += " ".repeat(Math.max(0, to - column));
    return Math.max(column, to);
  }

  /** Writes the part of a line that fits in a half. Returns the column behind it. */
  #addHalf(line: string, indent: number): number {
    let [inside, written] = [0, 0];
    for (const sign of line) {
      if (sign === "\n") break;
      if (sign === "\t") {
        const spaces = TAB - inside % TAB;
        if (inside === written) {
          if (this.#tab === 1) {
            const end = Math.min(inside + spaces, this.#half);
            this.text += " ".repeat(Math.max(0, end - written));
            written = Math.max(written, end);
          } else if (written + spaces < this.#half) {
            this.text += sign;
            written += spaces;
          }
        }
        inside += spaces;
        continue;
      }
      inside += isContinuation(sign) ? 0 : 1;
      if (inside > this.#half) continue;
      written = inside;
      this.text += sign;
    }
    return indent + written;
  }
}

/** True for the second and later bytes of a character, as texts of commands have a sign for each byte. */
function isContinuation(sign: string): boolean {
  return sign >= "\x80" && sign < "\xc0";
}
