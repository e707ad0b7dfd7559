import { pythonStr } from "../../tools/python_repr.ts";

/** Returns Python code that sets and unsets environment variables, or `undefined` without any. */
export function toEnvironmentCode(
  variables: Readonly<Record<string, string>>,
): { set: string; unset: string } | undefined {
  const names = Object.keys(variables);
  if (names.length === 0) return undefined;
  return {
    set: `__import__("os").environ.update(${pythonStr(variables)})`,
    unset: `[__import__("os").environ.pop(name, None) for name in ${pythonStr(names)}] and None`,
  };
}
