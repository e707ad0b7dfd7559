import { type CommanderError, Option } from "commander";
import { EXIT } from "../src/cli/run_command.ts";

/** Returns the `--cache-dir` option of the programs in this folder. */
export function cacheDirOption(): Option {
  return new Option(
    "--cache-dir <dir>",
    "where base images are kept (default: $PADDOCK_CACHE_DIR, or the user's cache)",
  );
}

/** Exits with the code for `--help` or for wrong arguments. */
export function exitWithUsage({ exitCode }: CommanderError): never {
  Deno.exit(exitCode === 0 ? EXIT.ok : EXIT.usage);
}
