import { type Builtin, type BuiltinCall, complained, joined, printed, type ShellState } from "./builtin.ts";

/** Builtins of POSIX that a shell finds before functions. */
const SPECIAL = new Set(
  ". : break continue eval exec exit export readonly return set shift source times trap unset".split(" "),
);

/** Names of bash's builtins, in the order in which `enable` lists them. */
export const BUILTIN_NAMES: ReadonlySet<string> = new Set(
  (". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo " +
    "enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd " +
    "printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type " +
    "typeset ulimit umask unalias unset wait").split(" "),
);
const USAGE = "enable: usage: enable [-a] [-dnps] [-f filename] [name ...]\n";

/** `enable`, which lists builtins, and disables builtins where a file of the same name shall run. */
export const enable: Builtin = ({ args, state }) => {
  const flags = args.filter((word) => /^-./.test(word)).join("").replaceAll("-", "");
  const names = args.filter((word) => !/^-./.test(word));
  const unknown = /[^adfnps]/.exec(flags)?.[0];
  if (unknown) {
    return { stdout: "", stderr: `bash: enable: -${unknown}: invalid option\n${USAGE}`, exitCode: 2 };
  }
  if (/[df]/.test(flags)) return complained("enable: builtins of files are not available in the sandbox");
  if (names.length === 0 || flags.includes("p")) return printed(listOf(state, flags));
  const disabled = new Set(state.disabledBuiltins);
  const results = names.map((name) => {
    if (!BUILTIN_NAMES.has(name)) return complained(`enable: ${name}: not a shell builtin`);
    if (flags.includes("n")) disabled.add(name);
    else disabled.delete(name);
    return printed("");
  });
  state.disabledBuiltins = disabled;
  return joined(results);
};

function listOf({ disabledBuiltins }: ShellState, flags: string): string {
  const isDisabled = (name: string) => disabledBuiltins?.has(name) === true;
  const listed = [...BUILTIN_NAMES].filter((name) => {
    if (flags.includes("s") && !SPECIAL.has(name)) return false;
    return flags.includes("a") || isDisabled(name) === flags.includes("n");
  });
  return listed.map((name) => `enable ${isDisabled(name) ? "-n " : ""}${name}\n`).join("");
}

/** Returns the first path of a command among the folders of `PATH`. */
export async function pathOfFile(
  files: { exists(path: string): Promise<boolean> },
  folders: string,
  name: string,
): Promise<string | undefined> {
  for (const folder of folders.split(":")) {
    const path = `${folder || "."}/${name}`;
    if (await files.exists(path)) return path;
  }
  return undefined;
}

/** Describes a disabled builtin, which is the file of its name, as `type` and `command -v` do. */
export async function describeFile(
  name: string,
  options: string,
  { state, interpreter }: BuiltinCall,
): Promise<ReturnType<typeof printed>> {
  const path = await pathOfFile(interpreter.ctx.fs, state.env.get("PATH") ?? "", name);
  if (path === undefined) return options === "" ? complained(`type: ${name}: not found`) : printed("", 1);
  if (options.includes("t")) return printed("file\n");
  return printed(/[pPv]/.test(options) ? `${path}\n` : `${name} is ${path}\n`);
}

/** Runs the file of a disabled builtin's name. */
export const runFile: Builtin = async ({ name, args, state, interpreter, stdin }) => {
  const path = await pathOfFile(interpreter.ctx.fs, state.env.get("PATH") ?? "", name);
  if (path === undefined) return { stdout: "", stderr: `bash: ${name}: command not found\n`, exitCode: 127 };
  return await interpreter.runCommand(path, args, args.map(() => true), stdin);
};
