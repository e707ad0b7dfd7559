import type { CommandFile } from "../agent_config.ts";
import { commandFile } from "./command_file.ts";
import handIn from "./hand_in.sh" with { type: "text" };
import commands from "./paddock.sh" with { type: "text" };

/** Paddock's own commands for an agent; they need what {@linkcode COMMANDS_PRELOAD} puts into the image. */
export function agentCommands(): CommandFile[] {
  return [commandFile("paddock.sh", commands), handInCommands()];
}

/** Those without which no work is scored: `validate` and `submit`. */
export function handInCommands(): CommandFile {
  return commandFile("hand_in.sh", handIn);
}

/** What the shell of a workspace has beside its programs: a flake8 that knows what these commands look for. */
export const SHELL_SUPPORT =
  `flake8() { python -c 'import paddock_commands; paddock_commands.flake8()' "$@"; }`;

/** What the shell's engine does not read as bash does, and how it does: lists in `local`, two brackets that begin a sum. */
const REWORDED: readonly [RegExp, string][] = [
  [/^(\s*)local (\w+)=\(/gm, "$1local $2; $2=("],
  [/(\$\(\( *)\(\(/g, "$1( ("],
];

/** The functions of a command file as the shell reads them. */
export function shellSource({ contents }: CommandFile): string {
  return REWORDED.reduce((text, [pattern, by]) => text.replace(pattern, by), contents);
}
