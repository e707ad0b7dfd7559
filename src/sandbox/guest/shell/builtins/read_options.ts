import type { CommandOutput } from "../terminal.ts";
import { type Builtin, type BuiltinCall, complained } from "./builtin.ts";

const NAME = /^[A-Za-z_]\w*(?:\[.+\])?$/;
/** Variable that takes the option where the given name cannot. */
const NO_NAME = "__paddock_option";

/** `getopts`. The engine sets variables whose names cannot be expanded. */
export const getopts: Builtin = async ({ args, state, run }) => {
  const [letters, name, ...words] = args;
  if (letters === undefined || name === undefined || NAME.test(name)) return undefined;
  const output = await run("getopts", [letters, NO_NAME, ...words]);
  state.env.delete(NO_NAME);
  const refusal = complained(`getopts: \`${name}': not a valid identifier`);
  return { ...refusal, stderr: output.stderr + refusal.stderr };
};

const READ_USAGE =
  "read: usage: read [-ers] [-a array] [-d delim] [-i text] [-n nchars] [-N nchars] [-p prompt] " +
  "[-t timeout] [-u fd] [name ...]";
/** What the numbers of `read` must look like, and what a wrong one is called. */
const READ_NUMBERS: Readonly<Record<string, readonly [pattern: RegExp, complaint: string]>> = {
  N: [/^\d+$/, "invalid number"],
  n: [/^\d+$/, "invalid number"],
  t: [/^[-+]?\d*\.?\d*$/, "invalid timeout specification"],
  u: [/^\d+$/, "invalid file descriptor specification"],
};

/** `read`. The engine ignores unknown options and wrong numbers, and keeps null bytes. */
export const read: Builtin = async (call) => {
  const { options, names, refusal } = readOptionsOf(call.args);
  if (refusal) return refusal;
  const output = await readInput(call, options);
  if (output.exitCode !== 0 && output.stderr === "" && options.has("u")) {
    const descriptor = Number(options.get("u"));
    const descriptors = call.interpreter.ctx.state.fileDescriptors;
    if (descriptor > 2 && !descriptors?.has(descriptor)) {
      return complained(`read: ${descriptor}: invalid file descriptor: Bad file descriptor`);
    }
  }
  for (const name of names.length > 0 ? names : ["REPLY"]) dropNulls(call, name);
  return output;
};

/** Reads what a coprocess prints, the stdin of a coprocess, or what the engine has. */
async function readInput(call: BuiltinCall, options: ReadonlyMap<string, string>): Promise<CommandOutput> {
  const { args, state, stdin, run } = call;
  const { ownInput, awaitOutput } = call.interpreter.ctx;
  const given = options.get("u");
  const source = given === undefined ? call.stdinDescriptor ?? state.groupStdinSourceFd : Number(given);
  const timeMs = options.has("t") ? { timeMs: 1000 * Number(options.get("t")) } : {};
  const isRead = source === undefined ? undefined : await awaitOutput?.(source, timeMs);
  if (isRead === false) {
    return complained("read: the coprocess waits for input and prints nothing: both would wait for ever");
  }
  if (isRead && given === undefined && call.stdinDescriptor !== undefined) {
    return await run("read", ["-u", String(source), ...args]);
  }
  if (isRead && given === undefined) {
    state.groupStdin = String(call.interpreter.ctx.state.fileDescriptors?.get(source ?? 0) ?? "");
  } else if (ownInput?.isCurrent && given === undefined && stdin === "") {
    const end = options.has("d") ? (options.get("d") || "\0").charAt(0) : "\n";
    const count = Number(options.get("n") ?? options.get("N") ?? Infinity);
    await ownInput.waitFor((text) => text.length >= count || text.includes(end));
    state.groupStdin = ownInput.text;
    const output = await run("read", args);
    ownInput.leave(state.groupStdin ?? "");
    state.groupStdin = "";
    return output;
  }
  return await run("read", args);
}

/** Reads the options of `read`, of which one letter may have a value in the same word. */
function readOptionsOf(args: readonly string[]) {
  const options = new Map<string, string>();
  let at = 0;
  const refuse = (complaint: string) => {
    const refusal = complained(`read: ${complaint}\n${READ_USAGE}`, 2);
    return { options, names: [], refusal };
  };
  for (; /^-./.test(args[at] ?? "") && args[at] !== "--"; at++) {
    const word = args[at] ?? "";
    for (let sign = 1; sign < word.length; sign++) {
      const letter = word.charAt(sign);
      if ("ers".includes(letter)) continue;
      if (!"adinNptu".includes(letter)) return refuse(`-${letter}: invalid option`);
      const value = word.slice(sign + 1) || args[++at];
      if (value === undefined) return refuse(`-${letter}: option requires an argument`);
      const [pattern, complaint] = READ_NUMBERS[letter] ?? [];
      if (pattern && !pattern.test(value)) {
        return { options, names: [], refusal: complained(`read: ${value}: ${complaint}`) };
      }
      options.set(letter, value);
      break;
    }
  }
  return { options, names: args.slice(args[at] === "--" ? at + 1 : at), refusal: undefined };
}

function dropNulls({ state }: BuiltinCall, name: string): void {
  const value = state.env.get(name);
  if (value?.includes("\0")) state.env.set(name, value.replaceAll("\0", ""));
}

/** `mapfile` and `readarray`. The engine ignores joined options, `-u`, and the callback of `-C`. */
export const mapfile: Builtin = async ({ name, args, run }) => {
  const options: string[] = [];
  let at = 0;
  for (; /^-./.test(args[at] ?? "") && args[at] !== "--"; at++) {
    const [, flags = "", letter, value] = /^-(t*)([^t])?(.*)$/s.exec(args[at] ?? "") ?? [];
    if (flags !== "") options.push("-t");
    if (letter === undefined) continue;
    if (/[Ccu]/.test(letter)) {
      return complained(`${name}: the option -${letter} is not available in the sandbox`);
    }
    if (!/[dnOs]/.test(letter)) return undefined;
    options.push(`-${letter}`, value || (args[++at] ?? ""));
  }
  return await run(name, [...options, ...args.slice(args[at] === "--" ? at + 1 : at)]);
};
