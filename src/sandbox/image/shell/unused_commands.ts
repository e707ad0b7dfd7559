import { SandboxError } from "../../../errors.ts";
import { replace } from "./replace.ts";

/** Matches what loads a command. */
const LOADER =
  /name: "([\w-]+)",\n\s*load: async \(\) => \(await Promise\.resolve\(\)\.then\(\(\) => \([\w$]+\(\), [\w$]+\)\)\)\.[\w$]+/g;
/** Matches the declaration of a part of the engine, which runs when a command first needs it. */
const PART = /^(var [\w$]+ = )(?=[\w$]+\(\(\) => \{$)/gm;
/** Number of the engine's parts. */
const PARTS = 185;

/**
 * Returns the engine's code, before it is minified, in which some commands are unused.
 *
 * @throws {SandboxError} if the engine does not have a command.
 */
export function dropCommands(engine: string, names: readonly string[]): string {
  const missing = new Set(names);
  const dropped = engine.replace(LOADER, (text, name) => {
    return missing.delete(name) ? `name: "${name}", load: () => Promise.reject()` : text;
  });
  if (missing.size === 0) return replace(dropped, PART, "$1/* @__PURE__ */ ", PARTS);
  throw new SandboxError(
    `Cannot build the shell as its engine must have commands: ${[...missing].join(", ")}`,
  );
}
