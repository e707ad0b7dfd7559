import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { JSON_LIMITS } from "./json.ts";

/** A value or a key of a file, with its place there. */
export type JsoncNode = Node;

/** Maximum length of a file, in characters. */
const MAX_CHARACTERS = 1024 * 1024;

/** Tokens of `createScanner`: `{`, `}`, `[`, `]` and the end. The library declares them as constants without a value. */
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, END] = [1, 2, 3, 4, 17];

/** Meanings of the library's errors. */
const FAULTS: Readonly<Record<string, string>> = {
  InvalidSymbol: "an unknown word",
  InvalidNumberFormat: "an invalid number",
  PropertyNameExpected: "no key in double quotes",
  ValueExpected: "no value",
  ColonExpected: "no colon",
  CommaExpected: "no comma",
  CloseBraceExpected: "no closing brace",
  CloseBracketExpected: "no closing bracket",
  EndOfFileExpected: "text after the end",
  InvalidCommentToken: "an invalid comment",
  UnexpectedEndOfComment: "a comment that does not end",
  UnexpectedEndOfString: "a string that does not end",
  UnexpectedEndOfNumber: "a number that does not end",
  InvalidUnicode: "an invalid escape",
  InvalidEscapeCharacter: "an invalid escape",
  InvalidCharacter: "an invalid character",
};

/** A file of settings is not valid. The message has the line and the column, which count from 1. */
export class JsoncError extends SyntaxError {
  override readonly name = "JsoncError";
  readonly line: number;
  readonly column: number;

  constructor(message: string, place: { readonly line: number; readonly column: number }) {
    super(message);
    this.line = place.line;
    this.column = place.column;
  }
}

/**
 * A file of settings: JSON with comments and trailing commas. Such files decide about permissions, so a reader must not
 * take them in two ways: a key that is there twice and the key `__proto__` are errors, and the length, the depth and the
 * number of values are bounded.
 *
 * This is the only reader of such files. It is built on `jsonc-parser`, which knows the place of each value; `parse` of
 * `@std/jsonc` keeps the last of equal keys and knows no places. Tests compare both.
 */
export class JsoncFile {
  /** The value of the whole file. */
  readonly root: JsoncNode;
  readonly #text: string;
  readonly #source: string;

  /**
   * @param source The file as messages name it, such as `profile 'python'`.
   * @throws {JsoncError} if the text is not valid.
   */
  constructor(text: string, source: string) {
    this.#text = text.replace(/^\ufeff/, " ");
    this.#source = source;
    this.#requireLimits();
    this.root = this.#parse();
    this.#checkKeys(this.root);
  }

  /** The file as plain data. */
  get value(): unknown {
    return toValue(this.root);
  }

  /** Returns the members of an object by key; an empty map for any other value. */
  members(node: JsoncNode): Map<string, { key: JsoncNode; value: JsoncNode }> {
    return new Map(membersOf(node).map((member) => [member.key.value, member]));
  }

  /** Returns the text of a value, as the file has it. */
  textOf({ offset, length }: JsoncNode): string {
    return this.#text.slice(offset, offset + length);
  }

  /** Returns the error for a place in the file. `reason` starts with `as`. */
  error({ offset }: Pick<JsoncNode, "offset">, reason: string): JsoncError {
    const lines = this.#text.slice(0, offset).split("\n");
    const place = { line: lines.length, column: (lines.at(-1) ?? "").length + 1 };
    return new JsoncError(
      `Cannot read ${this.#source} at line ${place.line}, column ${place.column} ${reason}`,
      place,
    );
  }

  /** Counts without a parse tree: the parser is recursive. */
  #requireLimits(): void {
    if (this.#text.length > MAX_CHARACTERS) {
      throw this.error({ offset: MAX_CHARACTERS }, `as it must have at most ${MAX_CHARACTERS} characters`);
    }
    const scanner = createScanner(this.#text, true);
    let [depth, values] = [0, 0];
    for (let token: number = scanner.scan(); token !== END; token = scanner.scan()) {
      if (token === OPEN_BRACE || token === OPEN_BRACKET) depth++;
      else if (token === CLOSE_BRACE || token === CLOSE_BRACKET) depth--;
      const offset = scanner.getTokenOffset();
      if (depth > JSON_LIMITS.depth) {
        throw this.error({ offset }, `as it is nested too deeply: at most ${JSON_LIMITS.depth} levels`);
      }
      if (++values > JSON_LIMITS.values) {
        throw this.error({ offset }, `as it must have at most ${JSON_LIMITS.values} values`);
      }
    }
  }

  #parse(): JsoncNode {
    const errors: ParseError[] = [];
    const root = parseTree(this.#text, errors, { allowTrailingComma: true });
    const [error] = errors;
    if (error === undefined && root !== undefined) return root;
    const name = error === undefined ? "ValueExpected" : printParseErrorCode(error.error);
    throw this.error(
      error ?? { offset: 0 },
      `as it must be JSON with comments: found ${FAULTS[name] ?? name}`,
    );
  }

  #checkKeys(node: JsoncNode): void {
    const keys = new Set<string>();
    for (const { key } of membersOf(node)) {
      if (key.value === "__proto__") throw this.error(key, "as '__proto__' is an unknown key");
      if (keys.has(key.value)) throw this.error(key, `as '${key.value}' is there twice: remove one of them`);
      keys.add(key.value);
    }
    // The second child of a property is its value.
    for (const child of node.children ?? []) this.#checkKeys(child);
  }
}

/**
 * Returns the value of a file of settings.
 *
 * @param source The file as messages name it, such as `profile 'python'`.
 * @throws {JsoncError} if the text is not valid; see {@linkcode JsoncFile}.
 */
export function parseJsonc(text: string, source: string): unknown {
  return new JsoncFile(text, source).value;
}

function membersOf(node: JsoncNode): { key: JsoncNode; value: JsoncNode }[] {
  if (node.type !== "object") return [];
  return (node.children ?? []).flatMap(({ children: [key, value] = [] }) =>
    key && value ? [{ key, value }] : []
  );
}

function toValue(node: JsoncNode): unknown {
  if (node.type === "array") return (node.children ?? []).map(toValue);
  if (node.type !== "object") return node.value;
  return Object.fromEntries(membersOf(node).map(({ key, value }) => [key.value, toValue(value)]));
}
