import { fileURLToPath } from "node:url";
import { SandboxError } from "../errors.ts";

/** Where the engine starts on a script; `$3` is the state that the script will change. */
const START = /await new ([\w$]+)\(([\w$]+),([\w$]+)\)\.executeScript\(/g;
/** The same, but first both are shown: the state is kept for the next script, and the output passed on. */
const SHOWN_START = "await this.onStart(new $1($2,$3),$3).executeScript(";

const EXPORTS = /export\{([^{}]*)\};?/g;
const ZLIB_IMPORT = /import\{([^{}]*)\}from"node:zlib";?/g;

/**
 * Makes one module of the shell's engine and all that it imports. Two things in it are changed: it forgets
 * variables, functions and directory after each script and holds back all output until its end, and now shows
 * the guest what runs; and it compresses with a library of its own, as a guest has none of Node's modules.
 *
 * @throws {SandboxError} when its package cannot be bundled, or is not the version that is known here.
 */
export async function bundleShell(signal?: AbortSignal): Promise<Uint8Array> {
  const [engine, zlib] = await Promise.all([
    bundle(import.meta.resolve("./guest/just_bash.ts"), signal),
    bundle(import.meta.resolve("./guest/zlib.ts"), signal),
  ]);
  const source = replace(replace(engine, START, SHOWN_START, 1), ZLIB_IMPORT, (_, names) => {
    return `const{${toProperties(names)}}=zlibOfPaddock;`;
  }, 2);
  const whole = `const zlibOfPaddock=(()=>{${replace(zlib, EXPORTS, returnThem, 1)}})();${source}`;
  return new TextEncoder().encode(whole);
}

async function bundle(entry: string, signal: AbortSignal | undefined): Promise<string> {
  const file = entry.startsWith("file:") ? fileURLToPath(entry) : entry;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--minify", "--platform", "browser", file],
    env: { NO_COLOR: "1" },
    stdin: "null",
    ...(signal && { signal }),
  }).output();
  signal?.throwIfAborted();
  if (code === 0) return new TextDecoder().decode(stdout);
  const said = new TextDecoder().decode(stderr).trim();
  throw new SandboxError(`Cannot build the shell as 'deno bundle' must succeed: it said ${said}`);
}

/** `gunzipSync as a` as a pattern that takes an object apart. */
function toProperties(names: string): string {
  return names.replaceAll(" as ", ":");
}

/** `a as gunzipSync` as an object. */
function returnThem(_: string, names: string): string {
  return `return{${names.split(",").map((name) => name.trim().split(" as ").reverse().join(":"))}};`;
}

type Replacement = string | ((whole: string, part: string) => string);

function replace(source: string, pattern: RegExp, by: Replacement, places: number): string {
  const found = [...source.matchAll(pattern)].length;
  if (found === places) return source.replace(pattern, by as string);
  throw new SandboxError(
    `Cannot build the shell as its engine must have '${pattern.source}' in ${places} places: there are ${found}`,
  );
}
