import { pythonBlocks } from "../../tools/python_blocks.ts";
import type { TestProblem } from "./test_problem.ts";

/**
 * The program of a reply: its last Python block that defines the entry point, else its last block, else the reply
 * itself. What does not define the entry point goes on where the prompt ends.
 */
export function candidateProgram(reply: string, { prompt, entryPoint }: TestProblem): string {
  const blocks = pythonBlocks(reply);
  const defining = blocks.findLast((block) => defines(block, entryPoint));
  const program = defining ?? blocks.at(-1) ?? reply;
  if (program.trim() === "") return "";
  return defines(program, entryPoint) ? program : prompt + program;
}

function defines(program: string, entryPoint: string | undefined): boolean {
  if (entryPoint === undefined) return true;
  const name = /^\w+/.exec(entryPoint)?.[0] ?? entryPoint;
  return new RegExp(`^(?:(?:async[ \\t]+)?def|class)[ \\t]+${name}\\b|^${name}[ \\t]*[:=]`, "m").test(
    program,
  );
}
