import { requireIndex } from "../values/arguments.ts";
import { attributeGetter, type Getter } from "./attribute_getter.ts";
import { isSame, order, requireKey } from "../values/compare.ts";
import { PythonTypeError, PythonValueError } from "../jinja_errors.ts";
import { add } from "../values/operators.ts";
import type { Run } from "../run.ts";
import { isTrue, iterate, iteratorOf, requireSize, toList } from "../values/sequences.ts";
import { charsOf, strOf } from "../values/text.ts";
import { type Filter, filter } from "./text_filters.ts";
import {
  Dict,
  Group,
  isList,
  Lazy,
  Markup,
  Range,
  stringOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from "../values/values.ts";

/** Sorts items by their keys. The sort is stable, also in reverse. */
function sortBy(
  items: readonly Value[],
  key: Getter,
  { reverse, run }: { reverse: boolean; run: Run },
): Value[] {
  const keyed = items.map((item) => ({ item, key: key(item) }));
  run.step(keyed.length * Math.ceil(Math.log2(keyed.length + 2)));
  const sorted = keyed.sort((a, b) => {
    const sign = order(a.key, b.key, "<", run) ?? 0;
    return reverse ? -sign : sign;
  });
  return sorted.map(({ item }) => item);
}

function* unique(value: Value, key: Getter, run: Run): Generator<Value> {
  const seen = new Set<unknown>();
  for (const item of iterate(value)) {
    run.step();
    const normal = requireKey(key(item));
    if (seen.has(normal)) continue;
    seen.add(normal);
    yield item;
  }
}

function extreme(value: Value, key: Getter, { sign, run }: { sign: number; run: Run }): Value {
  let best: { item: Value; key: Value } | undefined;
  for (const item of iterate(value)) {
    run.step();
    const candidate = { item, key: key(item) };
    const isBetter = best === undefined ||
      (order(candidate.key, best.key, sign > 0 ? ">" : "<", run) ?? 0) * sign > 0;
    if (isBetter) best = candidate;
  }
  return best !== undefined
    ? best.item
    : new Undefined("there is no smallest or largest item, as the sequence is empty");
}

function* slices(value: Value, count: number, fill: Value, run: Run): Generator<Value> {
  const items = toList(value, run);
  if (count === 0) throw new PythonValueError("integer modulo by zero");
  const size = Math.floor(items.length / count);
  const larger = items.length - size * count;
  let offset = 0;
  for (let at = 0; at < count; at++) {
    run.step();
    const length = size + (at < larger ? 1 : 0);
    const slice = items.slice(offset, offset + length);
    offset += length;
    yield fill !== null && at >= larger ? [...slice, fill] : slice;
  }
}

function* batches(value: Value, size: Value, fill: Value, run: Run): Generator<Value> {
  let batch: Value[] = [];
  const count = requireIndex(size);
  for (const item of iterate(value)) {
    run.step();
    if (batch.length === count) {
      yield batch;
      batch = [];
    }
    batch.push(item);
  }
  if (batch.length === 0) return;
  const missing = fill === null ? 0 : Math.max(0, count - batch.length);
  run.step(missing);
  yield [...batch, ...new Array<Value>(missing).fill(fill)];
}

function groupBy(
  value: Value,
  [attribute, otherwise, caseSensitive = false]: readonly (Value | undefined)[],
  run: Run,
): Value {
  const isSensitive = isTrue(caseSensitive);
  const key = attributeGetter(attribute as Value, { caseSensitive: isSensitive, otherwise });
  const name = attributeGetter(attribute as Value, { otherwise });
  const groups: { key: Value; items: Value[] }[] = [];
  for (const item of sortBy(toList(value, run), key, { reverse: false, run })) {
    const last = groups.at(-1);
    const itemKey = key(item);
    if (last !== undefined && isSame(last.key, itemKey, run)) last.items.push(item);
    else groups.push({ key: itemKey, items: [item] });
  }
  return groups.map(({ key, items }) => new Group([isSensitive ? key : name(items[0] as Value), items]));
}

/** Applies `+` to the items, from the start value on. */
function sum(value: Value, [attribute = null, start = 0]: readonly (Value | undefined)[], run: Run): Value {
  if (stringOf(start) !== undefined) throw new PythonTypeError("strings must be joined, not summed");
  const get = attributeGetter(attribute);
  let total = start;
  for (const item of iterate(value)) {
    run.step();
    total = add(total, get(item), run);
  }
  return total;
}

function reverse(value: Value, run: Run): Value {
  const text = stringOf(value);
  if (text !== undefined) {
    const reversed = charsOf(text).toReversed().join("");
    return value instanceof Markup ? new Markup(reversed) : reversed;
  }
  const items = toList(value, run).reverse();
  if (isList(value)) return new Lazy(items[Symbol.iterator](), "list_reverseiterator");
  const isReversible = value instanceof Tuple || value instanceof Dict || value instanceof View ||
    value instanceof Range || value instanceof Undefined;
  return isReversible ? new Lazy(items[Symbol.iterator](), "reversed") : items;
}

/** The last item of what Python can reverse. */
function last(value: Value, run: Run): Value {
  if (value instanceof Lazy) throw new PythonTypeError("a generator must not be reversed");
  requireSize(value);
  const items = value instanceof Range ? undefined : toList(value, run);
  const item = value instanceof Range
    ? (value.length > 0 ? value.item(value.length - 1) : undefined)
    : items?.at(-1);
  if (value instanceof Markup && typeof item === "string") return new Markup(item); // the first item is plain
  return item ?? (items !== undefined && items.length > 0 ? null : new Undefined("there is no last item"));
}

function first(value: Value): Value {
  const next = iteratorOf(value).next();
  return next.done ? new Undefined("there is no first item") : next.value;
}

function join(
  value: Value,
  [separator = "", attribute = null]: readonly (Value | undefined)[],
  run: Run,
): string {
  const get = attributeGetter(attribute);
  const between = strOf(separator, run);
  const texts: string[] = [];
  for (const item of iterate(value)) {
    const text = strOf(get(item), run);
    run.step();
    run.grow(text.length + between.length);
    texts.push(text);
  }
  return texts.join(between);
}

function* dictItems(value: Value): Generator<Value> {
  if (value instanceof Undefined) return;
  if (!(value instanceof Dict)) {
    throw new PythonTypeError(`the filter 'items' needs a mapping, not ${typeName(value)}`);
  }
  for (const entry of value.entries()) yield new Tuple(entry);
}

function dictSort(
  value: Value,
  [caseSensitive = false, by = "key", reversed = false]: readonly (Value | undefined)[],
  run: Run,
): Value {
  if (by !== "key" && by !== "value") throw new PythonValueError("'by' must be 'key' or 'value'");
  if (value instanceof Undefined) value.fail();
  if (!(value instanceof Dict)) {
    throw new PythonTypeError(`the filter 'dictsort' needs a mapping, not ${typeName(value)}`);
  }
  const key = attributeGetter(by === "key" ? 0 : 1, { caseSensitive: isTrue(caseSensitive) });
  const items = value.entries().map((entry) => new Tuple(entry));
  return sortBy(items, key, { reverse: isTrue(reversed), run });
}

function sort(
  value: Value,
  [reversed = false, caseSensitive = false, attribute = null]: readonly (Value | undefined)[],
  run: Run,
): Value {
  const path = stringOf(attribute);
  const parts: Value[] = path === undefined ? [attribute] : path.split(",");
  const getters = parts.map((part) => attributeGetter(part, { caseSensitive: isTrue(caseSensitive) }));
  return sortBy(toList(value, run), (item) => getters.map((get) => get(item)), {
    reverse: isTrue(reversed),
    run,
  });
}

const caseAndAttribute = ["case_sensitive", "attribute"];

function keyOf(caseSensitive: Value | undefined, attribute: Value | undefined): Getter {
  return attributeGetter(attribute ?? null, { caseSensitive: isTrue(caseSensitive ?? false) });
}

/** Filters that read sequences or mappings. */
export const SEQUENCE_FILTERS: Readonly<Record<string, Filter>> = {
  batch: filter(
    ["linecount", "fill_with"],
    (value, [size, fill = null], run) => new Lazy(batches(value, size as Value, fill, run)),
    1,
  ),
  count: filter([], (value) => requireSize(value)),
  dictsort: filter(["case_sensitive", "by", "reverse"], dictSort),
  first: filter([], (value) => first(value)),
  groupby: filter(["attribute", "default", "case_sensitive"], groupBy, 1),
  items: filter([], (value) => new Lazy(dictItems(value))),
  join: filter(["d", "attribute"], join),
  last: filter([], (value, _args, run) => last(value, run)),
  length: filter([], (value) => requireSize(value)),
  list: filter([], (value, _args, run) => toList(value, run)),
  max: filter(
    caseAndAttribute,
    (value, [cased, attribute], run) => extreme(value, keyOf(cased, attribute), { sign: 1, run }),
  ),
  min: filter(
    caseAndAttribute,
    (value, [cased, attribute], run) => extreme(value, keyOf(cased, attribute), { sign: -1, run }),
  ),
  reverse: filter([], (value, _args, run) => reverse(value, run)),
  slice: filter(
    ["slices", "fill_with"],
    (value, [count, fill = null], run) => new Lazy(slices(value, requireIndex(count as Value), fill, run)),
    1,
  ),
  sort: filter(["reverse", "case_sensitive", "attribute"], sort),
  sum: filter(["attribute", "start"], sum),
  unique: filter(
    caseAndAttribute,
    (value, [cased, attribute], run) => new Lazy(unique(value, keyOf(cased, attribute), run)),
  ),
};
