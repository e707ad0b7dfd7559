import callee from "./callee.py" with { type: "text" };
import plainData from "./plain_data.py" with { type: "text" };

/** What a function of a session's module is called with. */
export type PythonArgument = string | number | readonly string[];

/** Modules that those of two sessions apart may import, in the order in which they need each other. */
const SHARED = { paddock_plain_data: plainData, paddock_callee: callee };

/** The code that makes modules of a session importable by their names, and before them those that any may use. */
export function definingModules(sources: Readonly<Record<string, string>>): string {
  const defined = Object.entries({ ...SHARED, ...sources }).map(([name, source]) =>
    `_module = sys.modules["${name}"] = types.ModuleType("${name}")\n` +
    `exec(compile(${pythonString(source)}, "<${name}>", "exec"), _module.__dict__)`
  );
  return `import sys, types\n${defined.join("\n")}\ndel _module, sys, types`;
}

/** The code that calls a function of such a module. */
export function moduleCall(module: string, name: string, args: readonly PythonArgument[]): string {
  return `__import__("${module}").${name}(${args.map(pythonArgument).join(", ")})`;
}

function pythonArgument(argument: PythonArgument): string {
  if (typeof argument === "number") return String(argument);
  return typeof argument === "string" ? pythonString(argument) : `[${argument.map(pythonString).join(", ")}]`;
}

/** A literal of printable ASCII, which Python reads as the same text. */
function pythonString(text: string): string {
  return JSON.stringify(text).replace(/[^\x20-\x7e]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
  });
}
