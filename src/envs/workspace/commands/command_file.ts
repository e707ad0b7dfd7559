import type { CommandFile } from "../agent_config.ts";

/**
 * Classifies a command file as MLGym does. A file that begins with `#!` is a program, called by its name without the
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

/** Returns the command name of a program: its file name without the extension. */
export function commandNameOf({ name }: CommandFile): string {
  return name.replace(/(?<=.)\.[^.]*$/, "");
}
