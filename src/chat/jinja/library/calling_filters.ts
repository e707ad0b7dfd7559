import { bindArguments } from "../values/arguments.ts";
import { PythonValueError } from "../jinja_errors.ts";
import type { Run } from "../run.ts";
import { isTrue, iterate } from "../values/sequences.ts";
import { type Args, Lazy, stringOf, type Value } from "../values/values.ts";
import { attributeGetter } from "./attribute_getter.ts";
import type { Test } from "./tests.ts";
import type { Filter } from "./text_filters.ts";

/** Filters and tests by name, for filters that call another filter by name. */
export interface FilterRegistry {
  readonly filters: ReadonlyMap<string, Filter>;
  readonly tests: ReadonlyMap<string, Test>;
}

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
