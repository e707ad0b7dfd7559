import {
  type CommandContext,
  errorText,
  type GnuCommand,
  pathOf,
  textOf,
  unicodeText,
  UsageError,
} from "./command.ts";
import { type ParsedOptions, parseOptions } from "./options.ts";

const OPTIONS =
  "0,null:a,arg-file=:d,delimiter=:E=:e,eof?:I=:i,replace?:L=:l,max-lines?:n,max-args=:P,max-procs=:" +
  "p,interactive:r,no-run-if-empty:s,max-chars=:t,verbose:x,exit";
/** Characters of a command line, as on Linux. */
const MAX_CHARACTERS = 131_072;
const FAILED = 123;
const STOPPED = 124;

/** `xargs` of GNU findutils 4.9. Commands run in turn, whatever `-P` says. */
export const xargs: GnuCommand = async (args, context) => {
  const options = parseOptions(args, OPTIONS, { stopsAtOperand: true });
  const command = options.operands.length > 0 ? options.operands : ["echo"];
  const input = readInput(options, context);
  const separator = options.has("0")
    ? "\0"
    : options.has("d")
    ? delimiterOf(options.value("d") ?? "")
    : undefined;
  for (const name of ["L", "n"]) numberOf(options, name);
  const { name: batching, value = "" } = batchOption(options, context) ?? {};
  const replaced = batching === "I" ? value : batching === "i" ? value || "{}" : undefined;
  const lines = batching === "L" || batching === "l" ? Number(value || 1) : undefined;
  const groups = separator === undefined
    ? splitQuoted(input, { byLines: replaced !== undefined })
    : splitAt(input, separator).map((word) => [word]);
  const limit = endOf(groups, options.value("E") ?? options.value("e"));
  const batches = replaced !== undefined
    ? limit.flatMap((group) => group.length > 0 ? [group] : [])
    : lines !== undefined
    ? batchLines(limit, lines)
    : batchWords(limit.flat(), {
      count: batching === "n" ? Number(value) : Infinity,
      characters: Math.min(numberOf(options, "s") ?? MAX_CHARACTERS, MAX_CHARACTERS) -
        command.reduce((sum, word) => sum + word.length + 1, 0),
    });
  if (batches.length === 0 && !options.has("r") && replaced === undefined) batches.push([]);
  let exitCode = 0;
  for (const batch of batches) {
    const words = replaced === undefined
      ? [...command, ...batch]
      : [command[0] ?? "", ...command.slice(1).map((word) => word.replaceAll(replaced, batch.join(" ")))];
    if (options.has("t")) context.warn(words.join(" "));
    const result = await context.run(words, options.has("a") ? { stdin: context.stdin } : {});
    if (result.exitCode === 255) {
      context.warn(`${unicodeText(command[0] ?? "")}: exited with status 255; aborting`);
      return STOPPED;
    }
    if (result.wasNotRun) return result.exitCode;
    if (result.exitCode !== 0) exitCode = FAILED;
  }
  return exitCode;
};

/** Options of which the last counts, with their names in the warning. */
const EXCLUSIVE: Readonly<Record<string, readonly [earlier: string, later: string]>> = {
  I: ["replace", "--replace/-I/-i"],
  i: ["replace", "--replace/-I/-i"],
  L: ["max-lines", "-L"],
  l: ["max-lines", "--max-lines/-l"],
  n: ["max-args", "--max-args/-n"],
};

/** Returns the option that says how the input is split, and warns of earlier ones. */
function batchOption(
  { given }: ParsedOptions,
  { warn }: CommandContext,
): ParsedOptions["given"][number] | undefined {
  let chosen: ParsedOptions["given"][number] | undefined;
  for (const option of given) {
    const [, later] = EXCLUSIVE[option.name] ?? [];
    if (later === undefined) continue;
    const [earlier] = EXCLUSIVE[chosen?.name ?? ""] ?? [];
    if (earlier === "replace" && option.name === "n" && option.value === "1") continue;
    if (earlier !== undefined && earlier !== EXCLUSIVE[option.name]?.[0]) {
      const names = `options --${earlier} and ${later}`;
      warn(`warning: ${names} are mutually exclusive, ignoring previous --${earlier} value`);
    }
    chosen = option;
  }
  return chosen;
}

function readInput(options: ParsedOptions, context: CommandContext): string {
  const name = options.value("a");
  if (name === undefined) return context.stdin;
  const { files, cwd } = context;
  try {
    return textOf(files.read(pathOf(cwd, name)));
  } catch (error) {
    throw new UsageError(`Cannot open input file ‘${unicodeText(name)}’: ${errorText(error)}`, {
      hasHint: false,
    });
  }
}

function numberOf(options: ParsedOptions, name: string): number | undefined {
  const text = options.value(name);
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) {
    throw new UsageError(`invalid number "${unicodeText(text)}" for -${name} option`, { hasHint: false });
  }
  if (Number(text) === 0 && name !== "P") {
    throw new UsageError(`value ${text} for -${name} option should be >= 1`, { hasHint: false });
  }
  return Number(text);
}

function delimiterOf(text: string): string {
  const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", "0": "\0", r: "\r", "\\": "\\" };
  if (text.startsWith("\\") && text.length > 1) return escapes[text.charAt(1)] ?? text.charAt(1);
  if (text.length > 1) {
    throw new UsageError(
      `Invalid input delimiter specification ${unicodeText(text)}: the delimiter must be either a ` +
        "single character or an escape sequence starting with \\.",
      { hasHint: false },
    );
  }
  return text;
}

function splitAt(input: string, separator: string): string[] {
  const words = input.split(separator);
  if (words.at(-1) === "") words.pop();
  return words;
}

/** Splits words at blanks, where quotes and backslashes protect them. Returns the words of each line. */
function splitQuoted(input: string, { byLines }: { byLines: boolean }): string[][] {
  const groups: string[][] = [];
  for (let at = 0; at < input.length;) {
    const words: string[] = [];
    let word: string | undefined;
    for (; at < input.length; at++) {
      const sign = input.charAt(at);
      if (sign === "\n") {
        at++;
        if (
          !/[ \t]\n$/.test(input.slice(at - 2, at)) || byLines || word === undefined && words.length === 0
        ) break;
        if (word !== undefined) words.push(word);
        word = undefined;
        at--;
        continue; // a blank at the end joins the next line, for -L
      }
      if (sign === "'" || sign === '"') {
        const end = input.indexOf(sign, at + 1);
        const line = input.indexOf("\n", at + 1);
        if (end < 0 || (line >= 0 && line < end)) {
          const kind = sign === '"' ? "double" : "single";
          throw new UsageError(
            `unmatched ${kind} quote; by default quotes are special to xargs unless you use the -0 option`,
            {
              hasHint: false,
            },
          );
        }
        word = (word ?? "") + input.slice(at + 1, end);
        at = end;
      } else if (sign === "\\") word = (word ?? "") + input.charAt(++at);
      else if ((sign === " " || sign === "\t") && !(byLines && word !== undefined)) {
        if (word !== undefined) words.push(word);
        word = undefined;
      } else word = (word ?? "") + sign;
    }
    if (word !== undefined) words.push(word);
    groups.push(words);
  }
  return groups.filter((words) => words.length > 0);
}

/** Ends the input at a word that stands for its end. */
function endOf(groups: string[][], end: string | undefined): string[][] {
  if (!end) return groups;
  const kept: string[][] = [];
  for (const group of groups) {
    const at = group.indexOf(end);
    kept.push(at < 0 ? group : group.slice(0, at));
    if (at >= 0) break;
  }
  return kept;
}

function batchLines(groups: readonly string[][], lines: number): string[][] {
  const batches: string[][] = [];
  for (let at = 0; at < groups.length; at += lines) batches.push(groups.slice(at, at + lines).flat());
  return batches;
}

function batchWords(
  words: readonly string[],
  { count, characters }: { count: number; characters: number },
): string[][] {
  const batches: string[][] = [];
  let batch: string[] = [];
  let used = 0;
  for (const word of words) {
    if (batch.length > 0 && (batch.length >= count || used + word.length + 1 > characters)) {
      batches.push(batch);
      batch = [];
      used = 0;
    }
    batch.push(word);
    used += word.length + 1;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
