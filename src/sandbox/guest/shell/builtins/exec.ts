import type { ShellState } from "./builtin.ts";
import { type CommandNode, literalWord, statementOf, textOf, type WordNode } from "./nodes.ts";

/** A word that is empty: if a command's name is empty, the engine uses the first argument as the name. */
export const EMPTY_NAME: WordNode = {
  type: "Word",
  parts: [
    {
      type: "ParameterExpansion",
      parameter: "paddock_nothing",
      operation: { type: "DefaultValue", word: { type: "Word", parts: [] }, checkEmpty: false },
    } as WordNode["parts"][number],
  ],
};

/** Names of the builtins around the command of `exec`. The second builtin ends the shell. */
export const EXEC_START = "__paddock_exec_start";
export const EXEC_END = "__paddock_exec_end";

/** Changes `SHLVL`. The command of `exec` takes the place of a shell. */
export function countShells({ env }: Pick<ShellState, "env">, change: 1 | -1): void {
  env.set("SHLVL", String((Number(env.get("SHLVL")) || 0) + change));
}

/**
 * Returns `exec command` as a group that runs the command and ends the shell, or `undefined` for any other command. An
 * `exec` without a command redirects the shell's own output.
 */
export function toExecGroup<Node extends CommandNode>(node: Node): Node | undefined {
  const { type, name, args = [] } = node;
  if (type !== "SimpleCommand" || textOf(name) !== "exec") return undefined;
  const { isEmpty, words } = readOptions(args);
  if (words.length === 0) return undefined;
  const command = { ...node, name: EMPTY_NAME, args: [...isEmpty ? EMPTY_ENVIRONMENT : [], ...words] };
  const [start, end] = [EXEC_START, EXEC_END].map((word) => ({
    type: "SimpleCommand",
    assignments: [],
    name: literalWord(word),
    args: [],
    redirections: [],
  }));
  const body = [start, command, end].flatMap((part) => part ? [statementOf(part)] : []);
  return { type: "Group", body, redirections: [], line: node.line } as unknown as Node;
}

const EMPTY_ENVIRONMENT = [literalWord("env"), literalWord("-i")];

/** Reads the options before the command: `-c` for an empty environment; `-l` and `-a name` only name the process. */
function readOptions(args: readonly WordNode[]): { isEmpty: boolean; words: readonly WordNode[] } {
  let isEmpty = false;
  for (let at = 0; at < args.length; at++) {
    const text = textOf(args[at]);
    if (text === "--") return { isEmpty, words: args.slice(at + 1) };
    if (text === undefined || !/^-[acl]+$/.test(text)) return { isEmpty, words: args.slice(at) };
    if (text.includes("c")) isEmpty = true;
    if (text.endsWith("a")) at++;
  }
  return { isEmpty, words: [] };
}
