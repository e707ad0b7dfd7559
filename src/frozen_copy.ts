/**
 * A copy of data that nobody can change, however deep: its lists and plain objects are copied and frozen, all else
 * is kept as it is. Data may be as deep as it likes, and hold itself.
 */
export function frozenCopy<Data>(data: Data): Data {
  const copies = new Map<object, Record<string, unknown>>();
  const copied = (value: unknown): unknown => {
    if (!isCopied(value)) return value;
    const copy = copies.get(value) ?? (Array.isArray(value) ? Object([]) : {});
    copies.set(value, copy);
    return copy;
  };
  const whole = copied(data);
  for (const [original, copy] of copies) {
    for (const [key, value] of Object.entries(original)) {
      // to set it would be to change what the copy is, and to define all keys is slow
      if (key === "__proto__") Object.defineProperty(copy, key, { value: copied(value), enumerable: true });
      else copy[key] = copied(value);
    }
    Object.freeze(copy);
  }
  return whole as Data;
}

function isCopied(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
