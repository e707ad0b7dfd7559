import type { CommandContext } from "../gnu/command.ts";
import type { GlobalOptions, Repository } from "./store/repository.ts";

/** A command of git that works in a repository. Returns its exit code. */
export type GitCommand = (args: readonly string[], repository: Repository) => number | Promise<number>;

/** A command that also works without a repository. */
export type FreeCommand = (
  args: readonly string[],
  context: CommandContext,
  options: GlobalOptions,
) => number | Promise<number>;
