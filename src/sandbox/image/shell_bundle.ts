import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { SandboxError } from "../../errors.ts";

/** Matches the place where the engine starts a script. `$3` is the state that the script changes. */
const START = /await new ([\w$]+)\(([\w$]+),([\w$]+)\)\.executeScript\(/g;
/**
 * Replacement that passes interpreter and state to the guest: state is kept for the next script and output is
 * streamed.
 */
const SHOWN_START = "await this.onStart(new $1($2,$3),$3).executeScript(";

/** Matches the function by which the engine decodes output bytes as text. */
const TO_TEXT = /\.stdout=([\w$]+)\([\w$]+\.stdout\),/;
/** Matches the places where `read` and `mapfile` have a line, as one character for each byte. */
const LINE_READ = /(===`\n`&&([\w$]+)\.endsWith\(`\n`\)&&\(\2=\2\.slice\(0,-1\)\);)(?=let )/g;
const LINE_MAPPED =
  /(`mapfile: string length limit exceeded [^`]*`,"string_length"\);[\w$]+\.push\()([\w$]+)(?=\))/g;

/** Matches the fixed mode that `ls -l` prints. `$1` is the file's status. */
const LISTED_MODE = /([\w$]+)\.isDirectory\?"drwxr-xr-x":"-rw-r--r--"/g;
/** Code of a function that formats a mode for `ls -l`. */
const MODE_TEXT = `const modeOfPaddock=({isDirectory,mode})=>(isDirectory?"d":"-")+` +
  `[..."rwxrwxrwx"].map((sign,at)=>mode>>8-at&1?sign:"-").join("");`;

/** Matches the start of the functions for operators of `$((…))`: between two values, in assignments, before a value. */
const ARITHMETIC =
  /(function [\w$]+\(([\w$]+),([\w$]+),([\w$]+)\)\{)(?=switch\(\4\)\{case"(?:\+":return \2\+\3;case"-":return \2-\3;case"\*":return \2\*\3;case"\/":if|=":return \3;case"\+=":return))/g;
const COMPLEMENT = /case"~":return~([\w$]+);/g;
/** Computes in 64 bits. A result that the engine's numbers cannot hold is an error. */
const INTEGER_OPERATION =
  `const integersOfPaddock=(operator,left,right)=>{const name=operator.replace(/=$/,"");` +
  `if(!/^(?:[-+*&|^]|<<|>>|\\*\\*)$/.test(name)||!Number.isSafeInteger(left)||!Number.isSafeInteger(right))return;` +
  `if(name==="**"&&right<0)return;const a=BigInt(left),b=BigInt(right);const bits=b&63n;` +
  `const result=BigInt.asIntN(64,name==="+"?a+b:name==="-"?a-b:name==="*"?a*b:name==="&"?a&b:name==="|"?a|b:` +
  `name==="^"?a^b:name==="<<"?a<<bits:name===">>"?a>>bits:powerOfPaddock(a,b));const number=Number(result);` +
  `if(Number.isSafeInteger(number))return number;` +
  `throw new Error("arithmetic: the sandbox computes integers of up to 53 bits: the result is "+result)};` +
  `const powerOfPaddock=(base,exponent)=>{let result=1n,factor=base;for(let left=exponent;left>0n;left>>=1n){` +
  `if(left&1n)result=BigInt.asIntN(64,result*factor);factor=BigInt.asIntN(64,factor*factor)}return result};`;

/** Matches the rounding of \`int\` in the engine's awk. */
const AWK_INTEGER =
  /(async function [\w$]+\(([\w$]+),[\w$]+,[\w$]+\)\{return \2\.length===0\?0:)Math\.floor\(/g;

/** Matches \`wait\`, which the engine lets succeed. Without this, the shell's own command is run. */
const WAIT = /if\([\w$]+==="wait"\)return [\w$]+;/g;

/** Matches the reading of a variable whose default is the only part of a quoted word, such as `"${x:-1}"`. */
const DEFAULTED =
  /(=await [\w$]+\(([\w$]+),([\w$]+)\),[\w$]+=await [\w$]+\(\2,\3)(?=\),[\w$]+=[\w$]+==="",[\w$]+=[\w$]+\.checkEmpty)/g;

const EXPORTS = /export\{([^{}]*)\};?/g;
const ZLIB_IMPORT = /import\{([^{}]*)\}from"node:zlib";?/g;

/**
 * Bundles the shell's engine and its imports into one module, with eight changes:
 *
 * - The engine forgets variables, functions and directory after each script, and holds back output until its end. A hook
 *   passes each running script to the guest, which keeps the state and streams the output.
 * - `read` and `mapfile` put text into variables instead of bytes.
 * - `ls -l` prints the modes of files.
 * - Arithmetic is that of 64 bits, and fails where the engine's numbers are not exact.
 * - `int` of awk cuts negative numbers.
 * - With `set -u` a variable that is not set may have a default in a quoted word.
 * - `wait` is left to the guest, which has the exit codes of jobs.
 * - Compression uses another library, as a guest has no Node modules.
 *
 * @param bundle bundles a module with its imports
 * @throws {SandboxError} if the package cannot be bundled or has another version than expected.
 */
export async function bundleShell(signal?: AbortSignal, bundle: Bundle = bundleModule): Promise<Uint8Array> {
  // one after the other: each installs esbuild at the first use, and two at once write the same file
  const engine = await bundle(import.meta.resolve("../guest/shell/engine.ts"), signal);
  const zlib = await bundle(import.meta.resolve("../guest/shell/zlib.ts"), signal);
  const defaulted = replace(computeIntegers(engine), DEFAULTED, "$1,!1", 1); // the third argument: refuse if not set
  const listing = replace(replace(defaulted, WAIT, "", 1), LISTED_MODE, "modeOfPaddock($1)", 3);
  const source = replace(decodeLines(replace(listing, START, SHOWN_START, 1)), ZLIB_IMPORT, (_, names) => {
    return `const{${toProperties(names)}}=zlibOfPaddock;`;
  }, 3);
  const text = `${MODE_TEXT}${INTEGER_OPERATION}const zlibOfPaddock=(()=>{${
    replace(zlib, EXPORTS, returnExports, 1)
  }})();${source}`;
  return new TextEncoder().encode(text);
}

function computeIntegers(engine: string): string {
  const operators = replace(
    engine,
    ARITHMETIC,
    "$1const paddock=integersOfPaddock($4,$2,$3);if(paddock!==void 0)return paddock;",
    2,
  );
  const complements = replace(operators, COMPLEMENT, 'case"~":return-1-$1;', 1);
  return replace(complements, AWK_INTEGER, "$1Math.trunc(", 1);
}

function decodeLines(engine: string): string {
  const [, toText = ""] = TO_TEXT.exec(engine) ?? [];
  const reading = replace(engine, LINE_READ, `$1$2=${toText}($2);`, toText === "" ? 0 : 1);
  return replace(reading, LINE_MAPPED, `$1${toText}($2)`, 1);
}

/** Bundles a module with its imports and returns the source. */
export type Bundle = (entry: string, signal: AbortSignal | undefined) => Promise<string>;

async function bundleModule(entry: string, signal: AbortSignal | undefined): Promise<string> {
  const file = entry.startsWith("file:") ? fileURLToPath(entry) : undefined;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--minify", "--platform", "browser", file ?? entry],
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

type Replacement = string | ((match: string, group: string) => string);

function replace(source: string, pattern: RegExp, replacement: Replacement, count: number): string {
  const found = [...source.matchAll(pattern)].length;
  if (found === count) return source.replace(pattern, replacement as string);
  throw new SandboxError(
    `Cannot build the shell as its engine must have '${pattern.source}' in ${count} places: found ${found}`,
  );
}
