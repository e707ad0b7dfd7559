import { errorText, type GnuCommand, pathOf, statusOf, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";
import { modeText } from "./file_format.ts";
import { childOf, quoted } from "./operands.ts";

const WHO: Readonly<Record<string, number>> = { u: 0o4700, g: 0o2070, o: 0o1007, a: 0o7777 };
const RIGHTS: Readonly<Record<string, number>> = { r: 0o444, w: 0o222, x: 0o111 };

/** Computes a mode from an old mode. */
export type ModeChange = (mode: number, options: { isFolder: boolean; umask: number }) => number;

/** Reads an octal or symbolic mode such as `u=rwX,go-w`; `undefined` if the text is none. */
export function readMode(text: string): ModeChange | undefined {
  if (/^[0-7]+$/.test(text)) {
    const value = Number.parseInt(text, 8);
    if (value > 0o7777) return undefined;
    // A folder keeps its special bits unless the number states them.
    return (mode, { isFolder }) => isFolder && text.length < 5 ? value | mode & 0o6000 : value;
  }
  const changes: ModeChange[] = [];
  for (const clause of text.split(",")) {
    const [, who = "", actions] = /^([ugoa]*)((?:[-+=](?:[rwxXst]*|[ugo]))+)$/.exec(clause) ?? [];
    if (actions === undefined) return undefined;
    for (const [, operator = "", letters = ""] of actions.matchAll(/([-+=])([rwxXst]*|[ugo])(?=[-+=]|$)/g)) {
      changes.push(changeOf(who, operator, letters));
    }
  }
  return (mode, options) => changes.reduce((value, change) => change(value, options), mode);
}

function changeOf(who: string, operator: string, letters: string): ModeChange {
  const named = [...who].reduce((bits, letter) => bits | (WHO[letter] ?? 0), 0);
  return (mode, { isFolder, umask }) => {
    const affected = who === "" ? 0o7777 : named;
    let bits = 0;
    if (/^[ugo]$/.test(letters)) {
      const copied = mode >> (letters === "u" ? 6 : letters === "g" ? 3 : 0) & 7;
      bits = copied * 0o111;
    } else {
      for (const letter of letters) {
        if (letter === "X") bits |= isFolder || (mode & 0o111) !== 0 ? 0o111 : 0;
        else if (letter === "s") bits |= 0o6000;
        else if (letter === "t") bits |= 0o1000;
        else bits |= RIGHTS[letter] ?? 0;
      }
    }
    bits &= affected;
    if (who === "") bits &= ~umask;
    if (operator === "+") return mode | bits;
    if (operator === "-") return mode & ~bits;
    const kept = isFolder ? mode & 0o6000 & ~bits : 0;
    return mode & ~affected | bits | kept;
  };
}

const OPTIONS = "c,changes:f,silent,quiet:v,verbose:R,recursive:reference=:preserve-root:no-preserve-root";
/** A mode such as `-x`, which looks like options. */
const MINUS_MODE = /^-[rwxXstugo,=+-]+$/;

/** `chmod` of GNU coreutils 9.1. */
export const chmod: GnuCommand = (args, context) => {
  const end = args.indexOf("--");
  const minus = args.find((word, at) =>
    (end < 0 || at < end) && MINUS_MODE.test(word) && !word.startsWith("--")
  );
  const options = parseOptions(minus === undefined ? args : args.filter((word) => word !== minus), OPTIONS);
  const { files, cwd, print, warn, poll } = context;
  const reference = options.value("reference");
  const operands = [...options.operands];
  const text = minus ?? (reference === undefined ? operands.shift() : undefined);
  if (text === undefined && reference === undefined) throw new UsageError("missing operand");
  if (operands.length === 0) {
    throw new UsageError(text === undefined ? "missing operand" : `missing operand after ${quoted(text)}`);
  }
  let change: ModeChange | undefined;
  if (reference !== undefined) {
    try {
      const { mode } = files.status(pathOf(cwd, reference));
      change = () => mode;
    } catch (error) {
      throw new UsageError(`failed to get attributes of ${quoted(reference)}: ${errorText(error)}`, {
        hasHint: false,
      });
    }
  } else change = readMode(text ?? "");
  if (!change) throw new UsageError(`invalid mode: ${quoted(text ?? "")}`);
  let failed = false;
  const pending = operands.map((name) => ({ name, isOperand: true }));
  while (pending.length > 0) {
    poll();
    const next = pending.shift();
    if (!next) break;
    const { name, isOperand } = next;
    const path = pathOf(cwd, name);
    try {
      const own = files.status(path, { follow: false });
      if (own.kind === "link" && !isOperand) continue;
      const status = own.kind === "link" ? statusOf(files, path) : own;
      if (!status) {
        if (!options.has("f")) warn(`cannot operate on dangling symlink ${quoted(name)}`);
        failed = true;
        continue;
      }
      const isFolder = status.kind === "directory";
      const mode = change(status.mode, { isFolder, umask: files.umask() });
      if (mode !== status.mode) files.setMode(path, mode);
      const shown = (value: number) =>
        `${value.toString(8).padStart(4, "0")} (${modeText({ ...status, mode: value }).slice(1)})`;
      if (mode !== status.mode && (options.has("v") || options.has("c"))) {
        print(`mode of '${name}' changed from ${shown(status.mode)} to ${shown(mode)}\n`);
      } else if (options.has("v")) print(`mode of '${name}' retained as ${shown(mode)}\n`);
      if (minus !== undefined) {
        const wanted = readMode(minus)?.(status.mode, { isFolder, umask: 0 }) ?? mode;
        if (wanted !== mode) {
          const rights = (value: number) => modeText({ ...status, mode: value }).slice(1);
          warn(`${quoted(name).slice(1, -1)}: new permissions are ${rights(mode)}, not ${rights(wanted)}`);
          failed = true;
        }
      }
      if (options.has("R") && isFolder && own.kind !== "link") {
        const inside = files.names(path).map((child) => ({ name: childOf(name, child), isOperand: false }));
        pending.unshift(...inside);
      }
    } catch (error) {
      if (!options.has("f")) warn(`cannot access ${quoted(name)}: ${errorText(error)}`);
      failed = true;
    }
  }
  return failed ? 1 : 0;
};
