import { getItem } from "../values/attributes.ts";
import { stringOf, Undefined, type Value } from "../values/values.ts";

/** Reads something of an item. */
export type Getter = (item: Value) => Value;

function ignoreCase(value: Value): Value {
  const text = stringOf(value);
  return text === undefined ? value : text.toLowerCase();
}

/** Returns a function that reads an attribute such as `a.b` or `0` of an item, as Jinja2 does. */
export function attributeGetter(
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
