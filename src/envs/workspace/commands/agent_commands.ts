import type { CommandFile } from "../agent_config.ts";
import { commandFile } from "./command_file.ts";
import commands from "./paddock.sh" with { type: "text" };

/** Paddock's own commands for an agent; they need what {@linkcode COMMANDS_PRELOAD} puts into the image. */
export function agentCommands(): CommandFile[] {
  return [commandFile("paddock.sh", commands)];
}

/** What the shell of a workspace has beside its programs: a flake8 that knows what these commands look for. */
export const SHELL_SUPPORT =
  `flake8() { python -c 'import paddock_commands; paddock_commands.flake8()' "$@"; }`;

/** A list that a function keeps for itself: the shell's engine expands no list in such a line. */
const LOCAL_LIST = /^(\s*)local (\w+)=\(/gm;

/** The functions of a command file as the shell reads them. */
export function shellSource({ contents }: CommandFile): string {
  return contents.replace(LOCAL_LIST, "$1local $2; $2=(");
}
