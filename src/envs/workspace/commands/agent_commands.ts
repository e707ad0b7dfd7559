import type { CommandFile } from "../agent_config.ts";
import { toCommandFile } from "./command_file.ts";
import handIn from "./hand_in.sh" with { type: "text" };
import commands from "./paddock.sh" with { type: "text" };

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
