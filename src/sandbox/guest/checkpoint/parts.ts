/** Checks of the values in a checkpoint, from which a session gets what is not in its heap. */

const MAX_ITEMS = 1_000_000;
const MAX_NAME_CHARACTERS = 4096;

/** Returns a list. Throws if the value is none, or has another length. */
export function requireItems(value: unknown, length?: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length > MAX_ITEMS || length !== undefined && value.length !== length) {
    throw new Error(`Cannot restore checkpoint as it must have a list: found ${typeof value}`);
  }
  return value;
}

/** Returns an integer from 0 to `max`. Throws if the value is none. */
export function requireCount(value: unknown, max: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0 || value > max) {
    throw new Error(`Cannot restore checkpoint as a number must be from 0 to ${max}: found ${value}`);
  }
  return value;
}

/** Throws if a value is no valid time in milliseconds. Emscripten crashes on an invalid value. */
export function requireTime(value: unknown): void {
  if (typeof value === "number" && !Number.isNaN(new Date(value).getTime())) return;
  throw new Error(`Cannot restore checkpoint as a time must be valid: found ${value}`);
}

/** Returns text of at most `max` characters. Throws if the value is none. */
export function requireText(value: unknown, max: number): string {
  if (typeof value !== "string" || value.length > max || value.includes("\0")) {
    throw new Error(`Cannot restore checkpoint as text must have at most ${max} characters and no zero`);
  }
  return value;
}

/** Throws if a value is not the name of a file in its folder. */
export function requireName(value: unknown): void {
  const name = requireText(value, MAX_NAME_CHARACTERS);
  if (name !== "" && name !== "." && name !== ".." && !name.includes("/")) return;
  throw new Error(`Cannot restore checkpoint as a file's name must have one part: found '${name}'`);
}
