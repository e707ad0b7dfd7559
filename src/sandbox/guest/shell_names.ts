interface Word {
  readonly type: string;
  readonly parts: readonly { readonly type: string }[];
}

interface SimpleCommand {
  readonly type: string;
  readonly name?: Word | null;
  readonly args?: readonly Word[];
}

const EXPANSIONS = new Set(["ParameterExpansion", "CommandSubstitution"]);
/** `${paddock_nothing-}`: behind a name that comes to nothing, the engine takes the first argument for the name. */
const NOTHING = {
  type: "Word",
  parts: [{
    type: "ParameterExpansion",
    parameter: "paddock_nothing",
    operation: { type: "DefaultValue", word: { type: "Word", parts: [] }, checkEmpty: false },
  }],
};

/** A command whose name is split into words as its arguments are, as in `run='python -u'; $run a.py`. */
export function withSplitName<Node extends SimpleCommand>(node: Node): Node {
  const { type, name, args = [] } = node;
  const [part, ...more] = name?.parts ?? [];
  if (type !== "SimpleCommand" || !name || !part || more.length > 0 || !EXPANSIONS.has(part.type)) {
    return node;
  }
  return { ...node, name: NOTHING, args: [name, ...args] };
}
