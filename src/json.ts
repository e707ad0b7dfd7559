/**
 * Serializes a value as JSON and replaces each unpaired surrogate with U+FFFD. Models and tools can produce
 * unpaired surrogates; Python's `json` reads them, but Python then cannot encode the string.
 */
export function toWellFormedJson(value: unknown): string {
  // JSON.stringify escapes unpaired surrogates. The first alternative skips escaped backslashes.
  return JSON.stringify(value).replace(
    /\\\\|\\ud[89a-f][\da-f]{2}/g,
    (escape) => escape.length > 2 ? "\ufffd" : escape,
  );
}

/**
 * Returns a deeply frozen copy of data: arrays and plain objects are copied and frozen, other values are
 * kept. Data may be nested to any depth and may contain cycles.
 */
export function toFrozenCopy<Data>(data: Data): Data {
  const copies = new Map<object, Record<string, unknown>>();
  const copyOf = (value: unknown): unknown => {
    if (!isArrayOrPlainObject(value)) return value;
    const copy = copies.get(value) ?? (Array.isArray(value) ? Object([]) : {});
    copies.set(value, copy);
    return copy;
  };
  const result = copyOf(data);
  for (const [original, copy] of copies) {
    for (const [key, value] of Object.entries(original)) {
      // Assigning `__proto__` would set the prototype; defining every key this way would be slow.
      if (key === "__proto__") Object.defineProperty(copy, key, { value: copyOf(value), enumerable: true });
      else copy[key] = copyOf(value);
    }
    Object.freeze(copy);
  }
  return result as Data;
}

function isArrayOrPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
