import { latin1Bytes } from "../script/byte_text.ts";
import type { CommandOutput } from "../terminal.ts";
import { type Builtin, type BuiltinCall, complained, printed } from "./builtin.ts";

const decoder = new TextDecoder();
const STDIN = /^(?:\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/;

/** `break` and `continue`, which outside of loops complain and go on. */
export const leaveLoop: Builtin = async ({ name, args, state, run }) => {
  if (state.loopDepth === 0) {
    return complained(`${name}: only meaningful in a \`for', \`while', or \`until' loop`, 0);
  }
  const [count] = args;
  if (count === undefined || !/^[-+]?\d+$/.test(count) || Number(count) > 0) return undefined;
  try {
    return await run("break", [String(state.loopDepth)]);
  } catch (error) {
    const message = complained(`${name}: ${count}: loop count out of range`);
    throw Object.assign(error as Error, { stderr: message.stderr });
  }
};

/** `return`, which outside of functions and sourced files complains and goes on. */
export const returnFrom: Builtin = ({ state }) => {
  if ((state.callDepth ?? 0) > 0 || (state.sourceDepth ?? 0) > 0) return undefined;
  return complained("return: can only `return' from a function or sourced script", 2);
};

/** `exit` with more than one number, which ends the shell too. */
export const exit: Builtin = async ({ args, run }) => {
  const words = args[0] === "--" ? args.slice(1) : args;
  if (words.length < 2 || !/^\s*[-+]?\d+\s*$/.test(words[0] ?? "")) return undefined;
  try {
    return await run("exit", ["1"]);
  } catch (error) {
    throw Object.assign(error as Error, { stderr: "bash: exit: too many arguments\n" });
  }
};

/** `shift`, which fails if there are not as many arguments: in silence, without the option `shift_verbose`. */
export const shift: Builtin = ({ args: [count = "1"], state }) => {
  const isTooMany = /^\d+$/.test(count) && Number(count) > Number(state.env.get("#") ?? 0);
  if (!isTooMany) return undefined;
  if (state.otherOptions?.get("shift_verbose")) {
    return complained(`shift: ${count}: shift count out of range`);
  }
  return { stdout: "", stderr: "", exitCode: 1 };
};

/** `let`, whose arguments the engine does not read as `((…))` does. */
export const letVariables: Builtin = async (call) => {
  if (call.args.length === 0) return undefined;
  const { xtrace } = call.state.options;
  if (!xtrace) return await computeAll(call);
  call.state.options.xtrace = false; // the trace has the call, not how it is done
  try {
    return await computeAll(call);
  } finally {
    call.state.options.xtrace = xtrace;
  }
};

async function computeAll({ args, run }: BuiltinCall): Promise<CommandOutput> {
  let exitCode = 0;
  let [stdout, stderr] = ["", ""];
  for (const text of args) {
    const result = await run("eval", [`((${text}\n))`]);
    stdout += result.stdout;
    stderr += result.stderr.replace("((", "let");
    exitCode = result.exitCode;
  }
  return { stdout, stderr, exitCode };
}

/** `source` of the standard input, which the engine takes for an empty file. */
export const sourceStdin: Builtin = async ({ name, args, stdin, state, interpreter, run }) => {
  const [path = ""] = args[0] === "--" ? args.slice(1) : args;
  if (!STDIN.test(path)) return undefined;
  const text = decoder.decode(latin1Bytes(stdin || (state.groupStdin ?? "")));
  const outer = interpreter.ctx.sourceText;
  interpreter.ctx.sourceText = (read) => read === path ? text : outer?.(read);
  try {
    return await run(name, args);
  } finally {
    interpreter.ctx.sourceText = outer;
  }
};

/**
 * `cd` with more than one folder, which the engine would take for the first folder, to `OLDPWD`, and to the folder that
 * a variable names, with the option `cdable_vars`.
 */
export const changeFolder: Builtin = async ({ args, state, interpreter, run }) => {
  const end = args.indexOf("--");
  const folders = args.filter((word, at) => word === "-" || !word.startsWith("-") || (end >= 0 && at > end));
  const [name] = folders;
  if (folders.length > 1) return complained("cd: too many arguments");
  if (name === "-") {
    const before = state.env.get("OLDPWD");
    if (before === undefined) return complained("cd: OLDPWD not set");
    const output = await run("cd", args.map((word) => word === "-" ? before : word));
    return output.exitCode === 0 ? { ...output, stdout: `${state.env.get("PWD")}\n` } : output;
  }
  if (name === undefined || !state.otherOptions?.get("cdable_vars")) return undefined;
  const folder = state.env.get(name);
  const { fs, state: { cwd } } = interpreter.ctx as unknown as FolderContext;
  if (folder === undefined || await fs.exists(fs.resolvePath(cwd, name))) return undefined;
  const output = await run("cd", args.map((word) => word === name ? folder : word));
  return output.exitCode === 0 ? { ...output, stdout: `${folder}\n` } : output;
};

/** The parts of the engine's context that find a folder. */
interface FolderContext {
  readonly fs: { exists(path: string): Promise<boolean>; resolvePath(base: string, path: string): string };
  readonly state: { readonly cwd: string };
}

/** `logout`, which ends login shells only. */
export const logout: Builtin = () => complained("logout: not login shell: use `exit'");

/** `caller`, which prints the line, the function and the file of a call. A command string has no file. */
export const caller: Builtin = ({ args: [level], state }) => {
  const { funcNameStack: functions = [], callLineStack: lines = [], sourceStack: sources = [] } = state;
  if (level !== undefined && !/^\d+$/.test(level)) {
    return {
      stdout: "",
      stderr: `bash: caller: ${level}: invalid number\ncaller: usage: caller [expr]\n`,
      exitCode: 2,
    };
  }
  const script = state.env.get("0") ?? "bash";
  const isScript = !COMMAND_STRING.test(script);
  const shown = (source: string) =>
    source !== "main" && source !== "" ? source : isScript ? script : "environment";
  const names = [...functions, ...isScript ? ["main"] : []];
  const files = [...sources, ...isScript ? ["main"] : []].map(shown);
  if (level === undefined) {
    const line = lines[0] ?? (isScript ? 0 : undefined);
    return line === undefined ? printed("", 1) : printed(`${line} ${files[1] ?? "NULL"}\n`);
  }
  const [line, name, file] = [lines[Number(level)], names[Number(level) + 1], files[Number(level) + 1]];
  return line === undefined || name === undefined ? printed("", 1) : printed(`${line} ${name} ${file}\n`);
};

/** `$0` of a shell that runs no script. */
const COMMAND_STRING = /^-?(?:ba)?sh$/;
