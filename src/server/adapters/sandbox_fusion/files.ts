import { pythonStr } from "../../../tools/python_repr.ts";
import type { LiveSession } from "../../live_session.ts";
import { ServerError } from "../../server_error.ts";
import { jailPath } from "../adapter.ts";
import { filesToWrite } from "./messages.ts";

const HOME = "/home/pyodide";
/** Name of the temporary copy of a file outside the working directory. */
const COPY = ".paddock-fetched";
const COPY_MS = 5_000;

/**
 * Writes the files of a request.
 *
 * @throws {ServerError} `invalid` if a path leads outside the working directory.
 */
export async function putFiles(
  session: LiveSession,
  files: Readonly<Record<string, string | null>>,
): Promise<void> {
  for (const [path, contents] of filesToWrite(files)) {
    const inside = jailPath(path);
    if (inside === undefined) {
      throw new ServerError("invalid", `Cannot write '${path}' as it must be inside the working directory`);
    }
    await session.writeFile(inside, Uint8Array.fromBase64(contents));
  }
}

/** Reads files as base64 by their requested names. Missing files are left out. */
export async function getFiles(
  session: LiveSession,
  paths: readonly string[],
): Promise<Record<string, string>> {
  const found: [string, string][] = [];
  for (const path of paths) {
    const inside = jailPath(path) ?? await copyIn(session, path);
    const contents = inside && await session.readFile(inside).catch(missing);
    if (contents) found.push([path, contents.toBase64()]);
  }
  return Object.fromEntries(found);
}

/** Copies a guest file from outside the working directory into it. Returns the copy's path, if the file exists. */
async function copyIn(session: LiveSession, path: string): Promise<string | undefined> {
  const from = path.startsWith("/") ? path : `${HOME}/${path}`;
  const copy = `__import__("shutil").copyfile(*${pythonStr([from, `${HOME}/${COPY}`])})`;
  const { status } = await session.exec(copy, { timeoutMs: COPY_MS });
  return status === "ok" ? COPY : undefined;
}

function missing(error: unknown): undefined {
  if (!(error instanceof ServerError) || error.code !== "not_found") throw error;
}
