import { stripTypeScriptTypes } from "node:module";
import { basename, dirname, join, relative } from "node:path/posix";
import { fileURLToPath } from "node:url";

/**
 * Writes `src/sandbox/image/guest_manifest.ts`: the files that run in a sandbox, found by following the imports of
 * the three programs of the guest. The texts are imported, and not read when a sandbox starts, so that they are part
 * of the package wherever it is installed.
 */

const SANDBOX = fileURLToPath(new URL("../src/sandbox", import.meta.url));
const MANIFEST = "image/guest_manifest.ts";

/** Files that are bundled with a package into one module when an image is built. */
const BUNDLED = ["guest/shell/engine.ts", "guest/shell/zlib.ts"];

/** Returns the text of the manifest for the files as they are now. */
export function guestManifest(): string {
  const supervisor = filesOf("guest/supervisor.ts");
  const worker = filesOf("guest/worker.ts");
  const shell = filesOf("guest/shell/shell.ts").filter((path) => !worker.includes(path));
  const paths = [...new Set([...supervisor, ...worker, ...shell, ...BUNDLED])].toSorted();
  requireDistinctNames(paths);
  return [
    "// Written by `deno task guest-manifest`, which follows the imports of the guest's files. Do not edit.",
    ...paths.map((path) => `import ${identifierOf(path)} from "${specifierOf(path)}" with { type: "text" };`),
    "",
    "/** Texts of the guest's files by name, each after those that it imports. */",
    "export type GuestFiles = Readonly<Record<string, string>>;",
    "",
    ...declaration("SUPERVISOR_FILES", "Files of the process that holds the workers.", supervisor),
    "",
    ...declaration("WORKER_FILES", "Files of an interpreter's worker.", worker),
    "",
    ...declaration("SHELL_FILES", "Files of the shell that the worker has not.", shell),
    "",
    ...declaration("SHELL_ENGINE_FILES", "Files that are bundled into the shell's engine.", BUNDLED),
    "",
  ].join("\n");
}

/** Returns a file and all that it imports, each after those that it imports itself. */
function filesOf(entry: string, found: string[] = []): string[] {
  for (const imported of importsOf(entry)) {
    if (!found.includes(imported) && !BUNDLED.includes(imported)) filesOf(imported, found);
  }
  if (!found.includes(entry)) found.push(entry);
  return found;
}

function importsOf(path: string): string[] {
  const source = stripTypeScriptTypes(Deno.readTextFileSync(join(SANDBOX, path)));
  return [...source.matchAll(/^(?:import|export)\b[^"]*?"(\.[^"]+)"/gm)].map(([, to = ""]) =>
    join(dirname(path), to)
  );
}

/** In the worker, a module is linked by the last part of its path alone. */
function requireDistinctNames(paths: readonly string[]): void {
  const names = paths.map(nameOf);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return;
  throw new Error(`Cannot list guest files as each must have a name of its own: '${twice}' is there twice`);
}

function nameOf(path: string): string {
  return basename(path, ".ts");
}

function identifierOf(path: string): string {
  return nameOf(path).replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function specifierOf(path: string): string {
  return relative(dirname(MANIFEST), path);
}

function declaration(name: string, doc: string, paths: readonly string[]): string[] {
  const entries = paths.map((path) => {
    const [key, value] = [nameOf(path), identifierOf(path)];
    return key === value ? `  ${key},` : `  ${key}: ${value},`;
  });
  return [`/** ${doc} */`, `export const ${name}: GuestFiles = {`, ...entries, "};"];
}

if (import.meta.main) Deno.writeTextFileSync(join(SANDBOX, MANIFEST), guestManifest());
