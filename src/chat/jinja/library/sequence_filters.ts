import { bindArguments, requireIndex } from "../values/arguments.ts";
import { getItem } from "../values/attributes.ts";
import { isSame, order, requireKey } from "../values/compare.ts";
import { PythonTypeError, PythonValueError } from "../errors.ts";
import { add } from "../values/operators.ts";
import type { Run } from "../run.ts";
import { isTrue, iterate, iteratorOf, requireSize, toList } from "../values/sequences.ts";
import { charsOf, strOf } from "../values/text.ts";
import { type Filter, filter } from "./text_filters.ts";
import type { Test } from "./tests.ts";
import {
  type Args,
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

/** Filters and tests by name, for the filters that call another by its name. */
export interface FilterRegistry {
  readonly filters: ReadonlyMap<string, Filter>;
  readonly tests: ReadonlyMap<string, Test>;
}

type Getter = (item: Value) => Value;

function ignoreCase(value: Value): Value {
  const text = stringOf(value);
  return text === undefined ? value : text.toLowerCase();
}

/** Returns a function that reads an attribute such as `a.b` or `0` of an item, as Jinja2 does. */
function attributeGetter(
  attribute: Value,
  { caseSensitive = true, otherwise }: { caseSensitive?: boolean; otherwise?: Value | undefined } = {},
): Getter {
  const path = stringOf(attribute);
  const parts: Value[] = attribute === null
    ? []
    : path === undefined
    ? [attribute]
    : path.split(".").map((part) => /^\d+$/.test(part) ? Number(part) : part);
  return (item) => {
    let value = item;
    for (const part of parts) {
      value = getItem(value, part);
      if (value instanceof Undefined && otherwise !== undefined && otherwise !== null) value = otherwise;
    }
    return caseSensitive ? value : ignoreCase(value);
  };
}

/** Sorts items by their keys. It is stable, also in reverse. */
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

/** Returns the filters that call another filter or a test for each item. */
export function makeCallingFilters(registry: FilterRegistry): Readonly<Record<string, Filter>> {
  return {
    map: (value, args, run) => new Lazy(mapItems(value, args, { registry, run })),
    select: (value, args, run) =>
      new Lazy(selectItems(value, args, { registry, run, wanted: true, byAttribute: false })),
    reject: (value, args, run) =>
      new Lazy(selectItems(value, args, { registry, run, wanted: false, byAttribute: false })),
    selectattr: (value, args, run) =>
      new Lazy(selectItems(value, args, { registry, run, wanted: true, byAttribute: true })),
    rejectattr: (value, args, run) =>
      new Lazy(selectItems(value, args, { registry, run, wanted: false, byAttribute: true })),
  };
}

function* mapItems(
  value: Value,
  args: Args,
  { registry, run }: { registry: FilterRegistry; run: Run },
): Generator<Value> {
  if (!isTrue(value)) return;
  const apply = mapperOf(args, registry);
  for (const item of iterate(value)) {
    run.step();
    yield apply(item, run);
  }
}

function mapperOf(
  { positional, keywords }: Args,
  { filters }: FilterRegistry,
): (item: Value, run: Run) => Value {
  const attribute = keywords.get("attribute");
  if (positional.length === 0 && attribute !== undefined) {
    const [, otherwise] = bindArguments({ positional: [], keywords }, { names: ["attribute", "default"] });
    return attributeGetter(attribute, { otherwise });
  }
  const [name, ...rest] = positional;
  const apply = filters.get(stringOf(name ?? null) ?? "");
  if (apply === undefined) {
    throw new PythonValueError("the filter 'map' needs the name of a filter, or 'attribute'");
  }
  return (item, run) => apply(item, { positional: rest, keywords }, run);
}

function* selectItems(
  value: Value,
  { positional, keywords }: Args,
  { registry, run, wanted, byAttribute }: {
    registry: FilterRegistry;
    run: Run;
    wanted: boolean;
    byAttribute: boolean;
  },
): Generator<Value> {
  if (!isTrue(value)) return;
  const [attribute, ...others] = byAttribute ? positional : [null, ...positional];
  if (attribute === undefined) throw new PythonValueError("the filter needs the name of an attribute");
  const get = attributeGetter(attribute);
  const [name, ...rest] = others;
  const test = name === undefined ? undefined : registry.tests.get(stringOf(name) ?? "");
  if (name !== undefined && test === undefined) {
    throw new PythonValueError("the filter needs the name of a test");
  }
  for (const item of iterate(value)) {
    run.step();
    const holds = test === undefined
      ? isTrue(get(item))
      : test(get(item), { positional: rest, keywords }, run);
    if (holds === wanted) yield item;
  }
}
