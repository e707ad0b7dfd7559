import { errorMessage } from "../../../errors.ts";

/** A simple command of a shell script. */
export interface ScriptCommand {
  /** Words of the command. A word with an expansion, such as `$X`, is undefined. */
  readonly words: readonly (string | undefined)[];
}

/** Commands of a script. */
export interface ScriptCommands {
  readonly commands: readonly ScriptCommand[];
  /** Names of the functions that the script defines. */
  readonly functions: ReadonlySet<string>;
  /** Reason why the script cannot be read. The commands are then empty. */
  readonly fault?: string | undefined;
}

/** Package with the parser. Deno would download a package of a literal import at the start of the command line. */
const SHELL: string = "npm:just-bash@3.4.2";

/** Part of a syntax tree of the shell's parser. */
interface Node {
  readonly type?: unknown;
  readonly [key: string]: unknown;
}

/**
 * Returns the simple commands of a bash script in the order of the text, also those inside of conditions, loops,
 * functions and substitutions.
 */
export async function scriptCommands(script: string): Promise<ScriptCommands> {
  const { parse }: { parse(script: string): unknown } = await import(SHELL);
  const commands: ScriptCommand[] = [];
  const functions = new Set<string>();
  let tree: unknown;
  try {
    tree = parse(script);
  } catch (error) {
    return { commands, functions, fault: errorMessage(error) };
  }
  visit(tree, (node) => {
    if (node.type === "FunctionDef" && typeof node.name === "string") functions.add(node.name);
    if (node.type !== "SimpleCommand" || !isNode(node.name)) return;
    const words = [node.name, ...(Array.isArray(node.args) ? node.args : [])];
    commands.push({ words: words.map(wordText) });
  });
  return { commands, functions };
}

function visit(value: unknown, onNode: (node: Node) => void): void {
  if (Array.isArray(value)) return value.forEach((item) => visit(item, onNode));
  if (!isNode(value)) return;
  onNode(value);
  for (const inner of Object.values(value)) visit(inner, onNode);
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

/** Returns the text of a word without expansions, else undefined. */
function wordText(word: unknown): string | undefined {
  if (!isNode(word) || !Array.isArray(word.parts)) return undefined;
  const texts = word.parts.map(partText);
  return texts.includes(undefined) ? undefined : texts.join("");
}

function partText(part: unknown): string | undefined {
  if (!isNode(part)) return undefined;
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "Escaped":
      return typeof part.value === "string" ? part.value : undefined;
    case "Glob":
      return typeof part.pattern === "string" ? part.pattern : undefined;
    case "DoubleQuoted":
      return wordText(part);
    default:
      return undefined;
  }
}
