import {
  bytesOf,
  type CommandContext,
  errorText,
  type GnuCommand,
  linesOf,
  pathOf,
  textOf,
  UsageError,
} from "../command.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import { md5 } from "./md5.ts";

const OPTIONS = "b,binary:c,check:t,text:z,zero:ignore-missing:quiet:status:strict:tag:w,warn";

interface Algorithm {
  readonly name: string;
  readonly hexDigits: number;
  readonly digest: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;
}

const sha = (bits: number): Algorithm => ({
  name: `SHA${bits}`,
  hexDigits: bits === 1 ? 40 : bits / 4,
  digest: async (bytes) => new Uint8Array(await crypto.subtle.digest(`SHA-${bits}`, bytes)),
});

/** `md5sum` of GNU coreutils 9.1. */
export const md5sum: GnuCommand = digestCommand({ name: "MD5", hexDigits: 32, digest: md5 });
/** `sha1sum`, `sha256sum`, `sha384sum` and `sha512sum` of GNU coreutils 9.1. */
export const sha1sum: GnuCommand = digestCommand(sha(1));
export const sha256sum: GnuCommand = digestCommand(sha(256));
export const sha384sum: GnuCommand = digestCommand(sha(384));
export const sha512sum: GnuCommand = digestCommand(sha(512));

function digestCommand(algorithm: Algorithm): GnuCommand {
  return async (args, context) => {
    const options = parseOptions(args, OPTIONS);
    const names = options.operands.length > 0 ? options.operands : ["-"];
    if (options.has("c")) return await checkFiles(names, algorithm, { options, context });
    for (const name of ["ignore-missing", "quiet", "status", "strict", "w"]) {
      if (!options.has(name)) continue;
      const shown = name === "w" ? "warn" : name;
      throw new UsageError(`the --${shown} option is meaningful only when verifying checksums`);
    }
    let exitCode = 0;
    for (const name of names) {
      const hash = await hashOf(name, algorithm, context);
      if (hash === undefined) exitCode = 1;
      else context.print(lineOf(name, hash, { algorithm, options }));
    }
    return exitCode;
  };
}

async function hashOf(
  name: string,
  { digest }: Algorithm,
  context: CommandContext,
): Promise<string | undefined> {
  context.poll();
  try {
    const bytes = name === "-" ? bytesOf(context.stdin) : context.files.read(pathOf(context.cwd, name));
    return (await digest(Uint8Array.from(bytes))).toHex();
  } catch (error) {
    context.warn(`${name}: ${errorText(error)}`);
    return undefined;
  }
}

function lineOf(
  name: string,
  hash: string,
  { algorithm, options }: { readonly algorithm: Algorithm; readonly options: ParsedOptions },
): string {
  const escaped = options.has("z") ? name : escapeName(name);
  const mark = escaped === name ? "" : "\\";
  const end = options.has("z") ? "\0" : "\n";
  if (options.has("tag")) return `${mark}${algorithm.name} (${escaped}) = ${hash}${end}`;
  return `${mark}${hash} ${options.has("b") && !options.has("t") ? "*" : " "}${escaped}${end}`;
}

function escapeName(name: string): string {
  return name.replace(/[\\\n\r]/g, (sign) => sign === "\n" ? "\\n" : sign === "\r" ? "\\r" : "\\\\");
}

interface CheckParts {
  readonly options: ParsedOptions;
  readonly context: CommandContext;
}

async function checkFiles(
  names: readonly string[],
  algorithm: Algorithm,
  parts: CheckParts,
): Promise<number> {
  let exitCode = 0;
  for (const name of names) if (!await checkList(name, algorithm, parts)) exitCode = 1;
  return exitCode;
}

/** Checks the files of a list. Returns whether all of them are as listed. */
async function checkList(
  list: string,
  algorithm: Algorithm,
  { options, context }: CheckParts,
): Promise<boolean> {
  let text: string;
  try {
    text = list === "-" ? context.stdin : textOf(context.files.read(pathOf(context.cwd, list)));
  } catch (error) {
    context.warn(`${list}: ${errorText(error)}`);
    return false;
  }
  const counts = { good: 0, bad: 0, unreadable: 0, malformed: 0 };
  const isQuiet = options.has("quiet") || options.has("status");
  for (const [at, line] of linesOf(text).entries()) {
    const entry = parseLine(line.replace(/\n$/, ""), algorithm);
    if (!entry) {
      counts.malformed++;
      if (options.has("w")) {
        context.warn(`${list}: ${at + 1}: improperly formatted ${algorithm.name} checksum line`);
      }
      continue;
    }
    const isMissing = options.has("ignore-missing") && !isPresent(entry.name, context);
    if (isMissing) continue;
    const hash = await hashOf(entry.name, algorithm, context);
    const result = hash === undefined ? "unreadable" : hash === entry.hash ? "good" : "bad";
    counts[result]++;
    if (result === "good" ? isQuiet : options.has("status")) continue;
    const word = result === "good" ? "OK" : result === "bad" ? "FAILED" : "FAILED open or read";
    context.print(`${entry.name}: ${word}\n`);
  }
  return report(list, counts, { algorithm, options, context });
}

function report(
  list: string,
  { good, bad, unreadable, malformed }: Readonly<Record<"good" | "bad" | "unreadable" | "malformed", number>>,
  { options, context }: CheckParts & { readonly algorithm: Algorithm },
): boolean {
  const shown = list === "-" ? "standard input" : list;
  if (good + bad + unreadable === 0) {
    context.warn(
      malformed > 0 || !options.has("ignore-missing")
        ? `${shown}: no properly formatted checksum lines found`
        : `${shown}: no file was verified`,
    );
    return false;
  }
  if (!options.has("status")) {
    const warn = (count: number, one: string, many: string) => {
      if (count > 0) context.warn(`WARNING: ${count} ${count === 1 ? one : many}`);
    };
    warn(malformed, "line is improperly formatted", "lines are improperly formatted");
    warn(unreadable, "listed file could not be read", "listed files could not be read");
    warn(bad, "computed checksum did NOT match", "computed checksums did NOT match");
  }
  return bad + unreadable === 0 && !(options.has("strict") && malformed > 0);
}

function parseLine(line: string, algorithm: Algorithm): { name: string; hash: string } | undefined {
  const [, mark, plainHash, plainName] = /^(\\?)([0-9a-fA-F]+) [ *](.+)$/s.exec(line) ?? [];
  const [, tagMark, tag, tagName, tagHash] = /^(\\?)([A-Z0-9]+) ?\((.+)\) ?= ?([0-9a-fA-F]+)$/s.exec(line) ??
    [];
  const [name, hash] = plainName === undefined ? [tagName, tagHash] : [plainName, plainHash];
  if (name === undefined || hash?.length !== algorithm.hexDigits) return undefined;
  if (plainName === undefined && tag !== algorithm.name) return undefined;
  const isEscaped = (mark ?? tagMark) === "\\";
  const unescaped = name.replace(
    /\\([nr\\])/g,
    (_, sign) => sign === "n" ? "\n" : sign === "r" ? "\r" : "\\",
  );
  return { name: isEscaped ? unescaped : name, hash: hash.toLowerCase() };
}

function isPresent(name: string, { files, cwd }: CommandContext): boolean {
  try {
    files.status(pathOf(cwd, name));
    return true;
  } catch {
    return false; // the file is missing, as `--ignore-missing` allows
  }
}
