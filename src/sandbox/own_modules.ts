import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { SandboxError } from "../errors.ts";
import type { DenoProgram } from "./deno_program.ts";
import { grantsAny, isWithin, mayRead } from "./grants.ts";

/** What of `deno info --json` is looked at. */
interface ModuleGraph {
  readonly modules: readonly { readonly specifier: string }[];
}

/** Nothing is fetched to look at it. */
const CLOSED = ["--no-remote", "--no-npm"];

/**
 * Refuses a program of files that imports what lies outside of its own folder and of what it may read. Deno itself
 * lets a program import, without any permission, whatever its text names: another program's code, or any text.
 *
 * @throws {SandboxError} with the first such file.
 */
export async function requireOwnModules(
  { module, permissions = {} }: DenoProgram,
  signal?: AbortSignal,
): Promise<void> {
  if (/^(?!file:)[a-z]+:/.test(module)) return; // packages and the web are held to the permissions
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "info",
      "--json",
      "--no-config",
      "--no-lock",
      ...(grantsAny(permissions.import) ? [] : CLOSED),
      module,
    ],
    stdin: "null",
    stderr: "null",
    ...(signal && { signal }),
  }).output();
  signal?.throwIfAborted();
  if (code !== 0) {
    throw new SandboxError(`Cannot start '${module}' as 'deno info' does not tell what it imports`);
  }
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as ModuleGraph;
  const own = dirname(module.startsWith("file:") ? fileURLToPath(module) : resolve(module));
  const foreign = modules.map(({ specifier }) => specifier)
    .filter((specifier) => specifier.startsWith("file:"))
    .map((specifier) => fileURLToPath(specifier))
    .find((path) => !isWithin(path, own) && !mayRead(permissions.read, path));
  if (foreign === undefined) return;
  throw new SandboxError(
    `Cannot start '${module}' as it imports '${foreign}': what it imports must lie in its folder or be granted by 'read'`,
  );
}
