/** An instruction of a Dockerfile. */
export interface DockerInstruction {
  /** Name in capital letters, such as `RUN`. */
  readonly name: string;
  /** Options before the arguments by name, such as `from` of `--from=IMAGE`. An option without a value has the value "". */
  readonly options: Readonly<Record<string, string>>;
  /** Text of the arguments, with continued lines as one line. */
  readonly text: string;
  /** Bodies of the here-documents of the instruction. */
  readonly documents: readonly string[];
  /** Number of the first line. */
  readonly line: number;
}

const DIRECTIVE = /^#\s*(\w+)\s*=\s*(\S*)\s*$/;
const HERE_DOCUMENT = /<<(-?)\s*(["']?)([A-Za-z_]\w*)\2/g;
const OPTION = /^--([a-z][\w-]*)(?:=(\S*))?(?:\s+|$)/;

/**
 * Returns the instructions of a Dockerfile in order.
 *
 * @throws {SyntaxError} if a here-document has no end, or a line has no instruction.
 */
export function parseDockerfile(text: string): DockerInstruction[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const escape = escapeOf(lines);
  const found: DockerInstruction[] = [];
  for (let at = 0; at < lines.length; at++) {
    if (isSkipped(lines[at])) continue;
    const line = at + 1;
    const parts: string[] = [];
    for (;; at++) {
      const current = lines[at] ?? "";
      if (parts.length > 0 && isSkipped(current) && at < lines.length) continue;
      const isContinued = current.trimEnd().endsWith(escape);
      parts.push(isContinued ? current.trimEnd().slice(0, -1) : current);
      if (!isContinued || at >= lines.length) break;
    }
    const [, name = "", rest = ""] = /^\s*([A-Za-z]+)(?:\s+([^]*))?$/.exec(parts.join("")) ?? [];
    if (name === "") throw new SyntaxError(`line ${line} of the Dockerfile has no instruction`);
    const documents: string[] = [];
    if (/^(?:RUN|COPY|ADD)$/i.test(name)) {
      for (const [, dash, , end = ""] of rest.matchAll(HERE_DOCUMENT)) {
        const document = readDocument(lines, { from: at + 1, end, isIndented: dash === "-" });
        documents.push(document.text);
        at = document.last;
      }
    }
    found.push({ name: name.toUpperCase(), ...splitOptions(rest.trim()), documents, line });
  }
  return found;
}

/** True for empty lines and comments. */
function isSkipped(line = ""): boolean {
  return /^\s*(?:#|$)/.test(line);
}

/** Returns the character that continues a line: a backslash, unless a directive at the top names another. */
function escapeOf(lines: readonly string[]): string {
  for (const line of lines) {
    const [, name, value] = DIRECTIVE.exec(line) ?? [];
    if (name === undefined) break;
    if (name.toLowerCase() === "escape" && value === "`") return "`";
  }
  return "\\";
}

function readDocument(
  lines: readonly string[],
  { from, end, isIndented }: { from: number; end: string; isIndented: boolean },
): { text: string; last: number } {
  const strip = (line: string) => isIndented ? line.replace(/^\t+/, "") : line;
  const length = lines.slice(from).findIndex((line) => strip(line) === end);
  if (length === -1) throw new SyntaxError(`a here-document of the Dockerfile must end with '${end}'`);
  const body = lines.slice(from, from + length).map(strip);
  return { text: body.map((line) => `${line}\n`).join(""), last: from + length };
}

function splitOptions(text: string): Pick<DockerInstruction, "options" | "text"> {
  const options: Record<string, string> = {};
  for (let rest = text;;) {
    const [whole, name, value = ""] = OPTION.exec(rest) ?? [];
    if (whole === undefined || name === undefined) return { options, text: rest };
    options[name] = value;
    rest = rest.slice(whole.length);
  }
}

/** Returns the words of an argument in the form of a JSON array, else undefined. */
export function jsonWords(text: string): string[] | undefined {
  if (!text.startsWith("[")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const isWords = Array.isArray(value) && value.every((word) => typeof word === "string");
    return isWords ? value : undefined;
  } catch {
    return undefined; // Docker reads such a text as a command line, too
  }
}

/** Splits arguments at blanks. Quotes and backslashes protect blanks. */
export function splitWords(text: string): string[] {
  const words = text.match(/(?:\\[^]|"(?:\\[^]|[^"\\])*"|'[^']*'|[^\s"'\\])+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(
      /\\([^])|"((?:\\[^]|[^"\\])*)"|'([^']*)'/g,
      (_, escaped, double, single) => escaped ?? single ?? String(double).replaceAll(/\\(["\\$])/g, "$1"),
    )
  );
}

/** Replaces `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}` as Docker does outside of `RUN`. */
export function expandVariables(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(
    /\\\$|\$(?:\{(\w+)(?:(:[-+])([^}]*))?\}|(\w+))/g,
    (whole, braced?: string, operator?: string, word = "", plain?: string) => {
      const name = braced ?? plain;
      if (name === undefined) return whole;
      const value = values.get(name) ?? "";
      if (operator === ":-") return value === "" ? word : value;
      if (operator === ":+") return value === "" ? "" : word;
      return value;
    },
  );
}
