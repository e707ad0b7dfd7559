import { bindArguments, requireIndex } from "./arguments.ts";
import { isSame, requireKey } from "./compare.ts";
import { callFormat } from "./brace_format.ts";
import { PythonTypeError, PythonValueError, UnsupportedError } from "../jinja_errors.ts";
import { bitLength, type Int, intOf } from "./numbers.ts";
import { makeDict } from "./operators.ts";
import type { Run } from "../run.ts";
import { itemAt, iterate, sliceBounds } from "./sequences.ts";
import { callStringMethod, isStringMethod, UNSUPPORTED_STRING_METHODS } from "./string_methods.ts";
import {
  type Args,
  Callable,
  Dict,
  Float,
  isList,
  Markup,
  PyObject,
  Range,
  stringOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from "./values.ts";

/** Methods of list and dict that would change them. Their values are undefined, as in transformers' sandbox. */
const CHANGING: Readonly<Record<string, ReadonlySet<string>>> = {
  list: new Set(["append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"]),
  dict: new Set(["clear", "pop", "popitem", "setdefault", "update"]),
};

/** Attributes that every object of Python has. A template cannot reach them. */
const PRIVATE =
  /^__(?:class|doc|dict|module|init|new|eq|ne|lt|le|gt|ge|hash|repr|str|format|getattribute|setattr|delattr|dir|sizeof|reduce|reduce_ex|subclasshook|init_subclass|len|iter|contains|getitem|add|mul|rmul|mod|rmod|getnewargs|class_getitem|reversed|setitem|delitem|or|ior|ror|iadd|imul)__$/;

const UNSUPPORTED_ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  str: UNSUPPORTED_STRING_METHODS,
  Markup: [...UNSUPPORTED_STRING_METHODS, "escape", "unescape", "striptags"],
  int: ["to_bytes", "from_bytes"],
  bool: ["to_bytes", "from_bytes"],
  float: ["hex", "fromhex"],
  generator: ["send", "throw", "close"],
  dict_keys: ["isdisjoint", "mapping"],
  dict_items: ["isdisjoint", "mapping"],
  dict_values: ["mapping"],
};

type Method = (run: Run, args: Args) => Value;

/** Returns an attribute as Python's `getattr` in the sandbox, or `undefined` if there is none. */
function attributeOf(object: Value, name: string): Value | undefined {
  const type = typeName(object);
  if (PRIVATE.test(name)) return new Undefined(`access to attribute '${name}' of a ${type} is unsafe`);
  if (object instanceof Undefined) object.fail();
  if (CHANGING[type]?.has(name)) {
    return new Undefined(`the method '${name}' of a ${type} would change it, which is unsafe`);
  }
  if (UNSUPPORTED_ATTRIBUTES[type]?.includes(name)) {
    throw new UnsupportedError(`the attribute '${name}' of a ${type} is not supported`);
  }
  if (typeof object === "string" || object instanceof Markup) {
    if (name === "format" || name === "format_map") {
      return new Callable(name, (run, args) => callFormat(object, name, { args, run, lookup: FIELDS }));
    }
    if (!isStringMethod(name)) return undefined;
    return new Callable(name, (run, args) => callStringMethod(object, name, args, run));
  }
  if (object instanceof Float || intOf(object) !== undefined) return numberAttribute(object, name);
  const method = methodOf(object, name);
  if (method !== undefined) return new Callable(name, method);
  return object instanceof PyObject ? object.attribute(name) : undefined;
}

/** Returns `object.name` of a template: an attribute, otherwise an item, otherwise an undefined value. */
export function getAttribute(object: Value, name: string): Value {
  const attribute = attributeOf(object, name);
  if (attribute !== undefined) return attribute;
  const item = itemAt(object, name);
  return item === undefined ? missing(object, name) : item;
}

/** Returns `object[index]` of a template: an item, otherwise an attribute, otherwise an undefined value. */
export function getItem(object: Value, index: Value): Value {
  if (object instanceof Undefined) object.fail();
  const item = itemAt(object, index);
  if (item !== undefined) return item;
  const name = stringOf(index);
  const attribute = name === undefined ? undefined : attributeOf(object, name);
  return attribute === undefined ? missing(object, name ?? itemName(index)) : attribute;
}

const FIELDS = { attribute: getAttribute, item: getItem };

/** Returns whether Python's `hasattr` holds. */
export function hasAttribute(object: Value, name: string): boolean {
  return attributeOf(object, name) !== undefined;
}

function itemName(index: Value): string {
  return typeof index === "number" ? `[${index}]` : typeName(index);
}

function missing(object: Value, name: string): Undefined {
  return new Undefined(`a ${typeName(object)} has no '${name}'`);
}

function methodOf(object: Value, name: string): Method | undefined {
  if (object instanceof Dict) return dictMethod(object, name);
  if (isList(object)) return name === "copy" ? () => [...object] : sequenceMethod(object, object, name);
  if (object instanceof Tuple) return sequenceMethod(object.items, object, name);
  if (object instanceof Range && (name === "count" || name === "index")) {
    return sequenceMethod([...iterate(object)], object, name);
  }
  return undefined;
}

function dictMethod(dict: Dict, name: string): Method | undefined {
  switch (name) {
    case "get":
      return (_run, args) => {
        const [key, otherwise = null] = bindArguments(args, {
          names: ["key", "default"],
          required: 1,
          positionalOnly: 2,
        });
        const value = dict.get(requireKey(key as Value));
        return value === undefined ? otherwise : value;
      };
    case "items":
    case "keys":
    case "values":
      return (run, args) => {
        bindArguments(args, { names: [] });
        run.step(dict.size);
        return new View(name, dict);
      };
    case "copy":
      return (run) => {
        run.step(dict.size);
        return makeDict(dict.entries());
      };
    case "fromkeys":
      return dictFromKeys;
  }
  return undefined;
}

/** `dict.fromkeys`. */
export function dictFromKeys(run: Run, args: Args): Dict {
  const [keys, value = null] = bindArguments(args, {
    names: ["iterable", "value"],
    required: 1,
    positionalOnly: 2,
  });
  const entries: [Value, Value][] = [];
  for (const key of iterate(keys as Value)) {
    run.step();
    entries.push([key, value]);
  }
  return makeDict(entries);
}

function sequenceMethod(items: readonly Value[], object: Value, name: string): Method | undefined {
  if (name === "count") {
    return (run, args) => {
      const [wanted] = bindArguments(args, { names: ["value"], required: 1, positionalOnly: 1 });
      run.step(items.length);
      return items.filter((item) => isSame(item, wanted as Value, run)).length;
    };
  }
  if (name !== "index") return undefined;
  return (run, args) => {
    const names = object instanceof Range ? ["value"] : ["value", "start", "stop"];
    const [wanted, start, stop] = bindArguments(args, { names, required: 1, positionalOnly: 3 });
    for (const bound of [start, stop]) if (bound !== undefined) requireIndex(bound);
    const [low, high] = sliceBounds([start, stop], items.length);
    for (let at = low; at < high; at++) {
      run.step();
      if (isSame(items[at] as Value, wanted as Value, run)) return at;
    }
    throw new PythonValueError(`the value is not in the ${typeName(object)}`);
  };
}

function numberAttribute(value: Value, name: string): Value | undefined {
  const int = intOf(value);
  switch (name) {
    case "real":
      return int ?? value;
    case "imag":
      return int === undefined ? new Float(0) : 0;
    case "conjugate":
      return noArguments(name, () => int ?? value);
    case "numerator":
      return int;
    case "denominator":
      return int === undefined ? undefined : 1;
    case "is_integer":
      return int === undefined
        ? noArguments(name, () => Number.isInteger((value as Float).value))
        : undefined;
    case "bit_length":
      return int === undefined ? undefined : noArguments(name, () => bitLength(int));
    case "bit_count":
      return int === undefined ? undefined : noArguments(name, () => countBits(int));
    case "as_integer_ratio":
      if (int === undefined) {
        throw new UnsupportedError("the method 'as_integer_ratio' of a float is not supported");
      }
      return noArguments(name, () => new Tuple([int, 1]));
  }
  return undefined;
}

function countBits(value: Int): number {
  return BigInt(value).toString(2).replace(/[^1]/g, "").length;
}

function noArguments(name: string, value: () => Value): Callable {
  return new Callable(name, (_run, args) => {
    bindArguments(args, { names: [] });
    return value();
  });
}

/** Calls a value, or fails as Python does for a value that cannot be called. */
export function callValue(callee: Value, args: Args, run: Run): Value {
  if (callee instanceof Callable) return callee.call(run, args);
  if (callee instanceof Undefined) callee.fail();
  throw new PythonTypeError(`a ${typeName(callee)} must not be called`);
}
