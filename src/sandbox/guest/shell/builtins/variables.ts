import { type Builtin, type BuiltinCall, complained, joined, printed } from "./builtin.ts";
import { describeFile } from "./enable.ts";
import { declareFunctions, typeOfFunctions } from "./functions.ts";

/** `declare` and `typeset`. The engine prints arrays without the letter of read-only ones. */
export const declareNames: Builtin = async (call) => {
  const functions = await declareFunctions(call);
  if (functions) return functions;
  const { name, args } = call;
  const refusal = refuseReferences(call);
  if (refusal) return refusal;
  if (args.length > 0 && args.every((word) => /^-[aAp]*r[aAp]*$/.test(word))) return await listReadOnly(call);
  if (args.length > 0 && args.every((word) => /^-[ilntux]+$/.test(word))) {
    return await listAttributes(args.join("").replaceAll("-", ""), call);
  }
  if (!args.some((word) => /^-[a-zA-Z]*p/.test(word)) && args.some((word) => !/^-[aA]$/.test(word))) {
    return undefined;
  }
  const output = await call.run(name, args);
  return { ...output, stdout: withReadOnly(withoutValues(output.stdout, call), call) };
};

/** `declare -i` and others without a name, which list the variables that have the attributes. */
async function listAttributes(letters: string, { name, run }: BuiltinCall) {
  const output = await run(name, ["-p", `-${letters}`]);
  const [declared] = /[lu]/.exec(letters) ?? []; // of which the engine lists all
  if (declared === undefined) return output;
  const lines = output.stdout.match(/^declare -[^]*?\n(?=declare -|$)/gm) ?? [];
  return printed(lines.filter((line) => /^declare -(\w*)/.exec(line)?.[1]?.includes(declared)).join(""));
}

/** Refuses references to what is no name, and to themselves. */
function refuseReferences({ name, args, state }: BuiltinCall) {
  if (!args.some((word) => /^-[a-zA-Z]*n/.test(word))) return undefined;
  for (const word of args.filter((word) => !/^[-+]/.test(word))) {
    const [variable = "", given] = word.split(/=([^]*)/);
    const target = given ?? state.env.get(variable) ?? "";
    if (target === variable) {
      return complained(`${name}: ${variable}: nameref variable self references not allowed`);
    }
    if (target !== "" && !NAME.test(target)) {
      return complained(`${name}: \`${target}': invalid variable name for name reference`);
    }
  }
  return undefined;
}

/** `local` with attributes, which in a function is `declare`: the engine's has no attributes. */
export const local: Builtin = async (call) => {
  const { args, state, run } = call;
  const scope = state.localScopes?.at(-1);
  if (scope && args.every((word) => word === "-p")) {
    return await run("declare", ["-p", ...[...scope.keys()].sort()]);
  }
  const hasAttributes = args.some((word) => /^[-+][aAilnrtux]+$/.test(word));
  if (!hasAttributes || !state.callDepth || args.includes("-")) return undefined;
  return refuseReferences(call) ?? await run("declare", args);
};

/** Leaves out `=()` of arrays that were only declared. */
function withoutValues(text: string, { state }: BuiltinCall): string {
  return text.replace(/^(declare -[aA] ([a-zA-Z_]\w*))=\(\)$/gm, (line, declared, name) => {
    return state.arrays?.get(name)?.isAssigned === true ? line : declared;
  });
}

const NAME = /^[a-zA-Z_]\w*(?:\[[^]*\])?$/;

/** `unset`. Without `-v` a word that is no name may be a function, and is no error. */
export const unset: Builtin = async ({ args, state, run }) => {
  if (/^-./.test(args[0] ?? "") || args.every((word) => NAME.test(word))) return undefined;
  const others = args.filter((word) => !NAME.test(word) && state.functions.has(word));
  if (others.length > 0) await run("unset", ["-f", ...others]);
  const names = args.filter((word) => NAME.test(word));
  return names.length > 0 ? await run("unset", names) : printed("");
};

/** `compgen` by a function or a command, of which bash warns. */
export const compgen: Builtin = async ({ args, run }) => {
  const option = args.find((word) => word === "-F" || word === "-C");
  if (option === undefined) return undefined;
  const { stderr } = complained(`compgen: warning: ${option} option may not work as you expect`);
  const output = await run("compgen", args);
  return { ...output, stderr: stderr + output.stderr };
};

/** `alias`, whose options the engine takes for names. */
export const alias: Builtin = async ({ args, run }) => {
  const [option = ""] = args;
  if (/^-./.test(option) && option !== "--" && option !== "-p") {
    const usage = "alias: usage: alias [-p] [name[=value] ... ]";
    return complained(`alias: ${option.slice(0, 2)}: invalid option\n${usage}`, 2);
  }
  const words = option === "-p" || option === "--" ? args.slice(1) : args;
  const listed = option === "-p" || words.length === 0 ? await run("alias", []) : printed("");
  const results = [listed];
  for (const word of words) results.push(await run("alias", [word]));
  return joined(results);
};

/** `readonly -p`, which lists arrays too. */
export const listReadOnly: Builtin = async (call) => {
  const { args, name: builtin, state, run } = call;
  const wrong = args.find((word) => !/^-./.test(word) && !/^[a-zA-Z_]\w*(?:$|\+?=|\[)/.test(word));
  if (builtin === "readonly" && wrong !== undefined && wrong !== "--" && !args.includes("-f")) {
    return complained(`readonly: \`${wrong}': not a valid identifier`);
  }
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

/** `command -v` of several names, which succeeds if there is one of them. */
async function describeEach(call: BuiltinCall) {
  const { args: [option = "", ...names] } = call;
  const results = [];
  for (const name of names) {
    const part = { ...call, args: [option, name] };
    results.push(await describeNames(part) ?? await call.run("command", part.args));
  }
  return { ...joined(results), exitCode: results.some(({ exitCode }) => exitCode === 0) ? 0 : 1 };
}

/** `command -V`, which describes a name as `type` does. */
async function describeAtLength(name: string, call: BuiltinCall) {
  const described = await describeNames({ ...call, name: "type", args: [name] }) ??
    await call.run("type", [name]);
  const stderr = described.stderr.replace(/^(bash: )?type: /, "bash: command: ");
  return { ...described, stderr };
}

/** `type` and `command -v`, which do not find aliases unless `expand_aliases` is set. */
export const describeNames: Builtin = async (call) => {
  const { name, args, state, run } = call;
  const options = args.filter((word) => /^-./.test(word)).join("");
  const [word, ...others] = args.filter((given) => !/^-./.test(given));
  if (word !== undefined && others.length === 0 && state.disabledBuiltins?.has(word)) {
    if (name === "type" || /[pvV]/.test(options)) return await describeFile(word, options, call);
  }
  const [, unknown] = /^-[pvV]*([^pvV-])/.exec(args[0] ?? "") ?? [];
  if (name === "command" && unknown !== undefined) {
    const usage = "command: usage: command [-pVv] command [arg ...]";
    return complained(`command: -${unknown}: invalid option\n${usage}`, 2);
  }
  if (name === "command" && /^-[vV]+$/.test(args[0] ?? "") && args.length > 2) {
    return await describeEach(call);
  }
  if (name === "command" && args[0] === "-V" && word !== undefined) return await describeAtLength(word, call);
  if (word === "coproc" && others.length === 0 && (name === "type" || options === "-v")) {
    return printed(
      name === "command" ? "coproc\n" : options === "-t" ? "keyword\n" : "coproc is a shell keyword\n",
    );
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
