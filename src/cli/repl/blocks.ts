/** Options of {@linkcode ReplBlocks}. */
export interface ReplBlocksOptions {
  /** True if an empty line ends a block, as in an interactive interpreter. */
  emptyLineEnds: boolean;
}

const COMPOUND = /^(?:@|(?:if|for|while|with|try|def|class|async|match)\b)/;
const CLAUSE = /^(?:elif|else|except|finally)\b/;

/** Python tokens that matter for the end of a block: strings, comments, brackets and line continuations. */
const TOKENS = new RegExp(
  [
    /("""|''')(?:\\[^]|(?!\1)[^])*(?<closed>\1)?/,
    /"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?/,
    /#.*/,
    /(?<open>[([{])|(?<close>[)\]}])/,
    /(?<continued>\\$)/,
  ].map(({ source }) => source).join("|"),
  "g",
);

/** Groups lines into blocks that can be run. This is a heuristic: Python reports the syntax errors. */
export class ReplBlocks {
  readonly #emptyLineEnds: boolean;
  #lines: string[] = [];

  constructor(options: ReplBlocksOptions) {
    this.#emptyLineEnds = options.emptyLineEnds;
  }

  /** True if a block has begun and is not complete. */
  get pending(): boolean {
    return this.#lines.length > 0;
  }

  /** Adds a line. Returns the blocks that are now complete: none, a single block, or the previous block and this line. */
  push(line: string): string[] {
    const before = this.#endsBefore(line) ? this.end() : [];
    if (line.trim() === "" && !this.pending) return before;
    this.#lines.push(line);
    return this.#isComplete(line) ? [...before, ...this.end()] : before;
  }

  /** Returns and removes the remaining lines as a block, complete or not. */
  end(): string[] {
    const block = this.#lines.join("\n");
    this.#lines = [];
    return block === "" ? [] : [`${block}\n`];
  }

  /** True if a line is not indented and so ends the previous statement. */
  #endsBefore(line: string): boolean {
    const last = this.#lines.findLast((other) => other.trim() !== "") ?? "";
    return this.pending && /^[^\s#]/.test(line) && !CLAUSE.test(line) && !last.startsWith("@") &&
      !isOpen(this.#lines.join("\n"));
  }

  #isComplete(line: string): boolean {
    if (isOpen(this.#lines.join("\n"))) return false;
    const [first = ""] = this.#lines;
    if (!COMPOUND.test(first)) return true;
    return this.#emptyLineEnds && line.trim() === "";
  }
}

/** True if a bracket or a multi-line string is open, or the last line ends in a backslash. */
function isOpen(text: string): boolean {
  let depth = 0;
  for (const { 1: quotes, groups = {} } of text.matchAll(TOKENS)) {
    if (groups.continued !== undefined || (quotes !== undefined && groups.closed === undefined)) return true;
    if (groups.open !== undefined) depth++;
    if (groups.close !== undefined) depth--;
  }
  return depth > 0;
}
