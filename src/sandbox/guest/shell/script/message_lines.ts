import type { BuiltinInterpreter } from "../builtins/builtin.ts";
import { type CommandNode, lineOf } from "../builtins/nodes.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";
import { shortLived } from "./short_lived.ts";

/** Types of commands that print messages of the shell; the others have the messages of the commands in them. */
const PRINTING = new Set(["SimpleCommand", "ArithmeticCommand", "ConditionalCommand", "For", "Case"]);
const MESSAGE = /^bash: (?!line \d+: |-c: |warning: )/gm;

/** Builtins whose messages the engine begins with their name. */
const BUILTINS = new Set(["[", "alias", "cd", "set", "test", "unalias"]);

interface ScriptState {
  readonly env: ReadonlyMap<string, string>;
  readonly currentLine: number;
  /** File that `source` reads. */
  readonly currentSource?: string;
  readonly sourceDepth?: number;
}

/**
 * Adds the name of the script and the number of the line to the messages of the shell: `bash: line 3: x: command not
 * found`, or `run.sh: line 3: …` in a file. The engine's messages begin with `bash: `.
 */
export function addMessageLines(interpreter: ScriptInterpreter): void {
  const state = interpreter.ctx.state as unknown as ScriptState;
  const command = interpreter.executeCommand.bind(interpreter);
  const own = interpreter as BuiltinInterpreter;
  const run = own.runCommand.bind(own);
  let isRedirected = false;
  own.runCommand = shortLived((name, ...rest) => {
    if (!isRedirected && !BUILTINS.has(name) && name !== "getopts") return run(name, ...rest);
    return run(name, ...rest).then((output) => {
      if (output.stderr === "") return output;
      const stderr = linesAdded(builtinMessage(name, output.stderr), {}, state);
      return stderr === output.stderr ? output : { ...output, stderr };
    });
  });
  interpreter.executeCommand = interpreter.ctx.executeCommand = shortLived((given, ...rest) => {
    const node = given as CommandNode;
    const outer = isRedirected;
    isRedirected = node.redirections !== undefined && node.redirections.length > 0;
    return command(given, ...rest).then((output) => {
      isRedirected = outer;
      return output.stderr === "" || !isPrinting(node) ? output : withLines(output, node, state);
    }, (error) => {
      isRedirected = outer;
      if (error instanceof Error && "stderr" in error && typeof error.stderr === "string") {
        error.stderr = linesAdded(error.stderr, node, state);
      }
      throw error;
    });
  });
}

function isPrinting({ type, redirections = [] }: CommandNode): boolean {
  return PRINTING.has(type) || redirections.length > 0;
}

function withLines(output: CommandOutput, node: CommandNode, state: ScriptState): CommandOutput {
  const stderr = linesAdded(output.stderr, node, state);
  return stderr === output.stderr ? output : { ...output, stderr };
}

/** Returns a message of a builtin that begins with `bash: `, unless it is about usage. */
function builtinMessage(name: string, text: string): string {
  if (text.startsWith(`bash: ${name}: usage: `)) return text.slice("bash: ".length);
  if (name === "set" && text.startsWith("bash: set: ")) return text.slice(0, text.indexOf("\n") + 1);
  if (!BUILTINS.has(name) || !text.startsWith(`${name}: `)) return text;
  return text.startsWith(`${name}: usage: `) ? text : `bash: ${text}`;
}

function linesAdded(text: string, node: Partial<CommandNode>, state: ScriptState): string {
  const { env, currentLine, currentSource, sourceDepth = 0 } = state;
  const name = (sourceDepth > 0 ? currentSource : undefined) ?? env.get("0") ?? "bash";
  return text.replace(MESSAGE, `${name}: line ${lineOf(node) ?? currentLine}: `.replaceAll("$", "$$$$"));
}
