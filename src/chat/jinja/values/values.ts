import { UndefinedError } from "../jinja_errors.ts";
import type { Run } from "../run.ts";

/**
 * A value of a template, with the meaning of Python. No JavaScript object of a caller is among them, so that a
 * template reaches no prototype.
 *
 * | Python                | here                                                      |
 * | --------------------- | --------------------------------------------------------- |
 * | `None`, `bool`, `str` | `null`, `boolean`, `string`                               |
 * | `int`                 | `number` for a safe integer, otherwise `bigint`           |
 * | `float`               | `Float`                                                   |
 * | `list`                | an array, which nothing changes after the creation        |
 * | `tuple`, `dict`, …    | classes below                                             |
 */
export type Value = null | boolean | number | bigint | string | readonly Value[] | PyObject;

/** An object of another type than those that JavaScript has. */
export abstract class PyObject {
  /** Name of the type in Python. */
  abstract readonly typeName: string;

  /** Returns the value of an attribute, or `undefined` if there is none. */
  attribute(_name: string): Value | undefined {
    return undefined;
  }
}

/** A float. The class keeps 1.0 apart from 1. */
export class Float extends PyObject {
  readonly typeName = "float";
  constructor(readonly value: number) {
    super();
  }
}

/** A string that the filters `escape` and `safe` return: text that is added is escaped for HTML. */
export class Markup extends PyObject {
  readonly typeName = "Markup";
  constructor(readonly text: string) {
    super();
  }
}

/** A tuple. */
export class Tuple extends PyObject {
  override readonly typeName: string = "tuple";
  constructor(readonly items: readonly Value[]) {
    super();
  }
}

/** A group of the filter `groupby`. */
export class Group extends Tuple {
  override readonly typeName = "_GroupTuple";
  override attribute(name: string): Value | undefined {
    if (name === "grouper") return this.items[0];
    return name === "list" ? this.items[1] : undefined;
  }
}

/** A range of integers. */
export class Range extends PyObject {
  readonly typeName = "range";
  readonly length: number;
  constructor(readonly start: number, readonly stop: number, readonly step: number) {
    super();
    this.length = Math.max(0, Math.ceil((stop - start) / step));
  }

  override attribute(name: string): Value | undefined {
    return name === "start" || name === "stop" || name === "step" ? this[name] : undefined;
  }

  item(index: number): number {
    return this.start + index * this.step;
  }
}

/** A generator or another iterator of Python: each item is read once. */
export class Lazy extends PyObject {
  constructor(readonly items: Iterator<Value>, readonly typeName = "generator") {
    super();
  }
}

/** Arguments of a call. */
export interface Args {
  readonly positional: readonly Value[];
  readonly keywords: ReadonlyMap<string, Value>;
}

export const NO_KEYWORDS: ReadonlyMap<string, Value> = new Map();
export const NO_ARGS: Args = { positional: [], keywords: NO_KEYWORDS };

/** A function or a bound method. */
export class Callable extends PyObject {
  override readonly typeName: string = "function";
  constructor(readonly name: string, readonly call: (run: Run, args: Args) => Value) {
    super();
  }
}

/** The value of a name, attribute or item that does not exist. The value prints nothing, and most other uses fail. */
export class Undefined extends PyObject {
  readonly typeName = "Undefined";
  constructor(readonly reason: string) {
    super();
  }

  /** Fails as any use does except printing, iterating and testing. */
  fail(): never {
    throw new UndefinedError(this.reason);
  }
}

/** A dict. Keys are in the order of insertion; equal numbers, such as 1, 1.0 and true, are the same key. */
export class Dict extends PyObject {
  readonly typeName = "dict";
  /** Values by the key's normal form, which is the key itself for a string. */
  readonly #values = new Map<unknown, Value>();
  /** Keys whose normal form differs from the key. */
  #keys: Map<unknown, Value> | undefined;

  /** Returns a dict of a caller's members. */
  static of(entries: Iterable<readonly [Value, Value]>, normalize: (key: Value) => unknown): Dict {
    const dict = new Dict();
    for (const [key, value] of entries) dict.set(normalize(key), key, value);
    return dict;
  }

  /** Adds a member while the dict is made. An existing key keeps the place and the first form. */
  set(normal: unknown, key: Value, value: Value): void {
    if (normal !== key && !this.#values.has(normal)) (this.#keys ??= new Map()).set(normal, key);
    this.#values.set(normal, value);
  }

  get size(): number {
    return this.#values.size;
  }

  get(normal: unknown): Value | undefined {
    return this.#values.get(normal);
  }

  has(normal: unknown): boolean {
    return this.#values.has(normal);
  }

  keys(): Value[] {
    const keys = this.#keys;
    const normals = [...this.#values.keys()];
    return keys === undefined
      ? normals as Value[]
      : normals.map((normal) => keys.get(normal) ?? normal as Value);
  }

  values(): Value[] {
    return [...this.#values.values()];
  }

  entries(): [Value, Value][] {
    const values = this.values();
    return this.keys().map((key, at) => [key, values[at] as Value]);
  }

  normals(): IterableIterator<unknown> {
    return this.#values.keys();
  }
}

/** Result of the methods `keys`, `values` and `items` of a dict. */
export class View extends PyObject {
  readonly typeName: string;
  constructor(readonly kind: "keys" | "values" | "items", readonly dict: Dict) {
    super();
    this.typeName = `dict_${kind}`;
  }

  items(): Value[] {
    if (this.kind === "items") return this.dict.entries().map((entry) => new Tuple(entry));
    return this.kind === "keys" ? this.dict.keys() : this.dict.values();
  }
}

/** A namespace, the only object whose attributes a template can set. */
export class Namespace extends PyObject {
  readonly typeName = "TemplateNamespace";
  readonly members = new Map<string, Value>();

  override attribute(name: string): Value | undefined {
    return this.members.get(name);
  }
}

/** Returns the name of a value's type in Python. */
export function typeName(value: Value): string {
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number" || typeof value === "bigint") return "int";
  if (typeof value === "string") return "str";
  return isList(value) ? "list" : value.typeName;
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** Returns the text of a string, and `undefined` for other values. */
export function stringOf(value: Value): string | undefined {
  if (typeof value === "string") return value;
  return value instanceof Markup ? value.text : undefined;
}
