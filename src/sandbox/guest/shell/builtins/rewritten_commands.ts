import { toAssignedArrays } from "./declared_arrays.ts";
import { EMPTY_NAME, toExecGroup } from "./exec.ts";
import { statementOf } from "./nodes.ts";
import { toMenuLoop } from "./select.ts";

interface WordPart {
  readonly type: string;
  readonly parts?: readonly { readonly parameter?: string }[];
}

interface Word {
  readonly type: string;
  readonly parts: readonly WordPart[];
}

interface Redirection {
  readonly fd: number | null;
  readonly operator: string;
  readonly target: { readonly parts?: readonly { readonly value?: unknown }[] };
}

interface SimpleCommand {
  readonly type: string;
  readonly name?: Word | null;
  readonly args?: readonly Word[];
  readonly redirections?: readonly Redirection[];
  /** Words of a loop. */
  readonly words?: readonly Word[] | null;
  readonly isSelect?: boolean;
  readonly line?: number;
  /** True if a condition is in a group that has its stdin. */
  readonly isGrouped?: boolean;
}

const EXPANSIONS = new Set(["ParameterExpansion", "CommandSubstitution"]);

/** True if a part of a word may expand to several words. */
function isSplit({ type, parts = [] }: WordPart): boolean {
  const [inner, ...more] = parts;
  return EXPANSIONS.has(type) ||
    (type === "DoubleQuoted" && more.length === 0 && /^@$|\[@\]$/.test(inner?.parameter ?? ""));
}

const CONDITIONS = new Set(["If", "Case", "ConditionalCommand"]);

/** Returns a group of a condition that has stdin, which the engine gives to commands of groups only. */
export function toReadingGroup<Node extends SimpleCommand>(node: Node): Node {
  if (!CONDITIONS.has(node.type) || node.isGrouped) return node;
  const body = [statementOf({ ...node, isGrouped: true } as never)];
  return { type: "Group", body, redirections: [], line: node.line } as unknown as Node;
}

/** `"$@"`: the engine splits the arguments of `for name; do` at blanks. */
const ALL_ARGUMENTS = {
  type: "Word",
  parts: [{
    type: "DoubleQuoted",
    parts: [{ type: "ParameterExpansion", parameter: "@", operation: null }],
  }],
};

/**
 * Returns a command whose name is split into words, as its arguments are, and a loop over all arguments. Example:
 * `run='python -u'; $run a.py`.
 */
export function rewriteCommand<Node extends SimpleCommand>(given: Node): Node {
  const node = withDescriptors(given);
  const { type, name, args = [] } = node;
  if (node.isSelect) return toMenuLoop(node as never);
  const group = toExecGroup(node as never) ?? toAssignedArrays(node as never);
  if (group) return group;
  if (type === "For" && node.words === null) return { ...node, words: [ALL_ARGUMENTS] };
  const [part, ...more] = name?.parts ?? [];
  if (type !== "SimpleCommand" || !name || !part || more.length > 0 || !isSplit(part)) {
    return node;
  }
  return { ...node, name: EMPTY_NAME, args: [name, ...args] };
}

const DESCRIPTOR = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/;

/** Returns a command whose redirections to `/dev/fd/N` are ones to the descriptor. */
function withDescriptors<Node extends SimpleCommand>(node: Node): Node {
  const { redirections } = node;
  if (!redirections?.some((redirection) => descriptorOf(redirection))) return node;
  return {
    ...node,
    redirections: redirections.map((redirection) => {
      const number = descriptorOf(redirection);
      if (number === undefined) return redirection;
      const operator = redirection.operator === "<" ? "<&" : ">&";
      const target = { type: "Word", parts: [{ type: "Literal", value: number }] };
      return { ...redirection, operator, target, fd: redirection.fd ?? (operator === "<&" ? 0 : 1) };
    }),
  };
}

function descriptorOf({ operator, target }: Redirection): string | undefined {
  if (!/^(?:<|>|>>|>\|)$/.test(operator)) return undefined;
  const [part, ...more] = target.parts ?? [];
  return more.length === 0 && typeof part?.value === "string" ? DESCRIPTOR.exec(part.value)?.[1] : undefined;
}
