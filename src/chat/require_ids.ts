import { ArgumentTypeError } from "../errors.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Checks that sampled ids are ids of the tokenizer. `key` names them in the error message.
 *
 * @throws {TypeError} if they are not a list of the tokenizer's ids; the message names the first invalid one.
 */
export function requireTokenIds(ids: readonly number[], tokenizer: Tokenizer, key: string): void {
  const requirement = `Cannot take '${key}' as it must be a list of ids of tokenizer '${tokenizer.name}'`;
  if (!Array.isArray(ids)) {
    throw new ArgumentTypeError(`${requirement}: current value is ${JSON.stringify(ids)}`);
  }
  const index = ids.findIndex((id) => !Number.isInteger(id) || id < 0 || tokenizer.has?.(id) === false);
  if (index !== -1) {
    throw new ArgumentTypeError(`${requirement}: id ${index} is ${JSON.stringify(ids[index])}`);
  }
}
