import { isCollection, isMap, isNode, LineCounter, type Node, parseDocument } from "yaml";

/** More aliases than this in one value are no configuration, but an attempt to exhaust memory. */
const MAX_ALIASES = 100;

/** A parsed YAML text. */
export interface YamlText {
  readonly value: unknown;
  /** Returns the line of a value, from 1: that of the innermost key or item of `path` that exists. */
  lineOf(path: readonly PropertyKey[]): number;
}

/**
 * Parses the one document of a YAML text by the core schema of YAML 1.2.
 *
 * @throws {SyntaxError} when it is no YAML, with the line.
 */
export function parseYaml(text: string): YamlText {
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
      return document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (cause) {
      if (cause instanceof ReferenceError) throw new SyntaxError(cause.message, { cause });
      throw cause;
    }
  }
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
