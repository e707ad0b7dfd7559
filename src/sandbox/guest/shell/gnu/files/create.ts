import {
  type CommandFiles,
  errorText,
  type FileStatus,
  type GnuCommand,
  pathOf,
  statusOf,
  UsageError,
} from "../command.ts";
import { parseDate } from "../date.ts";
import { parseOptions } from "../options.ts";
import { zoneOf } from "../time_zone.ts";
import { readMode } from "./mode.ts";
import { Answers, baseName, childOf, fail, folderName, quoted, readTransfer, refuse } from "./operands.ts";
import { relativePath, resolvePath } from "./resolve.ts";

/** `mkdir` of GNU coreutils 9.1. */
export const mkdir: GnuCommand = (args, { files, cwd, print, warn }) => {
  const options = parseOptions(args, "m,mode=:p,parents:v,verbose:Z,context?");
  if (options.operands.length === 0) throw new UsageError("missing operand");
  const text = options.value("m");
  const mode = text === undefined ? undefined : readMode(text);
  if (text !== undefined && !mode) fail(`invalid mode ${quoted(text)}`);
  let failed = false;
  for (const name of options.operands) {
    const shown = name.replace(/(.)\/+$/, "$1");
    const parents = options.has("p") ? prefixesOf(name) : [shown];
    for (const [at, part] of parents.entries()) {
      const path = pathOf(cwd, part);
      const isLast = at === parents.length - 1;
      try {
        if (options.has("p") && statusOf(files, path)?.kind === "directory") continue;
        files.makeDirectory(path);
        if (mode && isLast) files.setMode(path, mode(0o777, { isFolder: true, umask: files.umask() }));
        if (options.has("v")) print(`mkdir: created directory '${part}'\n`);
      } catch (error) {
        const isFile = !isLast && statusOf(files, path) !== undefined;
        warn(`cannot create directory ${quoted(part)}: ${isFile ? "Not a directory" : errorText(error)}`);
        failed = true;
        break;
      }
    }
  }
  return failed ? 1 : 0;
};

/** Returns a path's beginnings, the shortest first. */
function prefixesOf(name: string): string[] {
  const prefixes: string[] = [];
  for (const { index, 0: part } of name.matchAll(/[^/]+/g)) prefixes.push(name.slice(0, index + part.length));
  return prefixes.length > 0 ? prefixes : [name];
}

const NOT_EMPTY = "Directory not empty";

/** Removes an empty folder. Returns what is wrong, if anything is. */
function removeFolder(
  name: string,
  { files, path }: { files: CommandFiles; path: string },
): string | undefined {
  try {
    if (baseName(name) === ".") return "Invalid argument";
    if (files.status(path, { follow: false }).kind !== "directory") return "Not a directory";
    if (files.names(path).length > 0) return NOT_EMPTY;
    files.removeDirectory(path);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/** `rmdir` of GNU coreutils 9.1. */
export const rmdir: GnuCommand = (args, { files, cwd, print, warn }) => {
  const options = parseOptions(args, "p,parents:v,verbose:ignore-fail-on-non-empty");
  if (options.operands.length === 0) throw new UsageError("missing operand");
  let failed = false;
  for (const name of options.operands) {
    const parts = options.has("p") ? prefixesOf(name).reverse() : [name];
    for (const [at, part] of parts.entries()) {
      if (options.has("v")) print(`rmdir: removing directory, '${part}'\n`);
      const reason = removeFolder(part, { files, path: pathOf(cwd, part) });
      if (reason === undefined) continue;
      if (reason !== NOT_EMPTY || !options.has("ignore-fail-on-non-empty")) {
        warn(`failed to remove ${at > 0 ? "directory " : ""}${quoted(part)}: ${reason}`);
        failed = true;
      }
      break;
    }
  }
  return failed ? 1 : 0;
};

/** `touch` of GNU coreutils 9.1. */
export const touch: GnuCommand = (args, context) => {
  const options = parseOptions(args, "a:c,no-create:d,date=:f:h,no-dereference:m:r,reference=:t=:time=");
  const { files, cwd, warn } = context;
  refuse(options, ["h"]);
  if (options.operands.length === 0) throw new UsageError("missing file operand");
  const times = timesOf(options.value("d"), options.value("t"), options.value("r"), context);
  const word = options.value("time");
  const isGiven = (letter: string, words: RegExp) =>
    options.given.some(({ name, value }) => name === letter || name === "time" && words.test(value));
  const [setsAccess, setsChange] = [
    isGiven("a", /^(?:access|atime|use)$/),
    isGiven("m", /^(?:modify|mtime)$/),
  ];
  if (word !== undefined && !/^(?:access|atime|use|modify|mtime)$/.test(word)) {
    throw new UsageError(`invalid argument ${quoted(word)} for '--time'`);
  }
  let failed = false;
  for (const name of options.operands) {
    const path = pathOf(cwd, name);
    try {
      const status = statusOf(files, path);
      if (!status) {
        if (options.has("c")) continue;
        if (name.endsWith("/") || name === "") throw new UsageError("No such file or directory");
        files.write(path, new Uint8Array(0));
      } else if (name.endsWith("/") && status.kind !== "directory") throw new UsageError("Not a directory");
      if (status?.kind === "device") continue;
      files.setTimes(path, {
        ...(setsAccess || !setsChange) && { accessedMs: times.accessedMs },
        ...(setsChange || !setsAccess) && { changedMs: times.changedMs },
      });
    } catch (error) {
      const isUsage = error instanceof UsageError;
      warn(
        `${isUsage ? "setting times of" : "cannot touch"} ${quoted(name)}: ${
          isUsage ? error.message : errorText(error)
        }`,
      );
      failed = true;
    }
  }
  return failed ? 1 : 0;
};

function timesOf(
  date: string | undefined,
  stamp: string | undefined,
  reference: string | undefined,
  context: Parameters<GnuCommand>[1],
): Pick<FileStatus, "accessedMs" | "changedMs"> {
  const zone = zoneOf(context);
  const nowMs = Date.now();
  let times = { accessedMs: nowMs, changedMs: nowMs };
  if (stamp !== undefined && (date !== undefined || reference !== undefined)) {
    throw new UsageError("cannot specify times from more than one source");
  }
  if (reference !== undefined) {
    try {
      const { accessedMs, changedMs } = context.files.status(pathOf(context.cwd, reference));
      times = { accessedMs, changedMs };
    } catch (error) {
      fail(`failed to get attributes of ${quoted(reference)}: ${errorText(error)}`);
    }
  }
  if (date !== undefined) {
    const read = (beforeMs: number) =>
      parseDate(date, beforeMs, zone) ?? fail(`invalid date format ${quoted(date)}`);
    return { accessedMs: read(times.accessedMs), changedMs: read(times.changedMs) };
  }
  if (stamp === undefined) return times;
  const [, century, short, rest = "", second = "00"] =
    /^(?:(\d\d)?(\d\d))?(\d{8})(?:\.(\d\d))?$/.exec(stamp) ?? [];
  const year = short === undefined
    ? String(new Date(nowMs).getUTCFullYear())
    : (century ?? (Number(short) >= 69 ? "19" : "20")) + short;
  const [month, day, hour, minute] = rest.match(/../g) ?? [];
  const timeMs = month === undefined
    ? undefined
    : parseDate(`${year}-${month}-${day} ${hour}:${minute}:${second}`, nowMs, zone);
  const stampMs = timeMs ?? fail(`invalid date format ${quoted(stamp)}`);
  return { accessedMs: stampMs, changedMs: stampMs };
}

const LN_OPTIONS =
  "backup?:b:d,F,directory:f,force:i,interactive:L,logical:n,no-dereference:P,physical:r,relative:" +
  "s,symbolic:S,suffix=:t,target-directory=:T,no-target-directory:v,verbose";

/** `ln` of GNU coreutils 9.1. The file system has no hard links, so that each of them fails. */
export const ln: GnuCommand = (args, context) => {
  const options = parseOptions(args, LN_OPTIONS);
  const { files, cwd, print, warn } = context;
  refuse(options, ["b", "backup", "S"]);
  const isSymbolic = options.has("s");
  if (options.has("r") && !isSymbolic) throw new UsageError("cannot do --relative without --symbolic");
  const isAlone = options.operands.length === 1 && !options.has("t") && !options.has("T");
  const { sources, target, isInto } = isAlone
    ? { sources: options.operands, target: ".", isInto: true }
    : readTransfer(options, context, { followsTarget: !options.has("n") });
  const answers = new Answers(context);
  let failed = false;
  for (const source of sources) {
    const name = isInto ? (isAlone ? baseName(source) : childOf(target, baseName(source))) : target;
    const shown = isAlone ? `./${name}` : name;
    const path = pathOf(cwd, name);
    const kind = isSymbolic ? "symbolic" : "hard";
    const arrow = isSymbolic ? "->" : "=>";
    try {
      if (!isSymbolic) files.status(pathOf(cwd, source));
    } catch (error) {
      warn(`failed to access ${quoted(source)}: ${errorText(error)}`);
      failed = true;
      continue;
    }
    const link = options.has("r")
      ? relativePath(
        resolvePath(context, folderName(name), "missing") ?? pathOf(cwd, folderName(name)),
        resolvePath(context, source, "missing") ?? pathOf(cwd, source),
      )
      : source;
    const old = statusOf(files, path, { follow: false });
    const mayReplace = old &&
      (options.has("f") || options.has("i") && answers.ask(`replace ${quoted(shown)}?`));
    try {
      if (old?.kind === "directory" && mayReplace) {
        warn(`${shown}: cannot overwrite directory`);
        failed = true;
        continue;
      }
      if (mayReplace && isSymbolic) files.removeFile(path);
      if (!isSymbolic) fail("Operation not permitted");
      files.link(decodedTarget(link), path);
      if (options.has("v")) print(`'${shown}' ${arrow} '${link}'\n`);
    } catch (error) {
      const message = error instanceof UsageError ? error.message : errorText(error);
      warn(
        `failed to create ${kind} link ${quoted(shown)}${
          isSymbolic ? "" : ` => ${quoted(source)}`
        }: ${message}`,
      );
      failed = true;
    }
  }
  return failed ? 1 : 0;
};

const utf8 = new TextDecoder();

/** Converts a target to the text that the file system takes. */
function decodedTarget(target: string): string {
  return utf8.decode(Uint8Array.from(target, (sign) => sign.charCodeAt(0)));
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** `mktemp` of GNU coreutils 9.1. */
export const mktemp: GnuCommand = (args, { files, cwd, variables, print, warn }) => {
  const options = parseOptions(args, "d,directory:u,dry-run:q,quiet:suffix=:p=:tmpdir?:t");
  if (options.operands.length > 1) throw new UsageError("too many templates");
  const given = options.operands[0];
  const template = given ?? "tmp.XXXXXXXXXX";
  const suffixOption = options.value("suffix");
  if (suffixOption !== undefined && !template.endsWith("X")) {
    fail(`with --suffix, template ${quoted(template)} must end in X`);
  }
  const [, before = "", xs, after = ""] = /^([^]*?)(X{3,})([^X/]*)$/.exec(template) ?? [];
  if (xs === undefined) fail(`too few X's in template ${quoted(template)}`);
  const named = options.value("p") ?? options.value("tmpdir");
  const temporary = variables["TMPDIR"] || "/tmp";
  const folder = options.has("t")
    ? variables["TMPDIR"] || named || "/tmp"
    : named !== undefined || given === undefined
    ? named || temporary
    : undefined;
  if (folder !== undefined && template.startsWith("/") && given !== undefined) {
    fail(`invalid template, ${quoted(template)}; with --tmpdir, it may not be absolute`);
  }
  const bytes = crypto.getRandomValues(new Uint8Array(xs.length));
  const random = [...bytes].map((value) => LETTERS[value % LETTERS.length]).join("");
  const name = before + random + after + (suffixOption ?? "");
  const shown = folder === undefined ? name : childOf(folder, name);
  const path = pathOf(cwd, shown);
  try {
    if (options.has("u")) print(`${shown}\n`);
    else {
      if (options.has("d")) files.makeDirectory(path);
      else files.write(path, new Uint8Array(0));
      files.setMode(path, options.has("d") ? 0o700 : 0o600);
      print(`${shown}\n`);
    }
    return 0;
  } catch (error) {
    const kind = options.has("d") ? "directory" : "file";
    const pattern = folder === undefined ? template : childOf(folder, template);
    if (!options.has("q")) {
      warn(`failed to create ${kind} via template ${quoted(pattern)}: ${errorText(error)}`);
    }
    return 1;
  }
};
