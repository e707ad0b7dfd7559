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
