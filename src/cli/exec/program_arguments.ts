import type { Command } from "commander";

/** Flags of the option that names a module as the program. */
export const MODULE_FLAGS = "-m, --module <name>";

/**
 * Returns the arguments of `paddock` with a `--` after the program of `exec`, since everything after the program belongs
 * to the program.
 */
export function endOptionsAtProgram(args: readonly string[], paddock: Command): string[] {
  let command = paddock;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    const option = [...command.options, ...paddock.options].find(({ short, long }) =>
      word === short || word === long
    );
    if (word === "--") break;
    if (option?.required) at++;
    if (option?.flags === MODULE_FLAGS || (command !== paddock && isOperand(word))) {
      return [...args.slice(0, at + 1), "--", ...args.slice(at + 1)];
    }
    if (command === paddock && isOperand(word)) {
      if (word !== "exec") break;
      command = paddock.commands.find((known) => known.name() === word) ?? paddock;
    }
  }
  return [...args];
}

function isOperand(word: string): boolean {
  return word === "-" || !word.startsWith("-");
}
