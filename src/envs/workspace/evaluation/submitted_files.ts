import { checkPath } from "../../../sandbox/exec_check.ts";
import type { Submission } from "../evaluation.ts";

/** Where the evaluator's session has what was submitted, as data. */
export const SUBMITTED = ".submission";

const MAX_FILES = 5_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** The files of a submission, or why there is nothing to evaluate or nothing that can be. */
export type SubmittedFiles =
  | { readonly files: Readonly<Record<string, Uint8Array>> }
  | { readonly missing: string }
  | { readonly fault: string };

/** What a plan asks for, of all that was handed in: files by their path, and folders by one that ends in `/`. */
export function submittedFiles(submission: Submission, wanted: readonly string[]): SubmittedFiles {
  const isOf = (path: string, want: string) => want.endsWith("/") ? path.startsWith(want) : path === want;
  const found = [...submission].filter(([path]) => wanted.some((want) => isOf(path, want)));
  const missing = wanted.find((want) => !found.some(([path]) => isOf(path, want)));
  if (missing !== undefined) return { missing: `there is no '${missing}'` };
  const bytes = found.reduce((sum, [, contents]) => sum + contents.length, 0);
  if (found.length > MAX_FILES || bytes > MAX_BYTES) {
    const allowed = `at most ${MAX_FILES} files and ${MAX_BYTES} bytes`;
    return { fault: `a submission must have ${allowed}: it has ${found.length} and ${bytes}` };
  }
  const odd = found.find(([path]) => !isPath(path));
  if (odd) return { fault: `a submission must have plain paths: one is ${JSON.stringify(odd[0])}` };
  return { files: Object.fromEntries(found) };
}

function isPath(path: string): boolean {
  try {
    checkPath(`${SUBMITTED}/${path}`);
    return path.isWellFormed();
  } catch {
    return false; // what a sandbox refuses is told to the agent in our words
  }
}
