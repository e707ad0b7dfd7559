import type { ToolSpec } from "../../message.ts";
import type { JsonSchema } from "../tool.ts";

/** A tool under the name that Python code calls. */
export interface CodeToolSpec extends ToolSpec {
  /** A Python identifier. */
  readonly pythonName: string;
}

/** True if a value of JSON, such as a part of a row, describes a tool of code. */
export function isCodeToolSpec(value: unknown): value is CodeToolSpec {
  const { name, pythonName, description, parameters } = Object(value);
  return [name, pythonName, description].every((text) => typeof text === "string") &&
    typeof parameters === "object" && parameters !== null;
}

/** Maximum nesting of types. Deeper ones are `Any`. */
const MAX_DEPTH = 8;
/** Maximum number of values of a `Literal`. More are `str`, or another type of their values. */
const MAX_LITERALS = 32;

// deno-fmt-ignore
const KEYWORDS: ReadonlySet<string> = new Set([
  "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
  "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
  "pass", "raise", "return", "try", "while", "with", "yield",
]);

/**
 * Returns the tools with names that Python code can call. A character that no identifier has becomes `_`, a name that
 * begins with another character than a letter gets `tool_` in front, a keyword `_` behind, and a name that is taken
 * `_2`, `_3` and so on.
 */
export function withPythonNames(specs: readonly ToolSpec[]): CodeToolSpec[] {
  const taken = new Set(specs.map(({ name }) => name).filter((name) => toIdentifier(name) === name));
  return specs.map((spec) => {
    const wanted = toIdentifier(spec.name);
    if (wanted === spec.name) return { ...spec, pythonName: wanted };
    let pythonName = wanted;
    for (let number = 2; taken.has(pythonName); number++) pythonName = `${wanted}_${number}`;
    taken.add(pythonName);
    return { ...spec, pythonName };
  });
}

function toIdentifier(name: string): string {
  const word = name.replace(/[^A-Za-z0-9_]/g, "_");
  if (!/^[A-Za-z]/.test(word)) return `tool_${word}`;
  return KEYWORDS.has(word) ? `${word}_` : word;
}

/**
 * Returns Python stubs of tools: a function each, with types and defaults from its JSON Schema, and a docstring. Objects
 * with known members are classes of `TypedDict`.
 */
export function pythonStubs(specs: readonly CodeToolSpec[]): string {
  return specs.map((spec) => new Stub(spec).text()).join("\n\n");
}

/** The stub of one tool. */
class Stub {
  readonly #spec: CodeToolSpec;
  readonly #classes: string[] = [];
  readonly #classNames = new Set<string>();

  constructor(spec: CodeToolSpec) {
    this.#spec = spec;
  }

  text(): string {
    const { pythonName, parameters } = this.#spec;
    const properties = Object.entries(objectOf(parameters.properties));
    const required = new Set(Array.isArray(parameters.required) ? parameters.required : []);
    const named = properties.filter(([name]) => isIdentifier(name));
    const others = properties.filter(([name]) => !isIdentifier(name)).map(([name]) => name);
    const words: string[] = [];
    let hasDefault = false;
    for (const [name, schema] of named) {
      const isRequired = required.has(name);
      // Python has no parameter without a default behind one with a default, unless it is given by name.
      if (isRequired && hasDefault && !words.includes("*")) words.push("*");
      const type = this.#typeOf(schema, { path: [pythonName, name], depth: 0 });
      const value = Object.hasOwn(objectOf(schema), "default") ? literalOf(objectOf(schema).default) : "...";
      words.push(isRequired ? `${name}: ${type}` : `${name}: ${type} = ${value}`);
      hasDefault ||= !isRequired;
    }
    if (others.length > 0) words.push("**others: Any");
    const lines = [`def ${pythonName}(${words.join(", ")}) -> Any:`, ...this.#docstring(named, others)];
    return [...this.#classes, lines.join("\n")].join("\n\n");
  }

  #docstring(named: readonly [string, unknown][], others: readonly string[]): string[] {
    const { name, pythonName, description } = this.#spec;
    const lines = [
      description,
      ...(name === pythonName ? [] : [`The tool is named ${JSON.stringify(name)}.`]),
      ...named.flatMap(([parameter, schema]) => {
        const about = objectOf(schema).description;
        return typeof about === "string" && about !== "" ? [`${parameter}: ${about}`] : [];
      }),
      ...(others.length === 0
        ? []
        : [`Further arguments, given as **{"name": value}: ${
          others.map((each) => JSON.stringify(each)).join(", ")
        }`]),
    ].join("\n").split("\n").map((line) => escapeDoc(line).trimEnd());
    return lines.length === 1
      ? [`    """${lines[0]}"""`]
      : [`    """`, ...lines.map((line) => line === "" ? "" : `    ${line}`), `    """`];
  }

  #typeOf(schema: unknown, at: { path: readonly string[]; depth: number }): string {
    const found = this.#resolved(schema);
    if (found === undefined || at.depth > MAX_DEPTH) return "Any";
    const inner = { ...at, depth: at.depth + 1 };
    if (Object.hasOwn(found, "const")) return `Literal[${literalOf(found.const)}]`;
    if (Array.isArray(found.enum) && found.enum.length <= MAX_LITERALS && found.enum.every(isScalar)) {
      return `Literal[${found.enum.map(literalOf).join(", ")}]`;
    }
    const choices = found.anyOf ?? found.oneOf;
    if (Array.isArray(choices)) return union(choices.map((choice) => this.#typeOf(choice, inner)));
    if (Array.isArray(found.type)) {
      return union(found.type.map((type) => this.#typeOf({ ...found, type }, inner)));
    }
    switch (found.type) {
      case "string":
        return "str";
      case "integer":
        return "int";
      case "number":
        return "float";
      case "boolean":
        return "bool";
      case "null":
        return "None";
      case "array":
        return `list[${this.#typeOf(found.items, inner)}]`;
      case "object":
        return this.#objectType(found, inner);
      default:
        return "Any";
    }
  }

  #objectType(schema: JsonSchema, at: { path: readonly string[]; depth: number }): string {
    const members = Object.entries(objectOf(schema.properties));
    if (members.length === 0) return `dict[str, ${this.#typeOf(schema.additionalProperties, at)}]`;
    if (!members.every(([name]) => isIdentifier(name))) return "dict[str, Any]";
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const name = this.#className(at.path);
    const lines = members.map(([member, inner]) => {
      const type = this.#typeOf(inner, { ...at, path: [...at.path, member] });
      return `    ${member}: ${required.has(member) ? type : `NotRequired[${type}]`}`;
    });
    this.#classes.push([`class ${name}(TypedDict):`, ...lines].join("\n"));
    return name;
  }

  /** Returns a name such as `SearchFilter` for the parameter `filter` of `search`. */
  #className(path: readonly string[]): string {
    const wanted = path.flatMap((part) => part.split("_")).map((word) =>
      word.slice(0, 1).toUpperCase() + word.slice(1)
    ).join("");
    let name = wanted;
    for (let number = 2; this.#classNames.has(name); number++) name = `${wanted}${number}`;
    this.#classNames.add(name);
    return name;
  }

  /** Returns a schema behind its references within the tool's own schema; `undefined` if there is none. */
  #resolved(schema: unknown): JsonSchema | undefined {
    let found = schema;
    for (let steps = 0; steps < MAX_DEPTH; steps++) {
      if (typeof found !== "object" || found === null) return undefined;
      const reference = (found as JsonSchema).$ref;
      if (typeof reference !== "string") return found as JsonSchema;
      const names = reference.split("/").slice(1).map((name) =>
        name.replaceAll("~1", "/").replaceAll("~0", "~")
      );
      found = reference.startsWith("#/")
        ? names.reduce<unknown>((value, name) => objectOf(value)[name], this.#spec.parameters)
        : undefined;
    }
    return undefined;
  }
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  return distinct.length === 0 || distinct.includes("Any") ? "Any" : distinct.join(" | ");
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Readonly<Record<string, unknown>>
    : {};
}

function isIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !KEYWORDS.has(name);
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "boolean" || Number.isInteger(value);
}

/** Returns a value of JSON as Python writes it. */
function literalOf(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literalOf).join(", ")}]`;
  if (typeof value === "object") {
    return `{${
      Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${literalOf(each)}`).join(", ")
    }}`;
  }
  return JSON.stringify(value);
}

function escapeDoc(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"');
}
