import { byteText, unicodeText } from "../command.ts";
import type { RipgrepMatch } from "./expression.ts";
import type { SearchText, Selection } from "./search.ts";
import type { RipgrepSettings } from "./settings.ts";

const RESET = "\x1b[0m";

/** How the lines of all files of a call are printed. */
export interface PrinterOptions {
  readonly showsNames: boolean;
  readonly hasHeadings: boolean;
  readonly print: (text: string) => void;
}

/** Prints selected lines as `rg` does, with context and separators. */
export class RipgrepPrinter {
  readonly #settings: RipgrepSettings;
  readonly #options: PrinterOptions;
  readonly #separator: string | undefined;
  #hasPrinted = false;

  constructor(settings: RipgrepSettings, options: PrinterOptions) {
    this.#settings = settings;
    this.#options = options;
    const given = settings.options.value("context-separator");
    this.#separator = settings.options.has("no-context-separator") ? undefined : unescape(given ?? "--");
  }

  /** Prints the selected lines of a file. */
  printFile(name: string, source: SearchText, selected: readonly Selection[]): void {
    if (selected.length === 0) return this.#printUnselected(name, source);
    const { before, after } = this.#settings;
    const { hasHeadings, print } = this.#options;
    const hasContext = (before > 0 || after > 0) && !this.#settings.options.has("passthru");
    if (hasHeadings) print(`${this.#hasPrinted ? "\n" : ""}${this.#name(name)}${this.#isNull ? "\0" : "\n"}`);
    let next = 0;
    for (const [at, selection] of selected.entries()) {
      const start = Math.max(next, selection.first - before);
      const isApart = at === 0 ? this.#hasPrinted && !hasHeadings : start > next;
      if (hasContext && isApart && this.#separator !== undefined) print(`${this.#separator}\n`);
      for (let line = start; line < selection.first; line++) this.#printContext(name, source, line);
      this.#printSelection(name, source, selection);
      const following = selected[at + 1]?.first ?? source.lines.length;
      const isCut = this.#settings.options.has("passthru") && at + 1 === this.#settings.maxCount;
      next = Math.min(following, selection.last + 1 + (isCut ? 0 : after));
      for (let line = selection.last + 1; line < next; line++) this.#printContext(name, source, line);
    }
    this.#hasPrinted = true;
  }

  /** With `--passthru`, a file without a match is printed too. */
  #printUnselected(name: string, source: SearchText): void {
    if (!this.#settings.options.has("passthru")) return;
    for (const line of source.lines.keys()) this.#printContext(name, source, line);
  }

  /** Prints a line with a file's name and a number, or the name alone. */
  printName(name: string, count?: number): void {
    const shown = this.#name(name);
    if (count === undefined) this.#options.print(shown + (this.#isNull ? "\0" : "\n"));
    else {this.#options.print(
        `${this.#options.showsNames ? shown + (this.#isNull ? "\0" : ":") : ""}${count}\n`,
      );}
  }

  get #isNull(): boolean {
    return this.#settings.options.has("0");
  }

  #paint(codes: string, text: string): string {
    return this.#settings.isColored ? `${RESET}${codes}${text}${RESET}` : text;
  }

  #name(name: string): string {
    return this.#paint("\x1b[35m", name);
  }

  #printContext(name: string, source: SearchText, line: number): void {
    const text = source.lines[line] ?? "";
    this.#printLine(
      this.#head(name, "-", { line, offset: this.#offset(source, line, 0) }),
      source.encode(text),
      {
        omitted: "[Omitted long context line]",
      },
    );
  }

  #printSelection(name: string, source: SearchText, selection: Selection): void {
    const { shown, options } = this.#settings;
    const lines = source.lines.slice(selection.first, selection.last + 1);
    const text = lines.join("");
    if (shown === "matches") return this.#printMatches(name, source, text, selection);
    if (options.has("vimgrep")) {
      for (const match of selection.matches) {
        this.#printRegion(name, source, { ...selection, matches: [match] });
      }
    } else this.#printRegion(name, source, selection);
  }

  /** Prints the lines of a selection, with their matches replaced or coloured. */
  #printRegion(name: string, source: SearchText, { first, last, matches }: Selection): void {
    const text = source.lines.slice(first, last + 1).join("");
    const shown = this.#withMatches(source, text, matches);
    const column = source.encode(text.slice(0, matches[0]?.start ?? 0)).length + 1;
    for (const [at, part] of (shown.match(/[^\n]*\n|[^\n]+$/g) ?? [""]).entries()) {
      const line = first + at;
      const head = this.#head(name, ":", { line, offset: this.#offset(source, line, 0), column });
      this.#printLine(head, part, { omitted: this.#omission(matches.length) });
    }
  }

  #omission(matches: number): string {
    const { isColored, replacement } = this.#settings;
    return isColored || replacement !== undefined
      ? `[Omitted long line with ${matches} matches]`
      : "[Omitted long matching line]";
  }

  #printMatches(name: string, source: SearchText, text: string, { first, matches }: Selection): void {
    for (const match of matches) {
      const line = first + (text.slice(0, match.start).match(/\n/g)?.length ?? 0);
      const lineStart = text.lastIndexOf("\n", match.start - 1) + 1;
      const head = this.#head(name, ":", {
        line,
        offset: this.#offset(source, first, match.start),
        column: source.encode(text.slice(lineStart, match.start)).length + 1,
      });
      this.#printLine(head, `${this.#matchText(source, match)}\n`, {
        omitted: "[Omitted long matching line]",
      });
    }
  }

  #matchText(source: SearchText, { groups }: RipgrepMatch): string {
    const { replacement } = this.#settings;
    const text = replacement === undefined ? source.encode(groups[0]) : replace(replacement, groups);
    return this.#paint("\x1b[1m\x1b[31m", text);
  }

  #withMatches(source: SearchText, text: string, matches: readonly RipgrepMatch[]): string {
    const { isColored, replacement } = this.#settings;
    if (!isColored && replacement === undefined) return source.encode(text);
    let shown = "";
    let copied = 0;
    for (const match of matches) {
      shown += source.encode(text.slice(copied, match.start)) + this.#matchText(source, match);
      copied = match.end;
    }
    return shown + source.encode(text.slice(copied));
  }

  #offset({ text, starts, encode }: SearchText, line: number, inside: number): number {
    if (!this.#settings.options.has("b")) return 0;
    return encode(text.slice(0, (starts[line] ?? 0) + inside)).length;
  }

  /** Returns what precedes a line. */
  #head(
    name: string,
    sign: string,
    { line, offset, column }: { line: number; offset: number; column?: number },
  ): string {
    const { options, showsNumbers, showsColumns } = this.#settings;
    const { showsNames, hasHeadings } = this.#options;
    let head = "";
    if (showsNames && !hasHeadings) head += this.#name(name) + (this.#isNull ? "\0" : sign);
    if (showsNumbers) head += this.#paint("\x1b[32m", String(line + 1)) + sign;
    if (showsColumns && column !== undefined) head += this.#paint("", String(column)) + sign;
    if (options.has("b")) head += this.#paint("", String(offset)) + sign;
    return head;
  }

  #printLine(head: string, line: string, { omitted }: { omitted: string }): void {
    const { options, maxColumns } = this.#settings;
    const bare = line.endsWith("\n") ? line.slice(0, -1) : line;
    const shown = options.has("trim") ? bare.replace(/^[ \t\v\f\r]+/, "") : bare;
    this.#options.print(`${head}${bare.length >= maxColumns ? omitted : shown}\n`);
  }
}

/** Fills in the groups of a replacement, such as `$1` and `${name}`. */
function replace(replacement: string, groups: RegExpExecArray): string {
  return replacement.replace(/\$(?:\$|\{([^}]*)\}|(\w+))/g, (text, braced?: string, bare?: string) => {
    const name = braced ?? bare;
    if (name === undefined) return text === "$$" ? "$" : text;
    const group = /^\d+$/.test(name) ? groups[Number(name)] : groups.groups?.[unicodeText(name)];
    return byteText(group ?? "");
  });
}

/** Reads the escapes of a separator. */
function unescape(text: string): string {
  return text.replace(/\\(?:x([0-9a-fA-F]{2})|([ntr0\\]))/g, (_, code?: string, letter?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return { n: "\n", t: "\t", r: "\r", "0": "\0" }[letter ?? ""] ?? "\\";
  });
}
