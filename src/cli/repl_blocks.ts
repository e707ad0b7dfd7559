/** How {@linkcode ReplBlocks} tells where a block ends. */
export interface ReplBlocksOptions {
  /** Whether an empty line ends a block, as it does for a person who types. */
  emptyLineEnds: boolean;
}

const COMPOUND = /^(?:@|(?:if|for|while|with|try|def|class|async|match)\b)/;
const CLAUSE = /^(?:elif|else|except|finally)\b/;

/** What in Python is not plain text: strings, comments, brackets and lines that go on. */
const TOKENS = new RegExp(
  [
    /("""|''')(?:\\[^]|(?!\1)[^])*(?<ended>\1)?/,
    /"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?/,
    /#.*/,
    /(?<open>[([{])|(?<close>[)\]}])/,
    /(?<goesOn>\\$)/,
  ].map(({ source }) => source).join("|"),
  "g",
);

/** Puts lines together to blocks that can be run, by the look of them; Python itself has the last word. */
export class ReplBlocks {
  readonly #emptyLineEnds: boolean;
  #lines: string[] = [];

  constructor(options: ReplBlocksOptions) {
    this.#emptyLineEnds = options.emptyLineEnds;
  }

  /** Whether a block was begun that the next line belongs to. */
  get pending(): boolean {
    return this.#lines.length > 0;
  }

  /** Takes a line and gives the blocks that are whole now: none, one, or the one before it as well. */
  push(line: string): string[] {
    const before = this.#endsBefore(line) ? this.end() : [];
    if (line.trim() === "" && !this.pending) return before;
    this.#lines.push(line);
    return this.#whole(line) ? [...before, ...this.end()] : before;
  }

  /** Gives what is left, whole or not. */
  end(): string[] {
    const block = this.#lines.join("\n");
    this.#lines = [];
    return block === "" ? [] : [`${block}\n`];
  }

  /** Whether a line stands no deeper than the statement before it, which is thereby at its end. */
  #endsBefore(line: string): boolean {
    const last = this.#lines.findLast((other) => other.trim() !== "") ?? "";
    return this.pending && /^[^\s#]/.test(line) && !CLAUSE.test(line) && !last.startsWith("@") &&
      !goesOn(this.#lines.join("\n"));
  }

  #whole(line: string): boolean {
    if (goesOn(this.#lines.join("\n"))) return false;
    const [first = ""] = this.#lines;
    if (!COMPOUND.test(first)) return true;
    return this.#emptyLineEnds && line.trim() === "";
  }
}

/** Whether a bracket, a string of several lines or a line that ends in a backslash is still open. */
function goesOn(text: string): boolean {
  let depth = 0;
  for (const { 1: quotes, groups = {} } of text.matchAll(TOKENS)) {
    if (groups.goesOn !== undefined || (quotes !== undefined && groups.ended === undefined)) return true;
    if (groups.open !== undefined) depth++;
    if (groups.close !== undefined) depth--;
  }
  return depth > 0;
}
