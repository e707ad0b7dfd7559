import { pythonBlocks } from "../../tools/python_blocks.ts";
import type { TestProblem } from "./test_problem.ts";

/**
 * The program of a reply: its last Python block that defines the entry point, else its last block, else the reply
 * itself. Where no block says that it is Python, those that say nothing are. What does not define the entry point
 * goes on where the prompt ends.
 */
export function candidateProgram(reply: string, { prompt, entryPoint }: TestProblem): string {
  const named = pythonBlocks(reply);
  const blocks = named.length > 0 ? named : namelessBlocks(reply);
  const defining = blocks.findLast((block) => defines(block, entryPoint));
  const program = defining ?? blocks.at(-1) ?? reply;
  if (program.trim() === "") return "";
  return defines(program, entryPoint) ? program : prompt + program;
}

/** The fenced blocks without a language. */
function namelessBlocks(reply: string): string[] {
  const blocks: string[] = [];
  let open: { readonly language: string; readonly lines: string[] } | undefined;
  for (const line of reply.split(/\r?\n/)) {
    const fence = /^\s{0,3}```+([^`]*)$/.exec(line);
    if (open === undefined && fence !== null) {
      open = { language: fence[1]?.trim() ?? "", lines: [] };
    } else if (open !== undefined && fence !== null) {
      if (open.language === "") blocks.push(open.lines.join("\n"));
      open = undefined;
    } else {
      open?.lines.push(line);
    }
  }
  return blocks;
}

/** Whether a program defines what is to be tested; any does where that is not said. */
export function defines(program: string, entryPoint: string | undefined): boolean {
  if (entryPoint === undefined) return true;
  const name = /^\w+/.exec(entryPoint)?.[0] ?? entryPoint;
  return new RegExp(`^(?:(?:async[ \\t]+)?def|class)[ \\t]+${name}\\b|^${name}[ \\t]*[:=]`, "m").test(
    program,
  );
}
