import { type Builtin, type BuiltinCall, complained, joined, printed, type ShellState } from "./builtin.ts";
import { exportedFunctionText, functionText } from "./function_text.ts";

/** `declare` and `typeset` with `-f` or `-F`, which print functions. */
export const declareFunctions: Builtin = ({ name, args, state }) => {
  const options = args.filter((word) => /^[-+]./.test(word)).join("");
  if (!/[fF]/.test(options)) return undefined;
  const names = args.filter((word) => !/^[-+]./.test(word));
  const isBrief = options.includes("F");
  const exported = state.exportedFunctions ?? new Set();
  if (names.length > 0) {
    return joined(names.map((word) => {
      const node = state.functions.get(word);
      if (!node) return { stdout: "", stderr: "", exitCode: 1 };
      if (options.includes("x")) state.exportedFunctions = new Set([...exported, word]);
      return printed(options.includes("x") ? "" : isBrief ? `${word}\n` : functionText(word, node));
    }));
  }
  if (options.includes("r")) return complained(`${name}: ${options}: is not available in the sandbox`);
  const listed = [...state.functions].toSorted(([left], [right]) => left < right ? -1 : 1)
    .filter(([word]) => !options.includes("x") || exported.has(word));
  return printed(
    listed.map(([word, node]) => {
      const flags = `declare -f${exported.has(word) ? "x" : ""} ${word}\n`;
      if (isBrief) return flags;
      return functionText(word, node) + (exported.has(word) ? flags : "");
    }).join(""),
  );
};

/** `export -f`, which passes functions to programs. */
export const exportFunctions: Builtin = ({ args, state }) => {
  const [options = "", ...names] = args;
  if (!/^-[nf]*f[nf]*$/.test(options)) return undefined;
  const exported = new Set(state.exportedFunctions);
  const results = names.map((word) => {
    if (!state.functions.has(word)) return complained(`export: ${word}: not a function`);
    if (options.includes("n")) exported.delete(word);
    else exported.add(word);
    return printed("");
  });
  state.exportedFunctions = exported;
  return joined(results);
};

/** `type` of functions. */
export const typeOfFunctions: Builtin = async (call) => {
  const { args, state } = call;
  if (args.some((word) => /^-./.test(word)) || !args.some((word) => state.functions.has(word))) {
    return undefined;
  }
  const results = [];
  for (const word of args) results.push(await typeOf(word, call));
  return joined(results);
};

async function typeOf(word: string, { state, run }: BuiltinCall) {
  const node = state.functions.get(word);
  return node ? printed(`${word} is a function\n${functionText(word, node)}`) : await run("type", [word]);
}

/** Returns the variables by which programs get the exported functions. */
export function functionVariables(
  { functions, exportedFunctions = new Set() }: ShellState,
): Record<string, string> {
  const variables = [...exportedFunctions].flatMap((name) => {
    const node = functions.get(name);
    return node ? [[functionVariable(name), exportedFunctionText(name, node)]] : [];
  });
  return Object.fromEntries(variables);
}

/** Returns the name of the variable that has an exported function. */
export function functionVariable(name: string): string {
  return `BASH_FUNC_${name}%%`;
}

/** Returns a script that defines the functions that a program gets by its variables. */
export function functionDefinitions(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables).flatMap(([variable, text]) => {
    const [, name] = /^BASH_FUNC_([^%=]+)%%$/.exec(variable) ?? [];
    return name !== undefined && text.startsWith("() {") ? [`${name} ${text}\nexport -f ${name}\n`] : [];
  }).join("");
}
