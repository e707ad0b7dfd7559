/** State of a shell as JSON. Maps, sets and numbers that JSON does not have are tagged. */
export type ShellImage = null | boolean | number | string | ShellImageList;

/** A tag, and parts. */
interface ShellImageList extends ReadonlyArray<ShellImage> {}

/** Encodes state as JSON. Throws if it has something that is no data. */
export function encodeState(value: unknown): ShellImage {
  if (value === undefined) return ["undefined"];
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : ["number", String(value)];
  if (Array.isArray(value)) return ["list", ...value.map(encodeState)];
  if (value instanceof Set) return ["set", ...[...value].map(encodeState)];
  if (value instanceof Map) return ["map", ...[...value].flat(1).map(encodeState)];
  const prototype = typeof value === "object" ? Object.getPrototypeOf(value) : undefined;
  if (prototype !== Object.prototype && prototype !== null) {
    throw new Error(`Cannot make checkpoint as the shell's state must be data: found a ${typeof value}`);
  }
  return ["object", ...Object.entries(value).map(([key, part]) => [key, encodeState(part)] as const)];
}

/** Decodes state. */
export function decodeState(image: ShellImage): unknown {
  if (typeof image !== "object" || image === null) return image;
  const [kind, ...parts] = image;
  if (kind === "undefined") return undefined;
  if (kind === "object") {
    const entries = parts as unknown as (readonly [string, ShellImage])[];
    return Object.fromEntries(entries.map(([key, part]) => [key, decodeState(part)]));
  }
  if (kind === "number") return Number(parts[0]);
  const values = parts.map(decodeState);
  if (kind === "list") return values;
  if (kind === "set") return new Set(values);
  return new Map(values.flatMap((value, index) => index % 2 === 0 ? [[value, values[index + 1]]] : []));
}
