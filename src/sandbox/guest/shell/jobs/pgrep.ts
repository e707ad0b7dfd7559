import {
  type CommandContext,
  type GnuCommand,
  type ProcessEntry,
  unicodeText,
  UsageError,
} from "../gnu/command.ts";
import { type ParsedOptions, parseOptions } from "../gnu/options.ts";
import { compileExpression } from "../gnu/regular_expression.ts";
import { USER } from "../programs/system.ts";
import { nameOf } from "./ps.ts";

const COMMON =
  "f,full:i,ignore-case:n,newest:o,oldest:P,parent=:u,euid=:U,uid=:x,exact:v,inverse:c,count:help";
const LISTING = `${COMMON}:a,list-full:d,delimiter=:l,list-name`;
const SIGNALLING = `${COMMON}:e,echo:signal=`;
const USAGE_CODE = 2;

/** `pgrep` of procps-ng 4.0. */
export const pgrep: GnuCommand = (args, context) => {
  const options = parseOptions(args, LISTING, { exitCode: USAGE_CODE });
  const found = find(options, context);
  if (options.has("c")) context.print(`${found.length}\n`);
  else if (found.length > 0) {
    const words = found.map((entry) => {
      const shown = options.has("a") ? ` ${entry.command}` : options.has("l") ? ` ${nameOf(entry)}` : "";
      return `${entry.pid}${shown}`;
    });
    context.print(`${words.join(options.value("d") ?? "\n")}\n`);
  }
  return found.length > 0 ? 0 : 1;
};

/** `pkill` of procps-ng 4.0, which ends jobs. A shell does not end itself by its name. */
export const pkill: GnuCommand = (args, context) => {
  const [first = "", ...others] = args;
  const signalled = /^-(?:\d+|(?:SIG)?[A-Z]{2,}\d?)$/.exec(first);
  const options = parseOptions(signalled ? others : args, SIGNALLING, { exitCode: USAGE_CODE });
  const signal = (signalled ? first.slice(1) : options.value("signal") ?? "TERM").replace(/^SIG/, "");
  const found = find(options, context);
  if (options.has("c")) context.print(`${found.length}\n`);
  let isSent = false;
  for (const entry of found) {
    if (context.processes.signal(entry.pid, signal)) {
      isSent = true;
      if (options.has("e")) context.print(`${nameOf(entry)} killed (pid ${entry.pid})\n`);
    } else context.warn(`killing pid ${entry.pid} failed: Operation not permitted`);
  }
  return isSent ? 0 : 1;
};

function find(options: ParsedOptions, { processes }: CommandContext): readonly ProcessEntry[] {
  const [pattern, ...more] = options.operands;
  const [parents, users] = [listOf(options, "P"), [...listOf(options, "u"), ...listOf(options, "U")]];
  if (more.length > 0) throw new UsageError("only one pattern can be provided", { exitCode: USAGE_CODE });
  if (pattern === undefined && parents.length === 0 && users.length === 0) {
    throw new UsageError("no matching criteria specified", { exitCode: USAGE_CODE });
  }
  const text = pattern === undefined ? "" : unicodeText(pattern);
  const expression = compileExpression(options.has("x") ? `^(${text})$` : text, "extended", {
    ignoreCase: options.has("i"),
  });
  const matches = (entry: ProcessEntry) =>
    expression.test(options.has("f") ? entry.command : nameOf(entry)) &&
    (parents.length === 0 || parents.includes(String(entry.parentPid))) &&
    (users.length === 0 || users.some((user) => user === USER || user === "0"));
  const found = processes.list().filter((entry) => {
    expression.lastIndex = 0;
    return matches(entry) !== options.has("v");
  });
  if (options.has("n")) return found.slice(-1);
  return options.has("o") ? found.slice(0, 1) : found;
}

function listOf(options: ParsedOptions, name: string): string[] {
  return options.values(name).flatMap((value) => value.split(",")).filter((word) => word !== "");
}
