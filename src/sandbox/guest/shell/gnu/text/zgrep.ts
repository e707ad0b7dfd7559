import { type CommandContext, type GnuCommand, unicodeText, UsageError } from "../command.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import { GREP_OPTIONS } from "./grep.ts";

/** Options of `grep` that have no meaning for compressed files. */
const REFUSED = ["r", "R", "d", "exclude", "exclude-from", "exclude-dir", "include", "z"];
const [NO_MATCH, TROUBLE] = [1, 2];

/** Makes `zgrep` and its kin: a `grep` of files that may be compressed. */
function searchPacked(command: readonly string[]): GnuCommand {
  return async (args, context) => {
    const options = parseOptions(args, GREP_OPTIONS, { exitCode: TROUBLE });
    const refused = options.given.find(({ name }) => REFUSED.includes(name));
    if (refused) {
      const message = `the option ${wordOf(refused)} is not available in the sandbox`;
      throw new UsageError(message, { exitCode: TROUBLE, hasHint: false });
    }
    const hasPattern = options.has("e") || options.has("f");
    const [pattern, ...rest] = options.operands;
    if (!hasPattern && pattern === undefined) throw new UsageError("usage: zgrep [OPTION] PATTERN [FILE]");
    const files = hasPattern ? options.operands : rest;
    const words = [...command, ...options.given.map(wordOf), ...hasPattern ? [] : ["-e", pattern ?? ""]];
    return await searchEach(files, words, options, context);
  };
}

async function searchEach(
  files: readonly string[],
  words: readonly string[],
  options: ParsedOptions,
  context: CommandContext,
): Promise<number> {
  const showsNames = files.length > 1 && !options.has("h") && !options.has("H");
  let exitCode = NO_MATCH;
  for (const name of files.length > 0 ? files : ["-"]) {
    const source = name === "-" ? ["gzip", "-cdfq"] : ["gzip", "-cdfq", "--", name];
    const { stdout, exitCode: failure } = await context.run(source, {
      stdin: context.stdin,
      isCaptured: true,
    });
    if (failure !== 0) {
      exitCode = TROUBLE;
      continue;
    }
    const label = name === "-" ? [] : [`--label=${name}`, ...showsNames ? ["-H"] : []];
    const found = await context.run([...words, ...label], { stdin: stdout });
    if (found.exitCode === TROUBLE) exitCode = TROUBLE;
    else if (found.exitCode === 0 && exitCode !== TROUBLE) exitCode = 0;
  }
  return exitCode;
}

function wordOf({ name, value }: ParsedOptions["given"][number]): string {
  if (name.length === 1) return `-${name}${value}`;
  return value === "" ? `--${name}` : `--${name}=${unicodeText(value)}`;
}

export const zgrep: GnuCommand = searchPacked(["grep"]);
export const zegrep: GnuCommand = searchPacked(["grep", "-E"]);
export const zfgrep: GnuCommand = searchPacked(["grep", "-F"]);

/** `zless` and `zmore`, which print files that may be compressed, as they do where the output is no terminal. */
const printPacked: GnuCommand = async (args, context) => {
  const { operands } = parseOptions(args, "e:f:i:n:r:s:S:F:R:X:N");
  if (operands.length === 0 && context.stdin === "") return 0;
  const { exitCode } = await context.run(["gzip", "-cdfq", "--", ...operands], { stdin: context.stdin });
  return operands.length === 0 ? 0 : exitCode;
};
export const zless: GnuCommand = printPacked;
export const zmore: GnuCommand = printPacked;
