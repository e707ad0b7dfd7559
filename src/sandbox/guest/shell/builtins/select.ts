import { type Builtin, complained } from "./builtin.ts";
import { type CommandNode, literalWord, statementOf } from "./nodes.ts";

/** Name of the builtin that prints the menu of `select` and reads the answer. */
export const MENU = "__paddock_menu";
/** Name of the builtin that ends `select`. */
export const MENU_END = "__paddock_menu_end";
const WIDTH = 80;

/** Returns a `select` as a loop whose condition prints the menu and reads the answer. */
export function toMenuLoop<Node extends CommandNode>(node: Node): Node {
  const { variable = "", words, body, redirections = [] } = node;
  const all = {
    type: "DoubleQuoted",
    parts: [{ type: "ParameterExpansion", parameter: "@", operation: null }],
  };
  const items = words ?? [{ type: "Word", parts: [all] }];
  const menu = {
    type: "SimpleCommand",
    assignments: [],
    name: literalWord(MENU),
    args: [literalWord(variable), ...items],
    redirections: [],
  };
  const loop = { type: "While", condition: [statementOf(menu)], body: body ?? [], redirections: [] };
  const end = { ...menu, name: literalWord(MENU_END), args: [] };
  return { type: "Group", body: [statementOf(loop), statementOf(end)], redirections } as unknown as Node;
}

/** Prints the menu of `select` if the last answer was empty, and reads the next. It fails at the end of the input. */
export const menu: Builtin = async ({ args: [variable = "", ...items], state, run }) => {
  if (items.length === 0) return { stdout: "", stderr: "", exitCode: 1 };
  if (!/^[A-Za-z_]\w*$/.test(variable)) return complained(`\`${variable}': not a valid identifier`);
  let stderr = "";
  for (let isShown = state.env.get(SHOWN) !== "1";; isShown = true) {
    stderr += (isShown ? menuText(items) : "") + (state.env.get("PS3") ?? "#? ");
    state.env.set(SHOWN, "1");
    const read = await run("read", ["-r", "REPLY"]);
    if (read.exitCode !== 0) {
      state.env.set(SHOWN, "end");
      return { stdout: "\n", stderr, exitCode: 1 };
    }
    const answer = state.env.get("REPLY") ?? "";
    if (answer === "") continue;
    state.env.set(variable, /^\d+$/.test(answer) ? items[Number(answer) - 1] ?? "" : "");
    return { stdout: "", stderr, exitCode: 0 };
  }
};

/** Ends `select`, which fails at the end of the input. */
export const menuEnd: Builtin = ({ state }) => {
  const isAtEnd = state.env.get(SHOWN) === "end";
  state.env.delete(SHOWN);
  return { stdout: "", stderr: "", exitCode: isAtEnd ? 1 : state.lastExitCode };
};

/** Variable that says whether a loop has shown its menu. */
const SHOWN = "__paddock_menu_shown";

/** Returns the numbered items, in columns if the lines of a single column would not be short. */
function menuText(items: readonly string[]): string {
  const digits = String(items.length).length;
  const width = Math.max(...items.map((item) => item.length)) + digits + 2;
  const columns = Math.max(1, Math.floor(WIDTH / (width + 2)));
  const rows = columns >= items.length ? items.length : Math.ceil(items.length / columns);
  const lines = Array.from({ length: rows }, (_, row) => {
    const cells = items.flatMap((item, at) =>
      at % rows === row ? [`${String(at + 1).padStart(digits)}) ${item}`] : []
    );
    return cells.map((cell, at) => at === cells.length - 1 ? cell : cell.padEnd(width + 2)).join("");
  });
  return lines.map((line) => `${line}\n`).join("");
}
