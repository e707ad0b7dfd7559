import type { Command } from "just-bash";
import { defineCommand } from "../engine.ts";
import type { ShellFiles } from "../files.ts";
import { printLine } from "./system.ts";

/** `umask`, which prints or sets the permissions that new files do not have. */
export function umaskCommand(files: ShellFiles): Command {
  return defineCommand("umask", (args) => {
    const words = args.filter((word) => word !== "-p" && word !== "--");
    const [word = ""] = words.filter((text) => text !== "-S");
    if (word === "") {
      const rights = (shift: number) =>
        [..."rwx"].filter((_, at) => !(files.umask >> shift & 4 >> at)).join("");
      const symbols = `u=${rights(6)},g=${rights(3)},o=${rights(0)}`;
      return printLine(words.includes("-S") ? symbols : files.umask.toString(8).padStart(4, "0"));
    }
    const mask = /^[0-7]{1,4}$/.test(word) ? Number.parseInt(word, 8) : maskOf(word, files.umask);
    if (mask === undefined) {
      const message = /^\d/.test(word) ? "octal number out of range" : "invalid symbolic mode";
      return Promise.resolve({ stdout: "", stderr: `bash: umask: ${word}: ${message}\n`, exitCode: 1 });
    }
    files.umask = mask & 0o777;
    return Promise.resolve({ stdout: "", stderr: "", exitCode: 0 });
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
