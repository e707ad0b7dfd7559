import type { ExecResult } from "../../../sandbox/exec.ts";

/** Patterns that OpenEnv's coding env counts as dangerous. They only lower the reward; the sandbox isolates programs. */
const DANGEROUS = [/import\s+os/, /import\s+subprocess/, /eval\(/, /exec\(/, /__import__/, /open\(/];
const SYNTAX_ERRORS: ReadonlySet<string> = new Set(["SyntaxError", "IndentationError", "TabError"]);

const DANGER = -1;
const CONCISE = 0.1;
const CONCISE_CHARACTERS = 100;
const UNREADABLE = -0.2;

/** Returns the reward of OpenEnv's coding env, which depends on the text of a program and not on its result. */
export function computeCodingReward(code: string, result: ExecResult): number {
  const isDangerous = DANGEROUS.some((pattern) => pattern.test(code));
  const isConcise = [...code.trim()].length <= CONCISE_CHARACTERS;
  const isUnreadable = result.status === "error" && SYNTAX_ERRORS.has(result.error.type);
  const quality = (isConcise ? CONCISE : 0) + (isUnreadable ? UNREADABLE : 0);
  return (isDangerous ? DANGER : 0) + quality;
}
