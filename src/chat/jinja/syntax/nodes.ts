import type { Value } from "../values/values.ts";

/** Place of a node in the source. */
interface Node {
  readonly at: number;
}

/** A name that is read (`load`), set (`store`), or bound by a loop, macro or `with` (`param`). */
export interface NameNode extends Node {
  readonly kind: "name";
  readonly name: string;
  use: "load" | "store" | "param";
}

/** Arguments of a call, filter or test. */
export interface CallArguments {
  readonly args: readonly Expression[];
  readonly keywords: readonly { readonly name: string; readonly value: Expression }[];
  /** Value after `*`. */
  readonly rest: Expression | undefined;
  /** Value after `**`. */
  readonly keywordRest: Expression | undefined;
}

export interface CallNode extends Node, CallArguments {
  readonly kind: "call";
  readonly callee: Expression;
}

/** A filter or test. A filter without `value` reads the text of the filter's block. */
export interface FilterNode extends Node, CallArguments {
  readonly kind: "filter";
  readonly value: Expression | undefined;
  readonly name: string;
}

export type BinaryOperator = "+" | "-" | "*" | "/" | "//" | "%" | "**";
export type CompareOperator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in";

export type Expression =
  | NameNode
  | CallNode
  | FilterNode
  | (Node & CallArguments & { readonly kind: "test"; readonly value: Expression; readonly name: string })
  | (Node & { readonly kind: "const"; readonly value: Value })
  | (Node & { readonly kind: "namespace_member"; readonly name: string; readonly member: string })
  | (Node & { readonly kind: "tuple" | "list" | "concat"; readonly items: readonly Expression[] })
  | (Node & { readonly kind: "dict"; readonly pairs: readonly (readonly [Expression, Expression])[] })
  | (Node & { readonly kind: "slice"; readonly bounds: readonly (Expression | undefined)[] })
  | (Node & { readonly kind: "item"; readonly object: Expression; readonly index: Expression })
  | (Node & { readonly kind: "attribute"; readonly object: Expression; readonly name: string })
  | (Node & {
    readonly kind: "conditional";
    readonly test: Expression;
    readonly yes: Expression;
    readonly no: Expression | undefined;
  })
  | (Node & {
    readonly kind: "binary";
    readonly operator: BinaryOperator;
    readonly left: Expression;
    readonly right: Expression;
  })
  | (Node & { readonly kind: "and" | "or"; readonly left: Expression; readonly right: Expression })
  | (Node & { readonly kind: "not" | "negative" | "positive"; readonly value: Expression })
  | (Node & {
    readonly kind: "compare";
    readonly first: Expression;
    readonly rest: readonly { readonly operator: CompareOperator; readonly value: Expression }[];
  });

export type Body = readonly Statement[];

/** Parameters of a macro or call block; defaults belong to the last of them. */
export interface Signature {
  readonly params: readonly NameNode[];
  readonly defaults: readonly Expression[];
}

export interface ForNode extends Node {
  readonly kind: "for";
  readonly target: Expression;
  readonly iterable: Expression;
  readonly test: Expression | undefined;
  readonly recursive: boolean;
  readonly body: Body;
  readonly otherwise: Body;
}

export interface IfNode extends Node {
  readonly kind: "if";
  readonly branches: readonly { readonly test: Expression; readonly body: Body }[];
  readonly otherwise: Body;
}

export interface MacroNode extends Node, Signature {
  readonly kind: "macro";
  readonly name: string;
  readonly body: Body;
}

/** A `call` block, or a `generation` block, which has no call. */
export interface CallBlockNode extends Node, Signature {
  readonly kind: "call_block";
  readonly call: CallNode | undefined;
  readonly body: Body;
}

export type Statement =
  | ForNode
  | IfNode
  | MacroNode
  | CallBlockNode
  | (Node & { readonly kind: "data"; readonly text: string })
  | (Node & { readonly kind: "print"; readonly value: Expression })
  | (Node & { readonly kind: "set"; readonly target: Expression; readonly value: Expression })
  | (Node & {
    readonly kind: "set_block";
    readonly target: Expression;
    readonly filter: FilterNode | undefined;
    readonly body: Body;
  })
  | (Node & { readonly kind: "filter_block"; readonly filter: FilterNode; readonly body: Body })
  | (Node & {
    readonly kind: "with";
    readonly targets: readonly Expression[];
    readonly values: readonly Expression[];
    readonly body: Body;
  })
  | (Node & { readonly kind: "break" | "continue" });

/** Returns the expressions inside an expression, in the order in which Jinja2 visits them. */
export function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case "name":
    case "const":
    case "namespace_member":
      return [];
    case "tuple":
    case "list":
    case "concat":
      return node.items;
    case "dict":
      return node.pairs.flat();
    case "slice":
      return node.bounds.filter((bound) => bound !== undefined);
    case "item":
      return [node.object, node.index];
    case "attribute":
      return [node.object];
    case "conditional":
      return [node.test, node.yes, ...node.no === undefined ? [] : [node.no]];
    case "binary":
    case "and":
    case "or":
      return [node.left, node.right];
    case "not":
    case "negative":
    case "positive":
      return [node.value];
    case "compare":
      return [node.first, ...node.rest.map(({ value }) => value)];
    case "call":
      return [node.callee, ...argumentsOf(node)];
    case "filter":
    case "test":
      return [...node.value === undefined ? [] : [node.value], ...argumentsOf(node)];
  }
}

function argumentsOf({ args, keywords, rest, keywordRest }: CallArguments): Expression[] {
  const all = [...args, ...keywords.map(({ value }) => value), rest, keywordRest];
  return all.filter((value) => value !== undefined);
}
