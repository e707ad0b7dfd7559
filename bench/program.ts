import { type CommanderError, Option } from "commander";
import { EXIT } from "../src/cli/command.ts";

/** Returns the option that every program of this folder has for its cache. */
export function cacheDirOption(): Option {
  return new Option(
    "--cache-dir <dir>",
    "where base images are kept (default: $PADDOCK_CACHE_DIR, or the user's cache)",
  );
}

/** Ends the process with the exit code for `--help`, or for arguments that are wrong. */
export function exitWithUsage({ exitCode }: CommanderError): never {
  Deno.exit(exitCode === 0 ? EXIT.ok : EXIT.usage);
}
