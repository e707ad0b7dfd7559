import { isSame, normalKey, requireKey } from "./compare.ts";
import { PythonTypeError, PythonValueError } from "../jinja_errors.ts";
import { intOf } from "./numbers.ts";
import type { Run } from "../run.ts";
import { charsOf, hasSurrogates, lengthOf } from "./text.ts";
import {
  Dict,
  Float,
  isList,
  Lazy,
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

/** An object that defines an iteration, such as `loop`. */
export interface IterableObject extends PyObject {
  iterate(): Iterator<Value>;
}

/** Returns the items of a value in Python's iteration, or `undefined` if the value is not iterable. */
export function itemsOf(value: Value): Iterable<Value> | undefined {
  if (isList(value)) return value;
  if (value instanceof Tuple) return value.items;
  if (value instanceof Dict) return value.keys();
  if (value instanceof View) return value.items();
  if (value instanceof Range) return rangeItems(value);
  if (value instanceof Undefined) return [];
  if (value instanceof Lazy) return { [Symbol.iterator]: () => value.items };
  const text = stringOf(value);
  if (text !== undefined) return charsOf(text);
  if (value instanceof PyObject && "iterate" in value) {
    return { [Symbol.iterator]: () => (value as IterableObject).iterate() };
  }
  return undefined;
}

function* rangeItems(range: Range): Generator<Value> {
  for (let at = 0; at < range.length; at++) yield range.item(at);
}

/** Returns the items of a value, or fails as Python does for a value that is not iterable. */
export function iterate(value: Value): Iterable<Value> {
  const items = itemsOf(value);
  if (items === undefined) throw new PythonTypeError(`a ${typeName(value)} must not be iterated`);
  return items;
}

/** Returns an iterator that does not end when a loop over the iterator ends. */
export function iteratorOf(value: Value): Iterator<Value> {
  return iterate(value)[Symbol.iterator]();
}

/** Returns the items of a value as a new list. */
export function toList(value: Value, run: Run): Value[] {
  if (isList(value)) {
    run.step(value.length);
    return [...value];
  }
  const list: Value[] = [];
  const iterator = iteratorOf(value);
  for (let next = iterator.next(); !next.done; next = iterator.next()) {
    run.step();
    list.push(next.value);
  }
  return list;
}

/** Returns the length of a value, or `undefined` if there is no length. */
export function sizeOf(value: Value): number | undefined {
  const text = stringOf(value);
  if (text !== undefined) return lengthOf(text);
  if (isList(value)) return value.length;
  if (value instanceof Tuple) return value.items.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof View) return value.dict.size;
  if (value instanceof Range) return value.length;
  if (value instanceof Undefined) return 0;
  if (value instanceof PyObject && "size" in value) return value.size as number; // a loop
  return undefined;
}

/** Returns the length of a value, or fails as Python does. */
export function requireSize(value: Value): number {
  const size = sizeOf(value);
  if (size === undefined) throw new PythonTypeError(`a ${typeName(value)} has no length`);
  return size;
}

/** Returns whether Python takes the value as true. */
export function isTrue(value: Value): boolean {
  if (typeof value === "boolean") return value;
  if (value === null || value === "" || value === 0) return false;
  if (typeof value !== "object") return true;
  if (isList(value)) return value.length > 0;
  if (value instanceof Float) return value.value !== 0;
  return sizeOf(value) !== 0;
}

/** Returns whether Python's `in` holds. */
export function isIn(item: Value, container: Value, run: Run): boolean {
  const text = stringOf(container);
  if (text !== undefined) {
    const part = stringOf(item);
    if (part !== undefined) return text.includes(part);
    throw new PythonTypeError(`what is searched in a str must be str, not ${typeName(item)}`);
  }
  if (container instanceof Dict) return container.has(requireKey(item));
  if (container instanceof View && container.kind === "keys") return container.dict.has(requireKey(item));
  const iterator = iteratorOf(container);
  for (let next = iterator.next(); !next.done; next = iterator.next()) {
    run.step();
    if (isSame(next.value, item, run)) return true;
  }
  return false;
}

/** Returns an item as Python's `object[index]`, or `undefined` where Python raises a TypeError or LookupError. */
export function itemAt(object: Value, index: Value): Value | undefined {
  if (object instanceof Dict) {
    const key = normalKey(index);
    return key === undefined ? undefined : object.get(key);
  }
  const at = intOf(index);
  if (at === undefined) return undefined;
  const text = stringOf(object);
  if (text !== undefined) {
    const chars = hasSurrogates(text) ? charsOf(text) : text;
    const char = chars[place(Number(at), chars.length)];
    return object instanceof Markup && char !== undefined ? new Markup(char) : char;
  }
  if (isList(object)) return object[place(Number(at), object.length)];
  if (object instanceof Tuple) return object.items[place(Number(at), object.items.length)];
  if (object instanceof Range) {
    const position = place(Number(at), object.length);
    return position >= 0 && position < object.length ? object.item(position) : undefined;
  }
  return undefined;
}

function place(index: number, length: number): number {
  return index < 0 ? index + length : index;
}

/** Returns a slice as Python's `object[start:stop:step]`. */
export function sliceOf(object: Value, bounds: readonly (Value | undefined)[], run: Run): Value {
  const size = isSliceable(object) ? requireSize(object) : undefined;
  if (size === undefined) {
    if (object instanceof Undefined) object.fail();
    throw new PythonTypeError(`a ${typeName(object)} must not be sliced`);
  }
  const [start, stop, step] = sliceBounds(bounds, size);
  const length = Math.max(0, Math.ceil((stop - start) / step));
  run.step(isList(object) || object instanceof Tuple ? length : 0);
  const text = stringOf(object);
  if (text !== undefined) {
    run.grow(length);
    const part = step === 1 && !hasSurrogates(text)
      ? text.slice(start, Math.max(start, stop))
      : pick(charsOf(text), { start, step, length }).join("");
    return object instanceof Markup ? new Markup(part) : part;
  }
  if (isList(object)) return pick(object, { start, step, length });
  if (object instanceof Tuple) return new Tuple(pick(object.items, { start, step, length }));
  const range = object as Range;
  return new Range(range.start + start * range.step, range.start + stop * range.step, range.step * step);
}

function isSliceable(value: Value): boolean {
  return stringOf(value) !== undefined || isList(value) || value instanceof Tuple || value instanceof Range;
}

function pick<Item>(
  items: readonly Item[],
  { start, step, length }: { start: number; step: number; length: number },
): Item[] {
  return Array.from({ length }, (_, at) => items[start + at * step] as Item);
}

/** Returns start, stop and step within a sequence of this size. */
export function sliceBounds(bounds: readonly (Value | undefined)[], size: number): [number, number, number] {
  const [first, last, stride] = bounds.map((bound) => {
    if (bound === undefined || bound === null) return undefined;
    const int = intOf(bound);
    if (int === undefined) {
      throw new PythonTypeError(`a bound of a slice must be an integer or None, not ${typeName(bound)}`);
    }
    return Number(int);
  });
  const step = stride ?? 1;
  if (step === 0) throw new PythonValueError("the step of a slice must not be 0");
  const [low, high] = step > 0 ? [0, size] : [-1, size - 1];
  const clamp = (bound: number) => Math.min(Math.max(bound < 0 ? bound + size : bound, low), high);
  return [
    first === undefined ? (step > 0 ? low : high) : clamp(first),
    last === undefined ? (step > 0 ? high : low) : clamp(last),
    step,
  ];
}
