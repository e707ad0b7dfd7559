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
  t: [/^\d*\.?\d*$/, "invalid timeout specification"],
  u: [/^\d+$/, "invalid file descriptor specification"],
};

/** `read`. The engine ignores unknown options and wrong numbers, and keeps null bytes. */
export const read: Builtin = async (call) => {
  const { options, names, refusal } = readOptionsOf(call.args);
  if (refusal) return refusal;
  const output = await call.run("read", call.args);
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
