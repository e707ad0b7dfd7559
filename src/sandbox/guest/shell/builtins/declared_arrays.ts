import { type CommandNode, literalWord, statementOf, textOf, type WordNode } from "./nodes.ts";

/** An argument such as `name=(1 2)`. */
interface ArrayWord extends WordNode {
  readonly array: { readonly name: string; readonly words: readonly WordNode[] };
}

const DECLARING = new Set(["declare", "typeset", "local", "export", "readonly"]);

/**
 * Returns a declaration of arrays with values as a group that declares and then assigns them, or `undefined` for any
 * other command. The engine would split the values of the declaration again.
 */
export function toAssignedArrays<Node extends CommandNode>(node: Node): Node | undefined {
  const { type, name, args = [] } = node;
  const arrays = args.filter(isArray);
  const declaring = textOf(name) ?? "";
  if (type !== "SimpleCommand" || arrays.length === 0 || !DECLARING.has(declaring)) return undefined;
  const isReadOnly = declaring === "readonly" || args.some((word) => /^-[a-zA-Z]*r/.test(textOf(word) ?? ""));
  const declared = {
    ...node,
    ...(declaring === "readonly" && { name: literalWord("declare") }),
    args: args.map((word) => {
      if (isArray(word)) {
        return word.array.name.endsWith("+") ? literalWord(nameOf(word)) : emptyArray(nameOf(word));
      }
      const text = textOf(word) ?? "";
      return isReadOnly && /^-[a-zA-Z]*r/.test(text) ? literalWord(text.replace("r", "") || "--") : word;
    }),
  };
  const empty = { type: "SimpleCommand", assignments: [], name: null, args: [], redirections: [] };
  const assigned = arrays.map((word) => ({ ...empty, assignments: [assignmentOf(word)] }));
  const names = arrays.map((word) => literalWord(nameOf(word)));
  const frozen = { ...empty, name: literalWord("readonly"), args: names };
  const commands = [declared, ...assigned, ...isReadOnly ? [frozen] : []];
  return {
    type: "Group",
    body: commands.map(statementOf),
    redirections: [],
    line: node.line,
  } as unknown as Node;
}

function isArray(word: WordNode): word is ArrayWord {
  return "array" in word;
}

/** Returns the word `name=()`, by which the engine keeps the array of an enclosing scope. */
function emptyArray(name: string): WordNode {
  return { type: "Word", parts: [{ type: "Literal", value: `${name}=()` }] };
}

function nameOf({ array: { name } }: ArrayWord): string {
  return name.replace(/\+$/, "");
}

function assignmentOf({ array: { name, words } }: ArrayWord): object {
  return {
    type: "Assignment",
    name: name.replace(/\+$/, ""),
    value: null,
    append: name.endsWith("+"),
    array: words,
    source: `${name.replace(/\+$/, "")}${name.endsWith("+") ? "+" : ""}=(${
      words.map(({ source = "" }) => source).join(" ")
    })`,
  };
}
