import { type Builtin, complained } from "./builtin.ts";

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
