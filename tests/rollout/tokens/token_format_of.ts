import { pickKnownOptions } from "../../../src/options.ts";
import {
  TOKEN_FORMAT_OPTIONS,
  TokenFormat,
  type TokenFormatOptions,
} from "../../../src/rollout/tokens/token_format.ts";

/** Returns the format of the tokens of an episode, whose options have more. */
export function tokenFormatOf(options: TokenFormatOptions): TokenFormat {
  return new TokenFormat(pickKnownOptions(options, TOKEN_FORMAT_OPTIONS));
}
