import { orderKeys } from "../script/hash_order.ts";
import { type Builtin, type BuiltinCall, complained, joined, printed, type ShellState } from "./builtin.ts";
import { BUILTIN_NAMES, pathOfFile } from "./enable.ts";

const USAGE = "hash: usage: hash [-lr] [-p pathname] [-dt] [name ...]\n";
/** Number of buckets of the table of commands. */
const BUCKETS = 256;

/** Number of calls of each command, by the table that may have the command. */
const calls = new WeakMap<ReadonlyMap<string, string>, Map<string, number>>();

/** Counts a call of a command that is no builtin. */
export function countCall({ hashTable: table }: ShellState, name: string): void {
  if (!table) return;
  let counts = calls.get(table);
  if (!counts) calls.set(table, counts = new Map());
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** `hash`, which keeps the paths of commands. */
export const hash: Builtin = async (call) => {
  const { options, path, names, failure } = readArguments(call.args);
  if (failure !== undefined) return { stdout: "", stderr: failure, exitCode: 2 };
  const table = call.state.hashTable ??= new Map<string, string>();
  if (options.has("r")) {
    table.clear();
    calls.delete(table);
  }
  if (path !== undefined) return setPaths(call, table, { path, names });
  if (names.length === 0) {
    const needed = ["d", "t"].find((letter) => options.has(letter));
    if (needed) return complained(`hash: -${needed}: option requires an argument`);
    return options.has("r") ? printed("") : printed(listOf(table, options.has("l")));
  }
  const results = [];
  for (const name of names) {
    results.push(
      options.has("d")
        ? forget(table, name)
        : options.has("t")
        ? pathOf(table, name, { isNamed: names.length > 1, isReusable: options.has("l") })
        : await remember(call, table, name),
    );
  }
  return joined(results);
};

function readArguments(args: readonly string[]) {
  const options = new Set<string>();
  const names = [...args];
  let path: string | undefined;
  while (/^-./.test(names[0] ?? "")) {
    const word = names.shift() ?? "";
    if (word === "--") break;
    for (let at = 1; at < word.length; at++) {
      const letter = word.charAt(at);
      if (!"lrpdt".includes(letter)) {
        return { options, path, names, failure: `bash: hash: -${letter}: invalid option\n${USAGE}` };
      }
      options.add(letter);
      if (letter !== "p") continue;
      path = word.slice(at + 1) || names.shift();
      if (path === undefined) {
        return { options, path, names, failure: `bash: hash: -p: option requires an argument\n${USAGE}` };
      }
      break;
    }
  }
  return { options, path, names };
}

function setPaths(
  { state }: BuiltinCall,
  table: Map<string, string>,
  { path, names }: { readonly path: string; readonly names: readonly string[] },
) {
  for (const name of names) {
    table.set(name, path);
    calls.get(table)?.delete(name);
  }
  return { stdout: "", stderr: "", exitCode: names.length === 0 && state.lastExitCode ? 1 : 0 };
}

function forget(table: Map<string, string>, name: string) {
  if (!table.delete(name)) return complained(`hash: ${name}: not found`);
  calls.get(table)?.delete(name);
  return printed("");
}

function pathOf(
  table: ReadonlyMap<string, string>,
  name: string,
  { isNamed, isReusable }: { readonly isNamed: boolean; readonly isReusable: boolean },
) {
  const path = table.get(name);
  if (path === undefined) return complained(`hash: ${name}: not found`);
  if (isReusable) return printed(reusable(name, path));
  return printed(isNamed ? `${name}\t${path}\n` : `${path}\n`);
}

/** Looks up a command. Builtins and functions have no path. */
async function remember({ state, interpreter }: BuiltinCall, table: Map<string, string>, name: string) {
  if (name.includes("/") || BUILTIN_NAMES.has(name) || state.functions.has(name)) return printed("");
  const path = await pathOfFile(interpreter.ctx.fs, state.env.get("PATH") ?? "/usr/bin:/bin", name);
  if (path === undefined) return complained(`hash: ${name}: not found`);
  table.set(name, path);
  calls.get(table)?.delete(name);
  return printed("");
}

function listOf(table: ReadonlyMap<string, string>, isReusable: boolean): string {
  const names = orderKeys([...table.keys()].filter((name) => !BUILTIN_NAMES.has(name)), BUCKETS);
  if (names.length === 0) return "hash: hash table empty\n";
  const counts = calls.get(table);
  const lines = names.map((name) => {
    const path = table.get(name) ?? "";
    return isReusable ? reusable(name, path) : `${String(counts?.get(name) ?? 0).padStart(4)}\t${path}\n`;
  });
  return (isReusable ? "" : "hits\tcommand\n") + lines.join("");
}

function reusable(name: string, path: string): string {
  return `builtin hash -p ${path} ${name}\n`;
}
