import { PathError } from "./path_error.ts";
import type { Interpreter } from "./shell_terminal.ts";

/**
 * Has a command fail whose redirection the file system refuses, such as one to a file that nobody may write: the
 * engine would end itself over it, and everything that runs in it.
 */
export function withRefusals(interpreter: Interpreter): Interpreter {
  const command = interpreter.executeCommand.bind(interpreter);
  const guarded: Interpreter["executeCommand"] = async (...args) => {
    try {
      return await command(...args);
    } catch (error) {
      if (!(error instanceof PathError)) throw error;
      return { stdout: "", stderr: `bash: ${error.path}: ${error.words}\n`, exitCode: 1 };
    }
  };
  interpreter.executeCommand = interpreter.ctx.executeCommand = guarded;
  return interpreter;
}
