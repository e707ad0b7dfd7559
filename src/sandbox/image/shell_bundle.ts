import { fileURLToPath } from "node:url";
import { SandboxError } from "../../errors.ts";

/** Where the engine starts on a script; `$3` is the state that the script will change. */
const START = /await new ([\w$]+)\(([\w$]+),([\w$]+)\)\.executeScript\(/g;
/** The same, but first both are shown: the state is kept for the next script, and the output passed on. */
const SHOWN_START = "await this.onStart(new $1($2,$3),$3).executeScript(";

/** How the engine turns the bytes of an output into the text that they are. */
const TO_TEXT = /\.stdout=([\w$]+)\([\w$]+\.stdout\),/;
/** Where `read` has its line, and `mapfile` one of its lines: bytes, each a character. */
const LINE_READ = /(===`\n`&&([\w$]+)\.endsWith\(`\n`\)&&\(\2=\2\.slice\(0,-1\)\);)(?=let )/g;
const LINE_MAPPED =
  /(`mapfile: string length limit exceeded [^`]*`,"string_length"\);[\w$]+\.push\()([\w$]+)(?=\))/g;

/** Where `ls -l` writes a mode, the same for all files: `$1` is what is known of one. */
const LISTED_MODE = /([\w$]+)\.isDirectory\?"drwxr-xr-x":"-rw-r--r--"/g;
/** A mode as `ls -l` writes it. */
const MODE_TEXT = `const modeOfPaddock=({isDirectory,mode})=>(isDirectory?"d":"-")+` +
  `[..."rwxrwxrwx"].map((sign,at)=>mode>>8-at&1?sign:"-").join("");`;

const EXPORTS = /export\{([^{}]*)\};?/g;
const ZLIB_IMPORT = /import\{([^{}]*)\}from"node:zlib";?/g;

/**
 * Makes one module of the shell's engine and all that it imports. Four things in it are changed: it forgets
 * variables, functions and directory after each script and holds back all output until its end, and now shows
 * the guest what runs; what `read` and `mapfile` put into variables is text, not bytes; `ls -l` tells files' modes; and it compresses with a
 * library of its own, as a guest has none of Node's modules.
 *
 * @throws {SandboxError} when its package cannot be bundled, or is not the version that is known here.
 */
export async function bundleShell(signal?: AbortSignal): Promise<Uint8Array> {
  const [engine, zlib] = await Promise.all([
    bundle(import.meta.resolve("../guest/shell/engine.ts"), signal),
    bundle(import.meta.resolve("../guest/shell/zlib.ts"), signal),
  ]);
  const listing = replace(engine, LISTED_MODE, "modeOfPaddock($1)", 3);
  const source = replace(readingText(replace(listing, START, SHOWN_START, 1)), ZLIB_IMPORT, (_, names) => {
    return `const{${toProperties(names)}}=zlibOfPaddock;`;
  }, 2);
  const whole = `${MODE_TEXT}const zlibOfPaddock=(()=>{${
    replace(zlib, EXPORTS, returnThem, 1)
  }})();${source}`;
  return new TextEncoder().encode(whole);
}

function readingText(engine: string): string {
  const [, toText = ""] = TO_TEXT.exec(engine) ?? [];
  const reading = replace(engine, LINE_READ, `$1$2=${toText}($2);`, toText === "" ? 0 : 1);
  return replace(reading, LINE_MAPPED, `$1${toText}($2)`, 1);
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
