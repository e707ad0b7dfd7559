import type { ToolSpec } from "../../message.ts";

/** A tool under the name that Python code calls. */
export interface CodeToolSpec extends ToolSpec {
  /** A Python identifier, which no other tool has. */
  readonly pythonName: string;
  /** Name of the tool's function, if offered as a function of the block or of a module. */
  readonly alias?: string;
  /** Name of the module of the function, if the function is in a module. */
  readonly module?: string;
  /** True if arguments are checked in the sandbox, before a call leaves the sandbox. */
  readonly isChecked?: boolean;
}

/**
 * Where code finds tools: as `tools.<name>` after `from paddock import tools`, as global functions, or, where names
 * are `server.tool`, in a module for each server after `from paddock import <server>`.
 */
export type CodeToolNames = "tools" | "functions" | "modules";

// deno-fmt-ignore
const KEYWORDS: ReadonlySet<string> = new Set([
  "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
  "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
  "pass", "raise", "return", "try", "while", "with", "yield",
]);

/** Functions that Python has already. */
// deno-fmt-ignore
const BUILTINS: ReadonlySet<string> = new Set([
  "abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool", "breakpoint", "bytearray", "bytes", "callable",
  "chr", "classmethod", "compile", "complex", "copyright", "credits", "delattr", "dict", "dir", "divmod",
  "enumerate", "eval", "exec", "exit", "filter", "float", "format", "frozenset", "getattr", "globals",
  "hasattr", "hash", "help", "hex", "id", "input", "int", "isinstance", "issubclass", "iter", "len", "license",
  "list", "locals", "map", "max", "memoryview", "min", "next", "object", "oct", "open", "ord", "pow", "print",
  "property", "quit", "range", "repr", "reversed", "round", "set", "setattr", "slice", "sorted", "staticmethod",
  "str", "sum", "super", "tuple", "type", "vars", "zip",
]);

/** Names that `paddock` has already. */
const OF_PADDOCK: ReadonlySet<string> = new Set(["tools", "ToolError", "ToolArgumentError", "Media"]);

/**
 * Returns the tools with names that Python code can call. A character that no identifier has becomes `_`, a name that
 * begins with another character than a letter gets `tool_` in front, a keyword `_` behind, and a name that is taken
 * `_2`, `_3` and so on. As a function, the name of a builtin gets `_` behind; as a module, `tools` does.
 */
export function withPythonNames(specs: readonly ToolSpec[], names: CodeToolNames = "tools"): CodeToolSpec[] {
  const none: ReadonlySet<string> = new Set();
  const pythonNames = toIdentifiers(specs.map(({ name }) => name), none);
  const named = specs.map((spec, at) => ({ ...spec, pythonName: pythonNames[at] ?? "" }));
  if (names === "tools") return named;
  if (names === "functions") {
    const aliases = toIdentifiers(specs.map(({ name }) => name), BUILTINS);
    return named.map((spec, at) => ({ ...spec, alias: aliases[at] ?? "" }));
  }
  return withModules(named);
}

function withModules(specs: readonly CodeToolSpec[]): CodeToolSpec[] {
  const servers = [...new Set(specs.flatMap(({ name }) => splitName(name)?.server ?? []))];
  const modules = toIdentifiers(servers, OF_PADDOCK);
  const aliases = new Map(servers.flatMap((server) => {
    const own = specs.filter(({ name }) => splitName(name)?.server === server);
    const functions = toIdentifiers(own.map(({ name }) => splitName(name)?.tool ?? name), new Set());
    return own.map(({ name }, at) => [name, functions[at] ?? ""] as const);
  }));
  return specs.map((spec) => {
    const server = splitName(spec.name)?.server;
    const alias = aliases.get(spec.name);
    if (server === undefined || alias === undefined) return spec;
    return { ...spec, module: modules[servers.indexOf(server)] ?? "", alias };
  });
}

/** Splits `server.tool`. Returns `undefined` if a name has no such parts. */
function splitName(name: string): { readonly server: string; readonly tool: string } | undefined {
  const dot = name.indexOf(".");
  return dot > 0 && dot < name.length - 1
    ? { server: name.slice(0, dot), tool: name.slice(dot + 1) }
    : undefined;
}

/** Returns a different identifier for each name: those that are identifiers keep their own. */
function toIdentifiers(names: readonly string[], reserved: ReadonlySet<string>): string[] {
  const identifierOf = (name: string) => {
    const wanted = toIdentifier(name);
    return reserved.has(wanted) ? `${wanted}_` : wanted;
  };
  const taken = new Set(names.filter((name) => identifierOf(name) === name));
  return names.map((name) => {
    const wanted = identifierOf(name);
    if (wanted === name) return wanted;
    let identifier = wanted;
    for (let number = 2; taken.has(identifier); number++) identifier = `${wanted}_${number}`;
    taken.add(identifier);
    return identifier;
  });
}

function toIdentifier(name: string): string {
  const word = name.replace(/[^A-Za-z0-9_]/g, "_");
  if (!/^[A-Za-z]/.test(word)) return `tool_${word}`;
  return KEYWORDS.has(word) ? `${word}_` : word;
}

/** True if Python accepts a text as the name of a variable. */
export function isPythonIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !KEYWORDS.has(name);
}

/** True if a value of JSON, such as a part of a row, describes a tool of code. */
export function isCodeToolSpec(value: unknown): value is CodeToolSpec {
  const { name, pythonName, description, parameters, alias = "", module = "" } = Object(value);
  return [name, pythonName, description, alias, module].every((text) => typeof text === "string") &&
    typeof parameters === "object" && parameters !== null;
}
