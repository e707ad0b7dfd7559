import { GuestFileError } from "../../errors.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import type { Submission } from "./evaluation.ts";
import listFolder from "./guest/list_folder.py" with { type: "text" };
import { AGENT_HOME, WORKSPACE_FOLDER } from "./task.ts";
import * as z from "zod";
import { parseUntrustedJson } from "../../json.ts";

/** Submission of an agent, or the reason why the submission cannot be read, as a message for the agent. */
export type SubmissionResult =
  | { readonly submission: Submission }
  | { readonly fault: string };

/** Options of {@linkcode readSubmission}. */
export interface ReadSubmissionOptions {
  signal?: AbortSignal | undefined;
}

const MAX_FILES = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_PATH_CHARACTERS = 1_000;
const LISTING_TIMEOUT_MS = 20_000;

const listingSchema = z.array(z.string()).max(MAX_FILES + 1);

class SubmissionFault extends Error {}

/**
 * Reads the submission of an agent: files of the workspace, or folders if a path ends in `/`.
 *
 * Missing files are left out. The sandbox is not trusted: links are not followed, and the number, size and names of
 * the files are limited.
 */
export async function readSubmission(
  session: PythonSession,
  paths: readonly string[],
  options: ReadSubmissionOptions = {},
): Promise<SubmissionResult> {
  const submission = new Map<string, Uint8Array>();
  let remaining = MAX_BYTES;
  try {
    for (const path of await filesOf(session, paths, options)) {
      options.signal?.throwIfAborted();
      const contents = await contentsOf(session, path);
      if (contents === undefined) continue;
      remaining -= contents.length;
      if (remaining < 0) {
        throw new SubmissionFault(
          `Cannot read submission as it must have at most ${MAX_BYTES} bytes: found ${
            MAX_BYTES - remaining
          } up to '${path}'`,
        );
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
  options: ReadSubmissionOptions,
): Promise<string[]> {
  const found = new Set<string>();
  for (const path of paths) {
    const files = path.endsWith("/") ? await listFiles(session, path, options) : [path];
    files.forEach((each) => found.add(each));
  }
  if (found.size <= MAX_FILES) return [...found];
  throw new SubmissionFault(
    `Cannot read submission as it must have at most ${MAX_FILES} files: found ${found.size}`,
  );
}

/** Lists the files of a folder. The names come from the sandbox, so only plain relative paths are accepted. */
async function listFiles(
  session: PythonSession,
  folder: string,
  { signal }: ReadSubmissionOptions,
): Promise<string[]> {
  const call = `_list_folder(${JSON.stringify(`${WORKSPACE_FOLDER}/${folder}`)}, ${MAX_FILES})`;
  const result = await session.exec(`${listFolder}\n${call}`, { timeoutMs: LISTING_TIMEOUT_MS, signal });
  const names = result.status === "ok" ? parsedListing(result.stdout) : undefined;
  if (names === undefined) throw new SubmissionFault(`the folder '${folder}' could not be listed`);
  const invalid = names.find(isInvalidName);
  if (invalid === undefined) return names.map((name) => `${folder}${name}`);
  throw new SubmissionFault(
    `the files of a submission must have plain names: there is ${JSON.stringify(invalid.slice(0, 80))}`,
  );
}

function parsedListing(text: string): string[] | undefined {
  try {
    return listingSchema.parse(parseUntrustedJson(text));
  } catch {
    return undefined; // the output is not a list of names
  }
}

function isInvalidName(name: string): boolean {
  const steps = name.split("/");
  return name.length > MAX_PATH_CHARACTERS || !name.isWellFormed() || /[\p{Cc}\\]/u.test(name) ||
    steps.includes("") || steps.includes(".") || steps.includes("..");
}

async function contentsOf(session: PythonSession, path: string): Promise<Uint8Array | undefined> {
  try {
    return await session.readFile(`${WORKSPACE_FOLDER.slice(AGENT_HOME.length + 1)}/${path}`);
  } catch (cause) {
    // a failure of the sandbox, or a cancellation, is not the agent's fault
    if (!(cause instanceof GuestFileError)) throw cause;
    if (cause.code === "file_not_found") return undefined;
    throw new SubmissionFault(
      `'${path}' could not be read: ${cause.message.replace(/^Cannot read '.*' as /s, "")}`,
    );
  }
}
