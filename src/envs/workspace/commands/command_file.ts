import type { CommandFile } from "../agent_config.ts";

/**
 * A file with commands for an agent: what begins with `#!` is a program, called by its name without an ending; a
 * `.sh` file defines functions; what else begins with `_` is there for the others. As MLGym tells them apart.
 *
 * @throws {SyntaxError} when it is none of these.
 */
export function commandFile(name: string, contents: string): CommandFile {
  if (contents.trimStart().startsWith("#!")) return { name, kind: "script", contents };
  if (name.endsWith(".sh")) return { name, kind: "source", contents };
  if (name.startsWith("_")) return { name, kind: "utility", contents };
  throw new SyntaxError(
    `Cannot read command file '${name}' as it must end in .sh, begin with '#!', or have a name that begins with '_': it does none of these`,
  );
}

/** The name by which a program among the commands is called. */
export function scriptName({ name }: CommandFile): string {
  return name.replace(/(?<=.)\.[^.]*$/, "");
}
