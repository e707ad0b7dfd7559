import type { Tokenizer } from "../../chat/tokenizer.ts";
import { TokenError } from "../../errors.ts";

/** First difference between a server's prompt and the recorded prompt. */
export interface PromptDifference {
  /** Position of the first token that differs, from 0. */
  readonly position: number;
  /** Recorded id; left out if the record ends earlier. */
  readonly recordedId?: number;
  /** The server's id; left out if the server's prompt ends earlier. */
  readonly serverId?: number;
  /** Text of the recorded tokens around the position. */
  readonly recordedText: string;
  /** Text of the server's tokens around the position. */
  readonly serverText: string;
}

/** The error of a server whose prompt differs from the recorded prompt. */
export class PromptDifferenceError extends TokenError {
  readonly difference: PromptDifference;

  constructor(difference: PromptDifference) {
    const { position, recordedId, serverId, recordedText, serverText } = difference;
    super(
      `Cannot use reply as its server must get the recorded prompt: token ${position} is ` +
        `${recordedId ?? "missing"} in the record and ${serverId ?? "missing"} at the server, near ` +
        `${JSON.stringify(recordedText)} and ${JSON.stringify(serverText)}`,
    );
    this.difference = difference;
  }

  override get name(): string {
    return TokenError.name;
  }
}

/** Number of tokens before and after the position whose text is shown. */
const TOKENS_AROUND = 6;

/** Returns the first difference between the ids that a server reports for a prompt and the recorded ids, if any. */
function findPromptDifference(
  { server, recorded }: { server: readonly number[]; recorded: readonly number[] },
  tokenizer?: Tokenizer,
): PromptDifference | undefined {
  const length = Math.max(server.length, recorded.length);
  let position = 0;
  while (position < length && server[position] === recorded[position]) position++;
  if (position === length) return undefined;
  const textOf = (ids: readonly number[]) => textAround(ids, position, tokenizer);
  const [recordedId, serverId] = [recorded[position], server[position]];
  return {
    position,
    ...(recordedId !== undefined && { recordedId }),
    ...(serverId !== undefined && { serverId }),
    recordedText: textOf(recorded),
    serverText: textOf(server),
  };
}

/** Returns the text of the tokens around a position. Ids that have no text stand for themselves. */
export function textAround(
  ids: readonly number[],
  position: number,
  tokenizer: Tokenizer | undefined,
): string {
  const around = ids.slice(Math.max(0, position - TOKENS_AROUND), position + TOKENS_AROUND + 1);
  try {
    return tokenizer?.decode(around) ?? around.join(" ");
  } catch { // the server's tokenizer has ids that this tokenizer does not know
    return around.join(" ");
  }
}

/**
 * Checks that a server got the recorded prompt.
 *
 * @throws {PromptDifferenceError} that names the first position that differs.
 */
export function requireSamePrompt(
  prompts: { server: readonly number[]; recorded: readonly number[] },
  tokenizer?: Tokenizer,
): void {
  const difference = findPromptDifference(prompts, tokenizer);
  if (difference !== undefined) throw new PromptDifferenceError(difference);
}
