import { git } from "./git/git.ts";
import { type CommandContext, type GnuCommand, UsageError } from "./gnu/command.ts";

const COMMANDS = { git } as const satisfies Readonly<Record<string, GnuCommand>>;

/** Name of a command that is loaded when it is first run, so that a session without it starts as fast. */
export type RareCommand = keyof typeof COMMANDS;

/** The parts of a {@linkcode UsageError}, whose class this module and the shell's do not share. */
export type UsageFailure = Pick<UsageError, "message" | "exitCode" | "hasHint">;

/** Runs a command. Returns its exit code, or what is wrong with its arguments. */
export async function runRareCommand(
  name: RareCommand,
  args: readonly string[],
  context: CommandContext,
): Promise<number | UsageFailure> {
  try {
    const command: GnuCommand = COMMANDS[name];
    return await command(args, context);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { message, exitCode, hasHint } = error;
    return { message, exitCode, hasHint };
  }
}
