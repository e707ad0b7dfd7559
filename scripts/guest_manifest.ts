import { stripTypeScriptTypes } from "node:module";
import { basename, dirname, join, relative } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { replyGradingOf } from "../src/rewards/reply_grader.ts";
import { REPLY_GRADERS } from "../src/rewards/reply_graders.ts";

/**
 * Writes `src/sandbox/image/guest_manifest.ts`, the files that run in a sandbox,
 * `src/sandbox/image/shell/shell_sources.ts`, the files that make the shell, and
 * `src/rewards/worker/grader_files.ts`, the files that run in a grader worker. They are found by following the
 * imports of the programs that start there. The texts are imported, and not read when a worker starts, so that they
 * are part of the package wherever it is installed, and need no permission.
 */

const SRC = fileURLToPath(new URL("../src", import.meta.url));
const MANIFEST = "sandbox/image/guest_manifest.ts";
const SHELL_SOURCES = "sandbox/image/shell/shell_sources.ts";
const GRADER_MANIFEST = "rewards/worker/grader_files.ts";

const HEADER =
  "// Written by `deno task guest-manifest`, which follows the imports of the files. Do not edit.";

/** Files that are bundled with a package into one module when an image is built. */
const BUNDLED = ["sandbox/guest/shell/engine.ts", "sandbox/guest/shell/zlib.ts"];

/** The module of the shell that it imports when it needs it. */
const LOADED_LATER = "sandbox/guest/shell/rare_commands.ts";

/** The folder of the modules that bundle the shell and its engine, their entry, and a list that they read. */
const SHELL_BUILD = "sandbox/image/shell/";
const SHELL_BUNDLE = `${SHELL_BUILD}shell_bundle.ts`;
const REPLACED = "sandbox/guest/shell/replaced_commands.ts";

/** Returns the text of the manifest for the files as they are now. */
export function guestManifest(): string {
  const supervisor = filesOf("sandbox/guest/supervisor/supervisor.ts");
  const broker = filesOf("sandbox/network/broker/broker.ts");
  const worker = filesOf("sandbox/guest/worker.ts");
  const paths = [...new Set([...supervisor, ...broker, ...worker])].toSorted();
  return [
    ...importLines(paths, MANIFEST),
    "/** Texts of the guest's files by name, each after those that it imports. */",
    "export type GuestSources = Readonly<Record<string, string>>;",
    "",
    ...declaration("SUPERVISOR_FILES", "Files of the process that holds the workers.", supervisor),
    "",
    ...declaration("BROKER_FILES", "Files of the process that makes connections.", broker),
    "",
    ...declaration("WORKER_FILES", "Files of an interpreter's worker.", worker),
    "",
  ].join("\n");
}

/** Returns the text of the module with the sources of the shell and its build, for the files as they are now. */
export function shellSources(): string {
  const worker = filesOf("sandbox/guest/worker.ts");
  const shell = filesOf("sandbox/guest/shell/shell.ts", filesOf(LOADED_LATER))
    .filter((path) => !worker.includes(path));
  const build = filesOf(SHELL_BUNDLE).filter((path) => path.startsWith(SHELL_BUILD) || path === REPLACED);
  const paths = [...shell, ...BUNDLED, ...build].toSorted();
  requireDistinctNames(paths);
  return [
    HEADER,
    ...paths.map((path) =>
      `export { default as ${nameOf(path)} } from "${
        specifierOf(path, SHELL_SOURCES)
      }" with { type: "text" };`
    ),
    "",
  ].join("\n");
}

/** Returns the text of the manifest of the grader worker for the files as they are now. */
export function graderManifest(): string {
  const found: string[] = [];
  for (const path of [...graderFiles(), "rewards/worker/grader_worker.ts"]) filesOf(path, found);
  const doc = "Texts of the files of a grader worker by name, each after those that it imports.";
  return [
    ...importLines(found.toSorted(), GRADER_MANIFEST),
    ...declaration("GRADER_FILES", doc, found, "Readonly<Record<string, string>>"),
    "",
  ].join("\n");
}

/** Returns the files of the registered graders that read only a reply. */
function graderFiles(): string[] {
  const files = Object.values(REPLY_GRADERS).flatMap(({ make }) => replyGradingOf(make())?.origin.file ?? []);
  return [...new Set(files)].toSorted().map((name) => `rewards/${name}.ts`);
}

function importLines(paths: readonly string[], manifest: string): string[] {
  requireDistinctNames(paths);
  return [
    HEADER,
    ...paths.map((path) =>
      `import ${identifierOf(path)} from "${specifierOf(path, manifest)}" with { type: "text" };`
    ),
    "",
  ];
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
  const source = stripTypeScriptTypes(Deno.readTextFileSync(join(SRC, path)));
  const still = source.matchAll(/^(?:import|export)\b(?:[^"]*? from)? "(\.[^"]+)"/gm);
  const isGuest = path.startsWith("sandbox/guest/"); // graders import nothing late
  const late = isGuest ? source.matchAll(/\bimport\("(\.[^"]+\.ts)"\)/g) : [];
  return [...still, ...late].map(([, to = ""]) => join(dirname(path), to));
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

function specifierOf(path: string, manifest: string): string {
  const specifier = relative(dirname(manifest), path);
  return specifier.startsWith(".") ? specifier : `./${specifier}`;
}

function declaration(name: string, doc: string, paths: readonly string[], type = "GuestSources"): string[] {
  const entries = paths.map((path) => {
    const [key, value] = [nameOf(path), identifierOf(path)];
    return key === value ? `  ${key},` : `  ${key}: ${value},`;
  });
  return [`/** ${doc} */`, `export const ${name}: ${type} = {`, ...entries, "};"];
}

if (import.meta.main) {
  Deno.writeTextFileSync(join(SRC, MANIFEST), guestManifest());
  Deno.writeTextFileSync(join(SRC, SHELL_SOURCES), shellSources());
  Deno.writeTextFileSync(join(SRC, GRADER_MANIFEST), graderManifest());
}
