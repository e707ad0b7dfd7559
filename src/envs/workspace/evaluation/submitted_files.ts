import { checkPath } from "../../../sandbox/exec_check.ts";
import type { Submission } from "../evaluation.ts";

/** Folder of the submitted files in the evaluator's session, where they are only data. */
export const SUBMISSION_FOLDER = ".submission";

const MAX_FILES = 5_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** Files of a submission, or the reason why they are missing or cannot be evaluated. */
export type SubmittedFiles =
  | { readonly files: Readonly<Record<string, Uint8Array>> }
  | { readonly missing: string }
  | { readonly fault: string };

/** Selects the files that a plan asks for: files by path, and folders by a path that ends in `/`. */
export function selectSubmittedFiles(submission: Submission, paths: readonly string[]): SubmittedFiles {
  const matches = (path: string, wanted: string) =>
    wanted.endsWith("/") ? path.startsWith(wanted) : path === wanted;
  const found = [...submission].filter(([path]) => paths.some((wanted) => matches(path, wanted)));
  const missing = paths.find((wanted) => !found.some(([path]) => matches(path, wanted)));
  if (missing !== undefined) return { missing: `there is no '${missing}'` };
  const bytes = found.reduce((sum, [, contents]) => sum + contents.length, 0);
  if (found.length > MAX_FILES || bytes > MAX_BYTES) {
    const allowed = `at most ${MAX_FILES} files and ${MAX_BYTES} bytes`;
    return { fault: `a submission must have ${allowed}: it has ${found.length} and ${bytes}` };
  }
  const invalid = found.find(([path]) => !isValidPath(path));
  if (invalid) return { fault: `a submission must have plain paths: found ${JSON.stringify(invalid[0])}` };
  return { files: Object.fromEntries(found) };
}

function isValidPath(path: string): boolean {
  try {
    checkPath(`${SUBMISSION_FOLDER}/${path}`);
    return path.isWellFormed();
  } catch {
    return false; // the caller reports this to the agent
  }
}
