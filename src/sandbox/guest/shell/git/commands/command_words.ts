import { pathIn, statusOf, unicodeText, UsageError } from "../../gnu/command.ts";
import { type ParsedOptions, parseOptions, type ParseSettings } from "../../gnu/options.ts";
import { fatal, GitError, refuse } from "../store/git_error.ts";
import type { Repository } from "../store/repository.ts";
import { ambiguousText, findRevision } from "../store/revisions.ts";
import { isPattern } from "../worktree/wildmatch.ts";

/** Exit code of an error in the options. */
const USAGE_CODE = 129;

/** Options of a command, with the words behind `--`. */
export interface CommandOptions extends ParsedOptions {
  /** Words behind `--`. Absent if there is no `--`. */
  readonly paths: readonly string[] | undefined;
  /** All words, as they were given. */
  readonly args: readonly string[];
}

/** Parses the options of a command. Options of a list are refused by name. */
export function commandOptions(
  args: readonly string[],
  definition: string,
  { refused = [], ...settings }: ParseSettings & { refused?: readonly string[] } = {},
): CommandOptions {
  const at = args.indexOf("--");
  const options = parse(at < 0 ? args : args.slice(0, at), definition, settings);
  const found = refused.find((name) => options.has(name));
  if (found !== undefined) refuse(`the option ${found.length === 1 ? `-${found}` : `--${found}`}`);
  return { ...options, paths: at < 0 ? undefined : args.slice(at + 1), args };
}

function parse(args: readonly string[], definition: string, settings: ParseSettings): ParsedOptions {
  try {
    return parseOptions(args, definition, settings);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new GitError(unicodeText(error.message), { kind: "error", exitCode: USAGE_CODE });
  }
}

/** Returns the operands and the words behind `--` in a list. */
export function allWords({ operands, paths }: CommandOptions): string[] {
  return [...operands, ...paths ?? []];
}

/** Gives options the word behind them, which is their value even if it looks like an operand. */
export function withValues(args: readonly string[], names: readonly string[]): string[] {
  const joined: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    const next = args[at + 1];
    const takes = names.includes(word) && next !== undefined && !next.startsWith("-");
    joined.push(takes ? `${word}=${next}` : word);
    if (takes) at++;
  }
  return joined;
}

/** Ends the command with a line about how it is used. */
export function usage(text: string): never {
  throw new GitError(`usage: ${text}`, { kind: "", exitCode: USAGE_CODE });
}

/** Reads a number of an option. */
export function readCount(text: string, option: string): number {
  if (!/^-?\d+$/.test(text)) fatal(`'${text}': not an integer`);
  void option;
  return Number(text);
}

/** Splits words into revisions and paths, which may follow without `--`. */
export function splitRevisions(
  repository: Repository,
  { operands, paths, args }: CommandOptions,
): { revisions: string[]; paths: string[] } {
  if (paths !== undefined) return { revisions: [...operands], paths: [...paths] };
  const revisions: string[] = [];
  for (const [at, word] of operands.entries()) {
    const isFile = existsAsPath(repository, word);
    if (isRevisionWord(repository, word)) {
      if (isFile && !/^\.+$/.test(word)) {
        fatal(
          `ambiguous argument '${word}': both revision and filename\n` +
            "Use '--' to separate paths from revisions, like this:\n'git <command> [<revision>...] -- [<file>...]'",
        );
      }
      revisions.push(word);
      continue;
    }
    const rest = operands.slice(at);
    const late = args.slice(args.lastIndexOf(word)).find((other) => other.startsWith("-") && other !== "-");
    if (late !== undefined) fatal(`option '${late}' must come before non-option arguments`);
    for (const path of rest) {
      if (!existsAsPath(repository, path) && !isPattern(path) && !path.startsWith(":")) {
        fatal(ambiguousText(path));
      }
    }
    return { revisions, paths: rest };
  }
  return { revisions, paths: [] };
}

function existsAsPath({ files, context }: Repository, word: string): boolean {
  return statusOf(files, pathIn(context.cwd, word), { follow: false }) !== undefined;
}

function isRevisionWord(repository: Repository, word: string): boolean {
  const text = word.startsWith("^") ? word.slice(1) : word;
  const [, from, to] = /^(.*?)\.\.\.?(.*)$/s.exec(text) ?? [];
  if (from !== undefined && to !== undefined && from + to !== "") {
    return [from, to].every((part) => part === "" || findRevision(repository, part) !== undefined);
  }
  return text !== "" && findRevision(repository, text) !== undefined;
}

/** Refuses operands that a command does not take. */
export function requireNoOperands(options: CommandOptions, command: string): void {
  const [word] = allWords(options);
  if (word !== undefined) usage(`git ${command}: unexpected argument '${word}'`);
}
