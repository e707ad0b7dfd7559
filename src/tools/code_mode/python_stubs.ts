import type { JsonSchema } from "../tool.ts";
import { type CodeToolSpec, isPythonIdentifier } from "./python_names.ts";
import { isJsonObject } from "../../json.ts";

/** Maximum nesting of types. Deeper ones are `Any`. */
const MAX_DEPTH = 8;
/** Maximum number of values of a `Literal`. More are `str`, or another type of their values. */
const MAX_LITERALS = 32;

/**
 * Returns Python stubs of tools: a function each, with types and defaults from the JSON Schema, and a docstring. Objects
 * with known members are classes of `TypedDict`. Functions of a module follow a line that imports the module.
 */
export function pythonStubs(specs: readonly CodeToolSpec[]): string {
  const byModule = Map.groupBy(specs, ({ module }) => module ?? "");
  return [...byModule].flatMap(([module, own]) => [
    ...(module === "" ? [] : [`# from paddock import ${module}`]),
    ...own.map((spec) => new Stub(spec).text()),
  ]).join("\n\n");
}

/** The stub of a tool. */
class Stub {
  readonly #spec: CodeToolSpec;
  readonly #classes: string[] = [];
  readonly #classNames = new Set<string>();
  /** Names of the classes whose members are being written. */
  readonly #open = new Set<string>();
  /** Names of the classes of schemas, so that a schema that contains itself is one class. */
  readonly #classOf = new Map<JsonSchema, string>();

  constructor(spec: CodeToolSpec) {
    this.#spec = spec;
  }

  text(): string {
    const { parameters } = this.#spec;
    const pythonName = this.#name;
    const properties = Object.entries(objectOf(parameters.properties));
    const required = new Set(Array.isArray(parameters.required) ? parameters.required : []);
    const named = properties.filter(([name]) => isPythonIdentifier(name));
    const others = properties.filter(([name]) => !isPythonIdentifier(name)).map(([name]) => name);
    const words: string[] = [];
    let hasDefault = false;
    for (const [name, schema] of named) {
      const isRequired = required.has(name);
      // Python has no parameter without a default behind a parameter with a default, unless the former is given by name.
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

  /** Name of the function. */
  get #name(): string {
    return this.#spec.alias ?? this.#spec.pythonName;
  }

  #docstring(named: readonly [string, unknown][], others: readonly string[]): string[] {
    const { name, module, description } = this.#spec;
    const isNamed = name === (module === undefined ? this.#name : `${module}.${this.#name}`);
    const lines = [
      description,
      ...(isNamed ? [] : [`The tool is named ${JSON.stringify(name)}.`]),
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
    if (lines.join("") === "") return ["    ..."];
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
        return this.#spec.isChecked && isBase64(found) ? "bytes" : "str";
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
    if (!members.every(([name]) => isPythonIdentifier(name))) return "dict[str, Any]";
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const found = this.#classOf.get(schema);
    // The class may not be complete yet: a name in quotes refers to it from within.
    if (found !== undefined) return this.#open.has(found) ? JSON.stringify(found) : found;
    const name = this.#className(at.path);
    this.#classOf.set(schema, name);
    this.#open.add(name);
    const lines = members.map(([member, inner]) => {
      const type = this.#typeOf(inner, { ...at, path: [...at.path, member] });
      return `    ${member}: ${required.has(member) ? type : `NotRequired[${type}]`}`;
    });
    this.#open.delete(name);
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

  /** Returns a schema behind references within the tool's own schema; `undefined` if there is no such schema. */
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

/** True for a text that Python may give as bytes. */
function isBase64({ contentEncoding, format }: JsonSchema): boolean {
  return contentEncoding === "base64" || format === "base64" || format === "byte" || format === "binary";
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  if (distinct.length === 0 || distinct.includes("Any")) return "Any";
  // Python joins no name in quotes with `|`.
  const quoted = distinct.find((type) => type.startsWith('"'));
  if (quoted === undefined) return distinct.join(" | ");
  return JSON.stringify(distinct.map((type) => type.startsWith('"') ? JSON.parse(type) : type).join(" | "));
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(value) ? value as Readonly<Record<string, unknown>> : {};
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "boolean" || Number.isInteger(value);
}

/** Returns a value of JSON in Python's form. */
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
