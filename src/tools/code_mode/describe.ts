import type { CodeToolSpec } from "./python_names.ts";
import { pythonStubs } from "./python_stubs.ts";

/** Returns the text that tells a model of the tools: how code calls the tools, and their stubs. */
export function describeCodeTools(specs: readonly CodeToolSpec[]): string {
  return [
    `Your Python code can call these functions${wayToCall(specs)}. ` +
    "They are called by position or by name, return Python values, and raise `paddock.ToolError` when they fail. " +
    "Each has a form to await, `call_async(...)`, which lets calls run at the same time.",
    `~~~python\n${pythonStubs(specs)}\n~~~`,
  ].join("\n\n");
}

/** Returns how code reaches the first tool, as all tools are named in the same way. */
function wayToCall(specs: readonly CodeToolSpec[]): string {
  const [first] = specs;
  const inModule = specs.find(({ module }) => module !== undefined);
  if (inModule !== undefined) {
    const { module, alias } = inModule;
    const others = specs.some((spec) => spec.module === undefined)
      ? ", and those of no module as `tools.NAME(...)` after `from paddock import tools`"
      : "";
    return ` after an import of their module, as in \`from paddock import ${module}\` and \`${module}.${alias}(...)\`${others}`;
  }
  if (first?.alias !== undefined) return `, as in \`${first.alias}(...)\``;
  return ` after \`from paddock import tools\`, as in \`tools.${first?.pythonName}(...)\``;
}
