import { UsageError } from "../cli_errors.ts";
import { readText } from "../input.ts";

/** Options with the tokens of a server. */
export interface TokenFlags {
  token?: string[];
  /** Path of a file with further tokens. */
  tokenFile?: string;
  metricsToken?: string;
  /** Path of a file with the token of the metrics. */
  metricsTokenFile?: string;
}

/** Maximum size of a file of tokens, in bytes. */
const MAX_TOKEN_FILE_BYTES = 64 * 1024;

/**
 * Returns the flags with the tokens of `--token-file` and `--metrics-token-file`.
 *
 * @throws {UsageError} if a file cannot be read or has no token, or the file of the metrics has several.
 */
export async function withTokenFiles<Flags extends TokenFlags>(flags: Flags): Promise<Flags> {
  const { tokenFile, metricsTokenFile, token = [] } = flags;
  const tokens = tokenFile === undefined ? [] : await readTokens(tokenFile);
  const [metricsToken, ...others] = metricsTokenFile === undefined ? [] : await readTokens(metricsTokenFile);
  if (others.length > 0) {
    throw new UsageError(`Cannot read '${metricsTokenFile}' as it must have one token: found several`);
  }
  return {
    ...flags,
    ...(tokens.length > 0 && { token: [...token, ...tokens] }),
    ...(metricsToken !== undefined && { metricsToken }),
  };
}

/** Returns the tokens of a file, a token per line. Empty lines are ignored, and spaces around a token. */
async function readTokens(path: string): Promise<string[]> {
  const text = await readText(path, { maxBytes: MAX_TOKEN_FILE_BYTES });
  const tokens = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  if (tokens.length > 0) return tokens;
  throw new UsageError(`Cannot read tokens of '${path}' as it must have at least one: found none`);
}
