import { dirname, join as joinPath } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { SandboxError } from "../../../errors.ts";
import { WORKER_FILES } from "../guest_manifest.ts";
import { REPLACED_COMMANDS } from "../../guest/shell/replaced_commands.ts";
import { changeEngine } from "./engine_changes.ts";
import { replace } from "./replace.ts";
import { dropCommands } from "./unused_commands.ts";

/** Lock file with the packages of the shell, which the lock file of the command line does not have. */
const LOCK = decodeURIComponent(new URL("./shell_bundle.lock", import.meta.url).pathname);
/** Name of the module that is the engine. */
const ENGINE = "engine.ts";
/** Name of the file with the engine before the last bundling. */
const WHOLE_ENGINE = "whole_engine.js";

const EXPORTS = /export\{([^{}]*)\};?/g;
const ZLIB_IMPORT = /import\{([^{}]*)\}from"node:zlib";?/g;

/** A bundle of the shell's own modules. */
export interface ShellModule {
  /** Name by which the next modules import this module. */
  readonly name: string;
  readonly code: Uint8Array;
}

/**
 * Modules of the shell that are bundled, each after the modules that it imports: the clock and the files,
 * which define globals that the engine needs when it loads, what all commands share, the commands, which a
 * session loads at their first use, and the shell.
 */
const ENTRIES = [
  "clock.ts",
  "gnu/command.ts",
  "files.ts",
  "gnu/gnu_commands.ts",
  "rare_commands.ts",
  "shell.ts",
];

/**
 * Bundles the shell's own modules, as a session takes about a millisecond to load each. The bundles import
 * the worker's modules, the engine and each other. Lines and names are kept, so that the position of an error
 * can be looked up in the image.
 *
 * @throws {SandboxError} if the modules cannot be bundled.
 */
export async function bundleShell(
  { signal, bundle = bundleModule }: BundleShellOptions = {},
): Promise<ShellModule[]> {
  const others = [...Object.keys(WORKER_FILES).map((name) => `${name}.ts`), ENGINE];
  const modules: ShellModule[] = [];
  for (const entry of ENTRIES) { // one after the other, as in `bundleEngine`
    const name = entry.slice(entry.lastIndexOf("/") + 1);
    const external = [...others, ...ENTRIES.map((path) => path.slice(path.lastIndexOf("/") + 1))]
      .filter((file) => file !== name);
    const options = external.map((file) => `--external=*/${file}`);
    const text = await bundle(urlOf(entry), { options, signal });
    modules.push({ name, code: new TextEncoder().encode(text) });
  }
  return modules;
}

/** Bundles a module with all imports and returns the source. */
export type Bundle = (entry: string, options: BundleOptions) => Promise<string>;

/** Options of {@linkcode bundleShell}. */
export interface BundleShellOptions {
  readonly signal?: AbortSignal | undefined;
  /** @default `deno bundle` */
  readonly bundle?: Bundle;
}

/** Options of {@linkcode bundleEngine}. */
export interface BundleEngineOptions {
  /** Directory of a file that is needed during the build. */
  readonly directory: string;
  readonly signal?: AbortSignal | undefined;
  /** @default `deno bundle` */
  readonly bundle?: Bundle;
}

/**
 * Bundles the shell's engine and its imports into one module, with these changes:
 *
 * - The engine forgets variables, functions and directory after each script, and holds back output until the
 *   end of the script. A hook passes each running script to the guest, which keeps the state and streams the
 *   output.
 * - `read` and `mapfile` put text into variables instead of bytes.
 * - Arithmetic has 64 bits, and fails where the engine's numbers are not exact.
 * - Commands that the shell replaces are left out.
 * - Words keep their text, `select` is a loop, and errors of expansions end what they end in bash.
 * - `${x@A}`, `${x@K}` and `${x@k}` are as in bash.
 * - Keys of associative arrays have the order of bash, `${x~}` is known, and `<<` shifts in `((…))`.
 * - `set -x` writes all that bash writes, at the same moments.
 * - With `set -u` a variable that is not set may have a default in a quoted word.
 * - The words of a command do not see the assignments before the command.
 * - Quoted parts of words match themselves, and the guest looks for the paths that match a pattern.
 * - Redirections join stdout of bytes and stderr of text.
 * - `wait` is left to the guest, which has the exit codes of jobs.
 * - Compression uses another library, as a guest has no Node modules.
 *
 * No other bundle may be made until this call has ended: the first use of the bundler installs esbuild, and
 * two at once would write the same file.
 *
 * @throws {SandboxError} if the package cannot be bundled or has another version than expected.
 */
export async function bundleEngine(
  { directory, signal, bundle = bundleModule }: BundleEngineOptions,
): Promise<Uint8Array> {
  // one after the other: each installs esbuild at the first use, and two at once write the same file
  const whole = await bundle(urlOf(ENGINE), { options: [], signal });
  const zlib = await bundle(urlOf("zlib.ts"), { options: ["--minify"], signal });
  await Deno.writeTextFile(joinPath(directory, WHOLE_ENGINE), dropCommands(whole, REPLACED_COMMANDS));
  const engine = await bundle(pathToFileURL(joinPath(directory, WHOLE_ENGINE)).href, {
    options: ["--minify", "--no-config"],
    signal,
  });
  await Deno.remove(joinPath(directory, WHOLE_ENGINE));
  const source = replace(changeEngine(engine), ZLIB_IMPORT, (_, names) => {
    return `const{${toProperties(names)}}=zlibOfPaddock;`;
  }, 3);
  const text = `const zlibOfPaddock=(()=>{${replace(zlib, EXPORTS, returnExports, 1)}})();${source}`;
  return new TextEncoder().encode(text);
}

/** Options of a {@linkcode Bundle}. */
export interface BundleOptions {
  /** Further options of `deno bundle`. */
  readonly options: readonly string[];
  readonly signal: AbortSignal | undefined;
}

function urlOf(name: string): string {
  return new URL(`../../guest/shell/${name}`, import.meta.url).href;
}

async function bundleModule(entry: string, { options, signal }: BundleOptions): Promise<string> {
  const file = entry.startsWith("file:") ? fileURLToPath(entry) : undefined;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "bundle",
      "--quiet",
      "--platform",
      "browser",
      ...options,
      ...file === undefined || options.includes("--no-config") ? [] : ["--lock", LOCK],
      file ?? entry,
    ],
    ...(file !== undefined && { cwd: dirname(file) }), // the configuration is looked for from there
    env: { NO_COLOR: "1" },
    stdin: "null",
    ...(signal && { signal }),
  }).output();
  signal?.throwIfAborted();
  if (code === 0) return new TextDecoder().decode(stdout);
  const reason = new TextDecoder().decode(stderr).trim();
  throw new SandboxError(`Cannot build the shell as 'deno bundle' failed: ${reason}`);
}

/** Converts import names (`gunzipSync as a`) to a destructuring pattern. */
function toProperties(names: string): string {
  return names.replaceAll(" as ", ":");
}

/** Converts export names (`a as gunzipSync`) to the return of an object. */
function returnExports(_: string, names: string): string {
  return `return{${names.split(",").map((name) => name.trim().split(" as ").reverse().join(":"))}};`;
}
