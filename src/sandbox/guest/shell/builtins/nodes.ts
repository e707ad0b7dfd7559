/** A word of a script, with its text. The engine's own parts of a word are opaque. */
export interface WordNode {
  readonly type: string;
  readonly parts: readonly { readonly type: string; readonly value?: unknown }[];
  readonly source?: string;
}

interface HereDocument {
  readonly type: "HereDoc";
  readonly delimiter: string;
  readonly stripTabs: boolean;
  readonly quoted: boolean;
  readonly text?: string;
}

/** A redirection. */
export interface RedirectionNode {
  readonly fd: number | null;
  readonly fdVariable?: string;
  readonly operator: string;
  readonly target: WordNode | HereDocument;
}

/** A condition of `[[`. */
export interface ConditionNode {
  readonly type: string;
  readonly operator?: string;
  readonly left?: ConditionNode & WordNode;
  readonly right?: ConditionNode & WordNode;
  readonly operand?: ConditionNode & WordNode;
  readonly expression?: ConditionNode;
  readonly word?: WordNode;
  /** True if `!` stands before the condition. */
  readonly isNegated?: boolean;
}

interface ArithmeticNode {
  readonly originalText?: string;
}

/** Commands joined by pipes. */
export interface PipelineNode {
  readonly commands: readonly CommandNode[];
  readonly negated: boolean;
  readonly timed?: boolean;
  readonly timePosix?: boolean;
  readonly pipeStderr?: readonly boolean[];
}

/** Pipelines joined by `&&` and `||`. */
export interface StatementNode {
  readonly type: string;
  readonly pipelines: readonly PipelineNode[];
  readonly operators: readonly string[];
  readonly background: boolean;
}

/** A part of `if`, or an item of `case`. */
export interface ClauseNode {
  readonly condition?: readonly StatementNode[];
  readonly patterns?: readonly WordNode[];
  readonly body: readonly StatementNode[];
  readonly terminator?: string;
}

/** A command as the engine's parser reads it. Which parts are present depends on its type. */
export interface CommandNode {
  readonly type: string;
  readonly line?: number;
  /** Text of a command of arithmetic, with its redirections. */
  readonly source?: string;
  readonly redirections?: readonly RedirectionNode[];
  readonly assignments?: readonly { readonly source?: string }[];
  /** The name of a function, or the word that names a command. */
  readonly name?: WordNode | string | null;
  readonly args?: readonly WordNode[];
  readonly variable?: string;
  readonly words?: readonly WordNode[] | null;
  /** True if a loop over words is `select`. */
  readonly isSelect?: boolean;
  readonly word?: WordNode;
  readonly body?: readonly StatementNode[] | CommandNode;
  readonly condition?: readonly StatementNode[] | ArithmeticNode | null;
  readonly init?: ArithmeticNode | null;
  readonly update?: ArithmeticNode | null;
  readonly clauses?: readonly ClauseNode[];
  readonly elseBody?: readonly StatementNode[] | null;
  readonly items?: readonly ClauseNode[];
  readonly expression?: ConditionNode & ArithmeticNode;
}

/** Returns the line of a command. A group has none, but its first command does. */
export function lineOf({ line, body }: Partial<CommandNode>): number | undefined {
  const [first] = Array.isArray(body)
    ? (body as readonly StatementNode[])[0]?.pipelines[0]?.commands ?? []
    : [];
  return line ?? (first && lineOf(first));
}

/** Returns a word of literal text. */
export function literalWord(value: string): WordNode {
  return { type: "Word", parts: [{ type: "SingleQuoted", value }] };
}

/** Returns a statement of a single command. */
export function statementOf(command: CommandNode): StatementNode {
  const pipeline = { type: "Pipeline", commands: [command], negated: false };
  return { type: "Statement", pipelines: [pipeline], operators: [], background: false };
}

/** Returns the text of a word that is only text. */
export function textOf(word: CommandNode["name"]): string | undefined {
  if (typeof word !== "object" || !word || word.parts.some(({ type }) => type !== "Literal")) {
    return undefined;
  }
  return word.parts.map(({ value }) => String(value)).join("");
}
