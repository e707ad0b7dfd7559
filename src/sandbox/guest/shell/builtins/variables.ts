import { type Builtin, type BuiltinCall, printed } from "./builtin.ts";
import { describeFile } from "./enable.ts";
import { declareFunctions, typeOfFunctions } from "./functions.ts";

/** `declare` and `typeset`. The engine prints arrays without the letter of read-only ones. */
export const declareNames: Builtin = async (call) => {
  const functions = await declareFunctions(call);
  if (functions) return functions;
  const { name, args } = call;
  if (args.length > 0 && args.every((word) => /^-[aAp]*r[aAp]*$/.test(word))) return await listReadOnly(call);
  if (!args.some((word) => /^-[a-zA-Z]*p/.test(word)) && args.some((word) => !/^-[aA]$/.test(word))) {
    return undefined;
  }
  const output = await call.run(name, args);
  return { ...output, stdout: withReadOnly(withoutValues(output.stdout, call), call) };
};

/** Leaves out `=()` of arrays that were only declared. */
function withoutValues(text: string, { state }: BuiltinCall): string {
  return text.replace(/^(declare -[aA] ([a-zA-Z_]\w*))=\(\)$/gm, (line, declared, name) => {
    return state.arrays?.get(name)?.isAssigned === true ? line : declared;
  });
}

/** `readonly -p`, which lists arrays too. */
export const listReadOnly: Builtin = async (call) => {
  const { args, state, run } = call;
  if (!args.every((word) => /^-[aApr]+$/.test(word))) return undefined;
  const kind = /[aA]/.exec(args.join(""))?.[0];
  const names = [...state.readonlyVars ?? []].filter((name) => {
    const type = state.arrays?.get(name)?.kind;
    return kind ? type === (kind === "A" ? "associative" : "indexed") : type || state.env.has(name);
  }).sort();
  if (names.length === 0) return printed("");
  const { stdout } = await run("declare", ["-p", ...names]);
  return printed(withReadOnly(stdout, call));
};

function withReadOnly(text: string, { state }: BuiltinCall): string {
  return text.replace(/^declare -([aA])(?= ([a-zA-Z_]\w*)(?:=|$))/gm, (letters, _kind, name) => {
    return state.readonlyVars?.has(name) ? `${letters}r` : letters;
  });
}

const ALIAS = "BASH_ALIAS_";

/** `type` and `command -v`, which do not find aliases unless `expand_aliases` is set. */
export const describeNames: Builtin = async (call) => {
  const { name, args, state, run } = call;
  const options = args.filter((word) => /^-./.test(word)).join("");
  const [word, ...others] = args.filter((given) => !/^-./.test(given));
  if (word !== undefined && others.length === 0 && state.disabledBuiltins?.has(word)) {
    if (name === "type" || /[pvV]/.test(options)) return await describeFile(word, options, call);
  }
  const isQuestion = name === "type" || /^-[pvV]/.test(args[0] ?? "");
  const aliases = [...state.env].filter(([variable]) => variable.startsWith(ALIAS));
  if (!isQuestion || state.shoptOptions.expand_aliases || aliases.length === 0) {
    return name === "type" ? await typeOfFunctions(call) : undefined;
  }
  for (const [variable] of aliases) state.env.delete(variable);
  try {
    return (name === "type" ? await typeOfFunctions(call) : undefined) ?? await run(name, args);
  } finally {
    for (const [variable, value] of aliases) state.env.set(variable, value);
  }
};
