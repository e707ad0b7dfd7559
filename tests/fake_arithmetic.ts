import { parseArithmetic } from "../src/policy/arithmetic.ts";
import { bad, type FakePython, ok } from "./fake_pool.ts";

/** Runs the statements that the calculator policy writes: `v2 = v1 * 3` and `print("v2 =", v2)`. */
export const fakeArithmetic: FakePython = (code, globals) => {
  let stdout = "";
  for (const line of code.split("\n")) {
    const [, name = "", formula = ""] = /^(v\d+) = (.*)$/.exec(line) ?? [];
    const printed = /^print\("v\d+ =", (v\d+)\)$/.exec(line)?.[1];
    const value = valueOf(printed ?? formula, globals);
    if (value === undefined) return bad("error", { stdout });
    if (printed === undefined) globals.set(name, value);
    else stdout += `${printed} = ${value}\n`;
  }
  return ok(stdout);
};

function valueOf(formula: string, globals: Map<string, number>): number | undefined {
  const plain = formula.replace(/v\d+/g, (name) => `(${globals.get(name) ?? "unknown"})`);
  return parseArithmetic(plain)?.value;
}
