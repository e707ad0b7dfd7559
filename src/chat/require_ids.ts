import type { Tokenizer } from "./tokenizer.ts";

/**
 * Refuses sampled ids that mean nothing to the tokenizer; `key` is where they stand, for messages.
 *
 * @throws {TypeError} when they are no list of ids of the tokenizer, with the first that is none.
 */
export function requireIds(ids: readonly number[], tokenizer: Tokenizer, key: string): void {
  const wanted = `Cannot take '${key}' as it must be a list of ids of tokenizer '${tokenizer.name}'`;
  if (!Array.isArray(ids)) throw new TypeError(`${wanted}: current value is ${JSON.stringify(ids)}`);
  const at = ids.findIndex((id) => !Number.isInteger(id) || id < 0 || tokenizer.has?.(id) === false);
  if (at !== -1) throw new TypeError(`${wanted}: id ${at} is ${JSON.stringify(ids[at])}`);
}
