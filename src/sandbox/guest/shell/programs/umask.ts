import type { Command } from "just-bash";
import { defineCommand } from "../engine.ts";
import type { ShellFiles } from "../files.ts";
import { complained, printed } from "../builtins/builtin.ts";
import { printLine } from "./system.ts";

/** `umask`, which prints or sets the permissions that new files do not have. */
export function umaskCommand(files: ShellFiles): Command {
  return defineCommand("umask", (args) => {
    const end = args.findIndex((word) => !/^-./.test(word) || word === "--");
    const options = (end < 0 ? args : args.slice(0, end)).join("").replaceAll("-", "");
    const [unknown] = /[^pS]/.exec(options) ?? [];
    if (unknown !== undefined) {
      return Promise.resolve(
        complained(`umask: -${unknown}: invalid option\numask: usage: umask [-p] [-S] [mode]`, 2),
      );
    }
    const [word] = end < 0 ? [] : args.slice(args[end] === "--" ? end + 1 : end);
    if (word !== undefined) {
      const mask = /^[0-7]{1,4}$/.test(word) ? Number.parseInt(word, 8) : maskOf(word, files.umask);
      if (mask === undefined) {
        const message = /^\d/.test(word)
          ? `${word}: octal number out of range`
          : `\`${word || " "}': invalid symbolic mode operator`;
        return Promise.resolve(complained(`umask: ${message}`));
      }
      files.umask = mask & 0o777;
      if (!options.includes("S")) return Promise.resolve(printed(""));
    }
    const rights = (shift: number) =>
      [..."rwx"].filter((_, at) => !(files.umask >> shift & 4 >> at)).join("");
    const symbols = `u=${rights(6)},g=${rights(3)},o=${rights(0)}`;
    const text = options.includes("S") ? symbols : files.umask.toString(8).padStart(4, "0");
    const isCommand = options.includes("p") && word === undefined;
    return printLine(isCommand ? `umask ${options.includes("S") ? "-S " : ""}${text}` : text);
  });
}

/** Applies a symbolic mode such as `u=rwx,go-w` to the permissions that a mask leaves. */
function maskOf(text: string, mask: number): number | undefined {
  let rights = ~mask & 0o777;
  for (const clause of text.split(",")) {
    const [, who = "", operator, letters = ""] = /^([ugoa]*)([-+=])([rwx]*)$/.exec(clause) ?? [];
    if (operator === undefined) return undefined;
    const all = [...who || "a"].reduce(
      (bits, one) => bits | (one === "u" ? 0o700 : one === "g" ? 0o070 : one === "o" ? 0o007 : 0o777),
      0,
    );
    const bits = [...letters].reduce((sum, letter) =>
      sum | 0o111 * (letter === "r" ? 4 : letter === "w" ? 2 : 1), 0) & all;
    if (operator === "-") {
      rights &= ~bits;
    } else rights = operator === "=" ? rights & ~all | bits : rights | bits;
  }
  return ~rights & 0o777;
}
