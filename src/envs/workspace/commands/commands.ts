import type { Preload } from "../../../sandbox/profile/profile.ts";
import type { CommandFile } from "../agent_config.ts";
import editor from "./guest/editor.py" with { type: "text" };
import lint from "./guest/lint.py" with { type: "text" };
import main from "./guest/main.py" with { type: "text" };
import search from "./guest/search.py" with { type: "text" };
import textFile from "./guest/text_file.py" with { type: "text" };
import commands from "./paddock.sh" with { type: "text" };
import handIn from "./submit.sh" with { type: "text" };

/** Returns Paddock's own commands for an agent. They need {@linkcode COMMANDS_PRELOAD} in the image. */
export function defaultCommands(): CommandFile[] {
  return [toCommandFile("paddock.sh", commands), submitCommands()];
}

/** Returns the commands `validate` and `submit`, which are needed for scoring. */
export function submitCommands(): CommandFile {
  return toCommandFile("hand_in.sh", handIn);
}

/** Defines a `flake8` for the shell, with the checks of the editing commands. */
export const SHELL_SUPPORT =
  `flake8() { python -c 'import paddock_commands; paddock_commands.flake8()' "$@"; }`;

/** Rewrites of bash syntax that the shell's engine does not support: arrays in `local`, `$(((`. */
const REWRITES: readonly [RegExp, string][] = [
  [/^(\s*)local (\w+)=\(/gm, "$1local $2; $2=("],
  [/(\$\(\( *)\(\(/g, "$1( ("],
];

/** Returns the functions of a command file in the syntax that the shell supports. */
export function toShellSource({ contents }: CommandFile): string {
  return REWRITES.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), contents);
}

/**
 * Classifies a command file as MLGym does. A file that begins with `#!` is a program, called by the name without the
 * extension. A `.sh` file defines functions. A file whose name begins with `_` is a helper of the others.
 *
 * @throws {SyntaxError} if the file is none of these.
 */
export function toCommandFile(name: string, contents: string): CommandFile {
  if (contents.trimStart().startsWith("#!")) return { name, kind: "script", contents };
  if (name.endsWith(".sh")) return { name, kind: "source", contents };
  if (name.startsWith("_")) return { name, kind: "utility", contents };
  throw new SyntaxError(
    `Cannot read command file '${name}' as it must end in .sh, begin with '#!', or have a name that begins with '_': it does none of these`,
  );
}

/** Returns the command name of a program: the file name without the extension. */
export function commandNameOf({ name }: CommandFile): string {
  return name.replace(/(?<=.)\.[^.]*$/, "");
}

/** Python module behind the agent's commands. Every session of a workspace has imported the module. */
export const COMMANDS_PRELOAD: Preload = {
  module: "paddock_commands",
  source: [lint, textFile, editor, search, main].join("\n\n"),
  ignoresMounts: true,
};
