import { type CommandContext, errorText, type GnuCommand, pathOf, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";
import { OWNER } from "./file_format.ts";
import { fail, quoted } from "./operands.ts";

const OPTIONS = "c,changes:f,silent:quiet:v,verbose:dereference:h,no-dereference:from=:no-preserve-root:" +
  "preserve-root:reference=:R,recursive:H:L:P";

/**
 * `chown` and `chgrp` of GNU coreutils 9.1. All files have the same owner, whom they keep: another owner is refused.
 */
function keepOwner(kind: "user" | "group"): GnuCommand {
  return (args, context) => {
    const options = parseOptions(args, OPTIONS);
    const [first, ...rest] = options.operands;
    const reference = options.value("reference");
    if (first === undefined) throw new UsageError("missing operand");
    const names = reference === undefined ? rest : options.operands;
    if (names.length === 0) throw new UsageError(`missing operand after ${quoted(first)}`);
    if (reference !== undefined) requireFile(reference, context);
    const isOther = reference === undefined && namesOther(first, kind);
    let failed = false;
    for (const name of names) {
      const problem = problemOf(name, isOther, kind, context);
      failed ||= problem !== undefined;
      if (problem !== undefined && !options.has("f")) context.warn(problem);
      if (problem === undefined && options.has("v")) {
        const kept = kind === "group" ? OWNER : first.includes(":") ? `${OWNER}:${OWNER}` : OWNER;
        context.print(`${kind === "group" ? "group" : "ownership"} of ${quoted(name)} retained as ${kept}\n`);
      }
    }
    return failed ? 1 : 0;
  };
}

function requireFile(name: string, { files, cwd }: CommandContext): void {
  try {
    files.status(pathOf(cwd, name));
  } catch (error) {
    fail(`failed to get attributes of ${quoted(name)}: ${errorText(error)}`);
  }
}

/**
 * Returns whether an owner such as `user:group` is another owner than the owner of all files. Fails if there is no
 * such name.
 */
function namesOther(text: string, kind: "user" | "group"): boolean {
  const [user = "", group = ""] = kind === "group" ? ["", text] : text.split(/[:.]/);
  for (const [name, word] of [[user, "user"], [group, "group"]]) {
    if (name && !/^\d+$/.test(name) && name !== OWNER) fail(`invalid ${word}: ${quoted(text)}`);
  }
  return [user, group].some((name) => /^\d+$/.test(name) && Number(name) !== 0);
}

function problemOf(
  name: string,
  isOther: boolean,
  kind: "user" | "group",
  { files, cwd }: CommandContext,
): string | undefined {
  try {
    files.status(pathOf(cwd, name));
  } catch (error) {
    return `cannot access ${quoted(name)}: ${errorText(error)}`;
  }
  if (!isOther) return undefined;
  return `changing ${kind === "group" ? "group" : "ownership"} of ${quoted(name)}: Operation not permitted`;
}

export const chown: GnuCommand = keepOwner("user");
export const chgrp: GnuCommand = keepOwner("group");
