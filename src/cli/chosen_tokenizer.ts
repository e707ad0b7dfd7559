import { loadTokenizer } from "../chat/load_tokenizer.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { errorMessage } from "../errors.ts";
import { UsageError } from "./usage_error.ts";

/**
 * Loads the tokenizer that was asked for; none where none was.
 *
 * @throws {UsageError} when there is none in the folder, or it is broken.
 */
export async function resolveTokenizer(directory: string | undefined): Promise<Tokenizer | undefined> {
  if (directory === undefined) return undefined;
  try {
    return await loadTokenizer(directory);
  } catch (error) {
    throw new UsageError(errorMessage(error), { cause: error });
  }
}
