import { type CommandContext, type GnuCommand, pathOf, statusOf, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";
import { baseName, fail, folderName, quoted } from "./operands.ts";

/** Which parts of a path may be missing: none, the last part, or all. */
export type Missing = "nothing" | "last" | "missing";

const MAX_LINKS = 40;

/** Returns a path without links and dots; `undefined` if a part is missing that must exist. */
export function resolvePath(
  { files, cwd }: Pick<CommandContext, "files" | "cwd">,
  name: string,
  missing: Missing,
): string | undefined {
  if (name === "") return undefined;
  const start = name.startsWith("/") ? name : `${encoded(cwd)}/${name}`;
  const pending = start.split("/").filter((part) => part !== "" && part !== ".");
  let isFolderWanted = name.endsWith("/");
  let at = "";
  let links = 0;
  while (pending.length > 0) {
    const part = pending.shift() ?? "";
    if (part === "..") {
      at = at.slice(0, Math.max(0, at.lastIndexOf("/")));
      continue;
    }
    const next = `${at}/${part}`;
    const path = pathOf("/", next);
    const status = statusOf(files, path, { follow: false });
    const isLast = pending.length === 0;
    if (!status) {
      if (missing === "nothing" || missing === "last" && !isLast) return undefined;
      at = next;
      continue;
    }
    if (status.kind !== "link") {
      if (status.kind !== "directory" && (!isLast || isFolderWanted) && missing !== "missing") {
        return undefined;
      }
      at = next;
      continue;
    }
    if (++links > MAX_LINKS) {
      if (missing !== "missing") return undefined;
      at = next;
      continue;
    }
    const target = files.target(path);
    if (isLast && target.endsWith("/")) isFolderWanted = true;
    if (target.startsWith("/")) at = "";
    pending.unshift(...target.split("/").filter((word) => word !== "" && word !== "."));
  }
  return at || "/";
}

function encoded(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** Returns the path from a folder to a file. Both are absolute. */
export function relativePath(folder: string, path: string): string {
  const from = folder.split("/").filter((part) => part !== "");
  const to = path.split("/").filter((part) => part !== "");
  let shared = 0;
  while (shared < from.length && shared < to.length && from[shared] === to[shared]) shared++;
  const steps = [...from.slice(shared).map(() => ".."), ...to.slice(shared)];
  return steps.join("/") || ".";
}

/** `readlink` of GNU coreutils 9.1. */
export const readlink: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "f,canonicalize:e,canonicalize-existing:m,canonicalize-missing:n,no-newline:q,quiet:s,silent:v,verbose:z,zero",
  );
  const { files, cwd, print, warn } = context;
  if (options.operands.length === 0) throw new UsageError("missing operand");
  const mode = options.given.findLast(({ name }) => /^[fem]$/.test(name))?.name;
  const isBare = options.has("n") && options.operands.length === 1;
  let failed = false;
  for (const name of options.operands) {
    const path = pathOf(cwd, name);
    let target: string | undefined;
    if (mode === undefined) {
      const status = name === "" ? undefined : statusOf(files, path, { follow: false });
      target = status?.kind === "link" && !name.endsWith("/") ? files.target(path) : undefined;
      if (target === undefined && options.has("v")) {
        warn(`${quoted(name).slice(1, -1)}: ${status ? "Invalid argument" : "No such file or directory"}`);
      }
    } else {
      target = resolvePath(context, name, mode === "f" ? "last" : mode === "e" ? "nothing" : "missing");
      if (target === undefined && options.has("v")) {
        warn(`${quoted(name).slice(1, -1)}: No such file or directory`);
      }
    }
    if (target === undefined) failed = true;
    else print(target + (isBare ? "" : options.has("z") ? "\0" : "\n"));
  }
  return failed ? 1 : 0;
};

/** `realpath` of GNU coreutils 9.1. */
export const realpath: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "e,canonicalize-existing:m,canonicalize-missing:L,logical:P,physical:q,quiet:relative-to=:relative-base=:" +
      "s,strip,no-symlinks:z,zero",
  );
  const { files, cwd, print, warn } = context;
  if (options.operands.length === 0) throw new UsageError("missing operand");
  const mode: Missing = options.has("e") ? "nothing" : options.has("m") ? "missing" : "last";
  const resolve = (name: string): string | undefined => {
    if (!options.has("s")) return resolvePath(context, name, mode);
    if (name === "") return undefined;
    const path = encoded(pathOf(cwd, name));
    const needed = mode === "nothing" ? pathOf(cwd, name) : pathOf(cwd, folderName(name));
    return mode === "missing" || statusOf(files, needed) ? path : undefined;
  };
  const folderOf = (option: string) => {
    const name = options.value(option);
    if (name === undefined) return undefined;
    return resolve(name) ?? fail(`${name}: No such file or directory`);
  };
  const base = folderOf("relative-base");
  const from = folderOf("relative-to") ?? base;
  const isBelow = (path: string, folder: string) =>
    folder === "/" || path === folder || path.startsWith(`${folder}/`);
  let failed = false;
  for (const name of options.operands) {
    const path = resolve(name);
    if (path === undefined) {
      if (!options.has("q")) {
        const isFile = statusOf(files, pathOf(cwd, folderName(name)))?.kind === "file";
        warn(`${quoted(name).slice(1, -1)}: ${isFile ? "Not a directory" : "No such file or directory"}`);
      }
      failed = true;
      continue;
    }
    const isRelative = from !== undefined &&
      (base === undefined || isBelow(path, base) && isBelow(from, base));
    print((isRelative ? relativePath(from, path) : path) + (options.has("z") ? "\0" : "\n"));
  }
  return failed ? 1 : 0;
};

/** `basename` of GNU coreutils 9.1. */
export const basename: GnuCommand = (args, { print }) => {
  const options = parseOptions(args, "a,multiple:s,suffix=:z,zero", { stopsAtOperand: true });
  const [first, second, third] = options.operands;
  if (first === undefined) throw new UsageError("missing operand");
  const isMultiple = options.has("a") || options.has("s");
  if (!isMultiple && third !== undefined) throw new UsageError(`extra operand ${quoted(third)}`);
  const suffix = isMultiple ? options.value("s") ?? "" : second ?? "";
  for (const name of isMultiple ? options.operands : [first]) {
    const base = baseName(name);
    const isCut = suffix !== "" && base !== suffix && base.endsWith(suffix) && base !== "/";
    print((isCut ? base.slice(0, -suffix.length) : base) + (options.has("z") ? "\0" : "\n"));
  }
  return 0;
};

/** `dirname` of GNU coreutils 9.1. */
export const dirname: GnuCommand = (args, { print }) => {
  const options = parseOptions(args, "z,zero");
  if (options.operands.length === 0) throw new UsageError("missing operand");
  for (const name of options.operands) print(folderName(name) + (options.has("z") ? "\0" : "\n"));
  return 0;
};
