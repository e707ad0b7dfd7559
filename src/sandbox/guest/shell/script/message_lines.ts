import type { CommandNode } from "../builtins/nodes.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";

/** Types of commands that print messages of the shell; the others have the messages of the commands in them. */
const PRINTING = new Set(["SimpleCommand", "ArithmeticCommand", "ConditionalCommand", "For", "Case"]);
const MESSAGE = /^bash: (?!line \d+: |-c: |warning: )/gm;

interface ScriptState {
  readonly env: ReadonlyMap<string, string>;
  readonly currentLine: number;
}

/**
 * Adds the name of the script and the number of the line to the messages of the shell: `bash: line 3: x: command not
 * found`, or `run.sh: line 3: …` in a file. The engine's messages begin with `bash: `.
 */
export function addMessageLines(interpreter: ScriptInterpreter): void {
  const state = interpreter.ctx.state as unknown as ScriptState;
  const command = interpreter.executeCommand.bind(interpreter);
  interpreter.executeCommand = interpreter.ctx.executeCommand = async (given, ...rest) => {
    const node = given as CommandNode;
    try {
      const output = await command(given, ...rest);
      return output.stderr === "" || !isPrinting(node) ? output : withLines(output, node, state);
    } catch (error) {
      if (error instanceof Error && "stderr" in error && typeof error.stderr === "string") {
        error.stderr = linesAdded(error.stderr, node, state);
      }
      throw error;
    }
  };
}

function isPrinting({ type, redirections = [] }: CommandNode): boolean {
  return PRINTING.has(type) || redirections.length > 0;
}

function withLines(output: CommandOutput, node: CommandNode, state: ScriptState): CommandOutput {
  const stderr = linesAdded(output.stderr, node, state);
  return stderr === output.stderr ? output : { ...output, stderr };
}

function linesAdded(text: string, node: CommandNode, { env, currentLine }: ScriptState): string {
  const name = env.get("0") ?? "bash";
  return text.replace(MESSAGE, `${name}: line ${node.line ?? currentLine}: `.replaceAll("$", "$$$$"));
}
