import type {
  ClauseNode,
  CommandNode,
  ConditionNode,
  PipelineNode,
  RedirectionNode,
  StatementNode,
  WordNode,
} from "./nodes.ts";

const STEP = "    ";

/** Returns a function as bash prints it, with a line end. */
export function functionText(name: string, node: CommandNode): string {
  return `${functionLines(name, node, "")}\n`;
}

/** Returns a function as bash passes it to programs: the value of `BASH_FUNC_name%%`. */
export function exportedFunctionText(name: string, node: CommandNode): string {
  return functionLines(name, node, "").replace(/^[^\n]*\n\{ \n {3}/, "() { ");
}

/** Returns a command in a line, as `BASH_COMMAND` has it. */
export function commandText(node: CommandNode): string {
  if (node.type === "For") return `for ${node.variable ?? ""}${wordList(node)}`;
  if (node.type === "Case") return `case ${wordText(node.word)} in `;
  return printCommand(node, "");
}

function functionLines(name: string, node: CommandNode, indent: string): string {
  const body = node.body as CommandNode;
  const inner = indent + STEP;
  const isGroup = body.type === "Group";
  const lines = isGroup ? printList(statementsOf(body), inner) : printCommand(body, inner);
  const redirections = printRedirections([
    ...isGroup ? body.redirections ?? [] : [],
    ...node.redirections ?? [],
  ]);
  return `${name} () \n${indent}{ \n${inner}${lines}\n${indent}}${redirections}`;
}

function statementsOf(node: CommandNode): readonly StatementNode[] {
  return node.body as readonly StatementNode[];
}

/** Prints statements, each in a line of its own. */
function printList(statements: readonly StatementNode[], indent: string): string {
  let previous = "";
  return statements.map((statement, at) => {
    const text = printStatement(statement, indent);
    const followsDocument = previous.endsWith("\n");
    previous = text;
    if (at === statements.length - 1) return text;
    if (statement.background) return `${text} `;
    return `${text}${followsDocument ? "" : endOf(statement, text)}\n${indent}`; // bash leaves out another line end
  }).join("");
}

/** Prints statements with a separator behind the last statement. */
function printBody(statements: readonly StatementNode[], indent: string): string {
  const text = printList(statements, indent);
  const last = statements.at(-1);
  return last ? text + endOf(last, text) : text;
}

function endOf({ background }: StatementNode, text: string): string {
  return background || text.endsWith("\n") ? "" : ";";
}

function printStatement({ pipelines, operators, background }: StatementNode, indent: string): string {
  const text = pipelines.map((pipeline, at) => {
    const joined = at === 0 ? "" : ` ${operators[at - 1]} `;
    return joined + printPipeline(pipeline, indent);
  }).join("");
  return background ? `${text} &` : text;
}

function printPipeline(pipeline: PipelineNode, indent: string): string {
  const { commands, negated, timed, timePosix, pipeStderr = [] } = pipeline;
  const time = timed ? timePosix ? "time -p " : "time " : "";
  const text = commands.map((command, at) => {
    const joined = at === 0 ? "" : pipeStderr[at - 1] ? " 2>&1 | " : " | ";
    return joined + printCommand(command, indent);
  }).join("");
  return time + (negated ? "! " : "") + text;
}

function printCommand(node: CommandNode, indent: string): string {
  if (node.type === "FunctionDef") return `function ${functionLines(String(node.name), node, indent)}`;
  return printBare(node, indent) + printRedirections(node.redirections ?? []);
}

/** Prints a command without its redirections. */
function printBare(node: CommandNode, indent: string): string {
  const inner = indent + STEP;
  switch (node.type) {
    case "SimpleCommand":
      return printSimple(node);
    case "If":
      return `${printIf(node.clauses ?? [], node.elseBody ?? undefined, indent)}fi`;
    case "For": {
      const keyword = node.isSelect ? "select" : "for";
      return `${keyword} ${node.variable}${wordList(node)};\n${indent}${printLoop(node, indent)}`;
    }
    case "CStyleFor": {
      const parts = [node.init, node.condition as typeof node.init, node.update].map((part) =>
        arithmetic(part)
      );
      return `for ((${parts.join("; ")}))\n${indent}${printLoop(node, indent)}`;
    }
    case "While":
    case "Until": {
      const condition = printBody(node.condition as readonly StatementNode[], indent);
      return `${node.type.toLowerCase()} ${condition} ${printLoop(node, indent)}`;
    }
    case "Case":
      return `case ${wordText(node.word)} in \n${
        (node.items ?? []).map((item) => printItem(item, inner)).join("")
      }` +
        `${indent}esac`;
    case "Subshell":
      return `( ${printList(statementsOf(node), indent)} )`;
    case "Group":
      return `{ \n${inner}${printList(statementsOf(node), inner)}\n${indent}}`;
    case "ArithmeticCommand":
      return arithmeticCommand(node);
    case "ConditionalCommand":
      return node.expression ? `[[ ${printCondition(node.expression)} ]]` : "";
    default:
      throw new Error(`a command of type ${node.type} cannot be printed`);
  }
}

function printSimple({ assignments = [], name, args = [] }: CommandNode): string {
  const words = typeof name === "object" && name ? [name, ...args] : args;
  return [...assignments.map(({ source = "" }) => source), ...words.map(wordText)].join(" ");
}

function printIf(
  [first, ...more]: readonly ClauseNode[],
  otherwise: readonly StatementNode[] | undefined,
  indent: string,
): string {
  if (!first) return "";
  const inner = indent + STEP;
  const condition = printBody(first.condition ?? [], indent);
  const text = `if ${condition} then\n${inner}${printBody(first.body, inner)}\n${indent}`;
  if (more.length > 0) return `${text}else\n${inner}${printIf(more, otherwise, inner)}fi;\n${indent}`;
  return otherwise ? `${text}else\n${inner}${printBody(otherwise, inner)}\n${indent}` : text;
}

function printLoop(node: CommandNode, indent: string): string {
  const inner = indent + STEP;
  return `do\n${inner}${printBody(statementsOf(node), inner)}\n${indent}done`;
}

function wordList({ words }: CommandNode): string {
  return words ? ` in ${words.map(wordText).join(" ")}` : ' in "$@"';
}

function printItem({ patterns = [], body, terminator }: ClauseNode, indent: string): string {
  const inner = indent + STEP;
  const lines = body.length === 0 ? "\n" : `${inner}${printList(body, inner)}\n`;
  return `${indent}${patterns.map(wordText).join(" | ")})\n${lines}${indent}${terminator}\n`;
}

function printCondition(node: ConditionNode): string {
  const { type, operator, left, right, operand, expression, word } = node;
  if (type === "CondAnd" && left && right) return `${printCondition(left)} && ${printCondition(right)}`;
  if (type === "CondOr" && left && right) return `${printCondition(left)} || ${printCondition(right)}`;
  if (type === "CondNot" && operand) return `! ${printCondition(operand)}`;
  if (type === "CondGroup" && expression) return `( ${printCondition(expression)} )`;
  if (type === "CondUnary" && operand) return `${operator} ${wordText(operand)}`;
  if (type === "CondBinary" && left && right) return `${wordText(left)} ${operator} ${wordText(right)}`;
  return wordText(word);
}

/** Returns the text of `((…))` as the script has it. */
function arithmeticCommand({ source = "", expression }: CommandNode): string {
  const text = expression?.originalText ?? "";
  const end = source.indexOf("))", source.indexOf(text) + text.length);
  return end < 0 ? `((${text}))` : source.slice(0, end + 2);
}

function arithmetic(part: { readonly originalText?: string } | null | undefined): string {
  return part?.originalText?.trim() || "1";
}

function printRedirections(redirections: readonly RedirectionNode[]): string {
  const documents = redirections.flatMap(({ target }) =>
    "delimiter" in target ? [`${documentText(target)}${target.delimiter}\n`] : []
  );
  return redirections.map((node) => ` ${printRedirection(node)}`).join("") +
    (documents.length > 0 ? `\n${documents.join("")}` : "");
}

function documentText(
  { text = "", stripTabs }: { readonly text?: string; readonly stripTabs: boolean },
): string {
  return stripTabs ? text.replace(/^\t+/gm, "") : text;
}

function printRedirection({ fd, fdVariable, operator, target }: RedirectionNode): string {
  const number = fdVariable ? `{${fdVariable}}` : fd === null ? "" : String(fd);
  if ("delimiter" in target) {
    const word = target.quoted ? `'${target.delimiter}'` : target.delimiter;
    return `${number}${operator}${word}`;
  }
  const word = wordText(target);
  if (operator === ">&" || operator === "<&") {
    const isNumber = /^(?:\d+-?|-|\$.*)$/.test(word);
    if (!isNumber) return operator === ">&" && number === "" ? `&> ${word}` : `${number}${operator}${word}`;
    return `${number || (operator === ">&" ? "1" : "0")}${operator}${word}`;
  }
  return `${number === "1" && operator.startsWith(">") ? "" : number}${operator} ${word}`;
}

function wordText(word: WordNode | undefined): string {
  const { source = "", parts = [] } = word ?? {};
  const [part, ...more] = parts;
  if (!part || more.length > 0 || !/^\$'(?:[^'\\]|\\.)*'$/s.test(source)) return source;
  return `'${String(part.value).replaceAll("'", "'\\''")}'`; // bash keeps what `$'…'` stands for
}
