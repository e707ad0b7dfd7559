import { CST, isCollection, isMap, isNode, Lexer, LineCounter, type Node, parseDocument } from "yaml";

/**
 * Limits of a text, which bound the time and memory of parsing it. Configurations do not reach them. Aliases of aliases
 * multiply what they refer to, and the parser compares each key of a map with all others.
 */
const MAX_CHARACTERS = 1024 * 1024;
const MAX_TOKENS = 20_000;
const MAX_REFERENCES = 100;
const MAX_DEPTH = 64;

/** A parsed YAML text. */
export interface YamlText {
  readonly value: unknown;
  /** Returns the line of a value, from 1: the line of the innermost key or item of `path` that exists. */
  lineOf(path: readonly PropertyKey[]): number;
}

/**
 * Parses the one document of a YAML text by the core schema of YAML 1.2.
 *
 * @throws {SyntaxError} when it is no YAML, with the line, or exceeds a limit.
 */
export function parseYaml(text: string): YamlText {
  requireLimits(text);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true });
  const [error] = [...document.errors, ...document.warnings]; // a tag without a meaning is a warning
  if (error !== undefined) {
    const [message = ""] = error.message.split(":\n");
    throw new SyntaxError(message, { cause: error });
  }
  const { contents } = document;
  const root = isNode(contents) ? contents : undefined;
  return { value: toValue(), lineOf: (path) => lineAt(root, path, lines) };

  function toValue(): unknown {
    try {
      return document.toJS({ maxAliasCount: MAX_REFERENCES });
    } catch (cause) {
      if (cause instanceof ReferenceError) throw new SyntaxError(cause.message, { cause });
      throw cause;
    }
  }
}

/** Checks the tokens of a text, which are found in one pass, before it is parsed. */
function requireLimits(text: string): void {
  requireAtMost(text.length, MAX_CHARACTERS, "characters");
  let [tokens, references, depth] = [0, 0, 0];
  for (const token of new Lexer().lex(text)) {
    requireAtMost(++tokens, MAX_TOKENS, "tokens");
    switch (CST.tokenType(token)) {
      case "alias":
      case "anchor":
      case "tag":
        requireAtMost(++references, MAX_REFERENCES, "anchors, aliases and tags");
        break;
      case "flow-seq-start":
      case "flow-map-start":
        requireAtMost(++depth, MAX_DEPTH, "levels");
        break;
      case "flow-seq-end":
      case "flow-map-end":
        depth--;
        break;
    }
  }
}

function requireAtMost(found: number, most: number, what: string): void {
  if (found > most) throw new SyntaxError(`a text must have at most ${most} ${what}: found more`);
}

function lineAt(root: Node | undefined, path: readonly PropertyKey[], lines: LineCounter): number {
  let line = 1;
  let node: unknown = root;
  for (const key of path) {
    if (!isCollection(node)) break;
    const pair = isMap(node) ? node.items.find((item) => String(item.key) === String(key)) : undefined;
    const start = pair === undefined ? node.get(key, true) : pair.key;
    if (!isNode(start) || !start.range) break;
    line = lines.linePos(start.range[0]).line;
    node = pair === undefined ? start : pair.value;
  }
  return line;
}
