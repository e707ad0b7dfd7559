import { PathError } from "../../../errno.ts";
import { errorText, type GnuCommand, pathOf, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";
import { Answers, baseName, childOf, quoted } from "./operands.ts";

const OPTIONS =
  "d,dir:f,force:i:I:interactive?:one-file-system:no-preserve-root:preserve-root?:r,R,recursive:v,verbose";
const PROMPT_COUNT = 3;

/** `rm` of GNU coreutils 9.1. */
export const rm: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS);
  const { files, cwd, print, warn, poll } = context;
  const last = options.given.findLast(({ name }) => /^(?:[fiI]|interactive)$/.test(name));
  const isForced = last?.name === "f";
  const asks = last?.name === "i" || last?.name === "interactive" && /^(?:|always|yes)$/.test(last.value);
  const asksOnce = last?.name === "I" || last?.name === "interactive" && last.value === "once";
  const { operands } = options;
  if (operands.length === 0) {
    if (options.has("f")) return 0;
    throw new UsageError("missing operand");
  }
  const answers = new Answers(context);
  const isRecursive = options.has("r");
  if (asksOnce && (operands.length > PROMPT_COUNT || isRecursive)) {
    const count = `${operands.length} argument${operands.length === 1 ? "" : "s"}`;
    if (!answers.ask(`remove ${count}${isRecursive ? " recursively" : ""}?`)) return 0;
  }
  let failed = false;
  const complain = (message: string) => {
    warn(message);
    failed = true;
    return false;
  };
  /** Removes a file or a tree. Returns whether it is removed. */
  const remove = (name: string): boolean => {
    poll();
    const path = pathOf(cwd, name);
    try {
      const { kind, size } = files.status(path, { follow: false });
      if (kind !== "directory") {
        if (name.endsWith("/")) return complain(`cannot remove ${quoted(name)}: Not a directory`);
        const what = kind === "link" ? "symbolic link" : size === 0 ? "regular empty file" : "regular file";
        if (asks && !answers.ask(`remove ${what} ${quoted(name)}?`)) return false;
        files.removeFile(path);
        if (options.has("v")) print(`removed '${name}'\n`);
        return true;
      }
      const names = files.names(path);
      if (!isRecursive && !options.has("d")) return complain(`cannot remove ${quoted(name)}: Is a directory`);
      if (!isRecursive && names.length > 0) {
        return complain(`cannot remove ${quoted(name)}: Directory not empty`);
      }
      if (asks && names.length > 0 && !answers.ask(`descend into directory ${quoted(name)}?`)) return false;
      const isEmpty = names.map((child) => remove(childOf(name, child))).every((isRemoved) => isRemoved);
      if (!isEmpty || asks && !answers.ask(`remove directory ${quoted(name)}?`)) return false;
      files.removeDirectory(path);
      if (options.has("v")) print(`removed directory '${name}'\n`);
      return true;
    } catch (error) {
      const isMissing = error instanceof PathError && (error.code === "ENOENT" || error.code === "ENOTDIR");
      if (isForced && isMissing) return true;
      return complain(`cannot remove ${quoted(name)}: ${errorText(error)}`);
    }
  };
  for (const name of operands) {
    const base = baseName(name);
    if (base === "." || base === "..") {
      complain(`refusing to remove '.' or '..' directory: skipping ${quoted(name)}`);
    } else if (isRecursive && pathOf(cwd, name) === "/" && !options.has("no-preserve-root")) {
      warn(`it is dangerous to operate recursively on ${quoted(name)}`);
      complain("use --no-preserve-root to override this failsafe");
    } else remove(name);
  }
  return failed ? 1 : 0;
};
