import type { PythonSession } from "../../sandbox/exec.ts";
import type { Submission } from "./evaluation.ts";
import listFolder from "./guest/list_folder.py" with { type: "text" };
import { AGENT_HOME, WORKSPACE } from "./workspace_place.ts";
import { z } from "zod";

/** What an agent hands in, or why it cannot be taken, in words for the agent. */
export type HandedIn =
  | { readonly submission: Submission }
  | { readonly fault: string };

/** What reading a submission may be given. */
export interface SubmissionFilesOptions {
  signal?: AbortSignal | undefined;
}

const MAX_FILES = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_PATH_CHARACTERS = 1_000;
const LISTING_TIMEOUT_MS = 20_000;
const MISSING = /(?:no such file or directory|not a directory)$/;

const listingSchema = z.array(z.string()).max(MAX_FILES + 1);

class SubmissionFault extends Error {}

/**
 * Reads what an agent hands in: files of its workspace, or folders where a path ends in `/`. What is not there is
 * left out. Links are not followed, and counts, sizes and names are bounded: nothing in the sandbox is trusted.
 */
export async function submissionFiles(
  session: PythonSession,
  paths: readonly string[],
  options: SubmissionFilesOptions = {},
): Promise<HandedIn> {
  const submission = new Map<string, Uint8Array>();
  let left = MAX_BYTES;
  try {
    for (const path of await filesOf(session, paths, options)) {
      options.signal?.throwIfAborted();
      const contents = await contentsOf(session, path);
      if (contents === undefined) continue;
      left -= contents.length;
      if (left < 0) {
        throw new SubmissionFault(`a submission must have at most ${MAX_BYTES} bytes: it has more`);
      }
      submission.set(path, contents);
    }
    return { submission };
  } catch (error) {
    if (error instanceof SubmissionFault) return { fault: error.message };
    throw error;
  }
}

async function filesOf(
  session: PythonSession,
  paths: readonly string[],
  options: SubmissionFilesOptions,
): Promise<string[]> {
  const found = new Set<string>();
  for (const path of paths) {
    const inner = path.endsWith("/") ? await listed(session, path, options) : [path];
    inner.forEach((each) => found.add(each));
  }
  if (found.size <= MAX_FILES) return [...found];
  throw new SubmissionFault(`a submission must have at most ${MAX_FILES} files: there are more`);
}

/** The files of a folder, as the sandbox tells them: each is read by its path, which leads nowhere else. */
async function listed(
  session: PythonSession,
  folder: string,
  { signal }: SubmissionFilesOptions,
): Promise<string[]> {
  const call = `_list_folder(${JSON.stringify(`${WORKSPACE}/${folder}`)}, ${MAX_FILES})`;
  const result = await session.exec(`${listFolder}\n${call}`, { timeoutMs: LISTING_TIMEOUT_MS, signal });
  const names = result.status === "ok" ? parsedListing(result.stdout) : undefined;
  if (names === undefined) throw new SubmissionFault(`the folder '${folder}' could not be listed`);
  const odd = names.find(isOdd);
  if (odd === undefined) return names.map((name) => `${folder}${name}`);
  throw new SubmissionFault(
    `the files of a submission must have plain names: there is ${JSON.stringify(odd.slice(0, 80))}`,
  );
}

function parsedListing(text: string): string[] | undefined {
  try {
    return listingSchema.parse(JSON.parse(text));
  } catch {
    return undefined; // whatever it printed, it is no list of names
  }
}

function isOdd(name: string): boolean {
  const steps = name.split("/");
  return name.length > MAX_PATH_CHARACTERS || !name.isWellFormed() || /[\p{Cc}\\]/u.test(name) ||
    steps.includes("") || steps.includes(".") || steps.includes("..");
}

async function contentsOf(session: PythonSession, path: string): Promise<Uint8Array | undefined> {
  try {
    return await session.readFile(`${WORKSPACE.slice(AGENT_HOME.length + 1)}/${path}`);
  } catch (cause) {
    // what the sandbox has to say is a plain error; a boundary's own, or a cancellation, is not the agent's doing
    if (!(cause instanceof Error) || cause.constructor !== Error) throw cause;
    if (MISSING.test(cause.message)) return undefined;
    throw new SubmissionFault(
      `'${path}' could not be read: ${cause.message.replace(/^Cannot read '.*' as /s, "")}`,
    );
  }
}
