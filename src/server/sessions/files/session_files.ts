import * as z from "zod";
import { parseUntrustedJson } from "../../../json.ts";
import type { ExecResult } from "../../../sandbox/contract/exec.ts";
import type { PythonSession } from "../../../sandbox/contract/pool.ts";
import { ServerError } from "../../http/http_errors.ts";
import type { RunProgram } from "./guest_request.ts";
import LIST_FILES from "./list_files.py" with { type: "text" };
import { isAbsolutePath, readAbsolute, writeAbsolute } from "./absolute_file.ts";
import { type FolderListing, listFolder, makeDirectory, removePath } from "./session_folder.ts";

/** File of a session. */
export interface SessionFile {
  readonly path: string;
  readonly bytes: number;
  /** Modification time by the session's clock, in nanoseconds. The guest can set it to any value. */
  readonly writtenNs: number;
}

/** Access of {@linkcode SessionFiles} to a session. */
export interface FileAccess {
  /** Bytes of output that its programs may write, if there is such a limit. */
  readonly outputBytes: number | undefined;
  /** Uses the session with a function that runs programs of the server, which are not the client's. */
  use<T>(work: (run: RunProgram, session: PythonSession) => Promise<T>): Promise<T>;
}

const LIST_MS = 5_000;
const listingSchema = z.array(z.tuple([z.string().max(4096), z.number().nonnegative(), z.number()])).max(
  10_000,
);

/** The files of a session, as the server's clients reach them. */
export class SessionFiles {
  readonly #access: FileAccess;

  constructor(access: FileAccess) {
    this.#access = access;
  }

  /** Writes a file under the working directory, or at an absolute path: see {@linkcode writeAbsolute}. */
  async write(path: string, contents: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#access.use((run, session) =>
      isAbsolutePath(path)
        ? writeAbsolute(run, session, { path, contents, signal })
        : session.writeFile(path, contents)
    );
  }

  /** Reads a file under the working directory, or at an absolute path: see {@linkcode readAbsolute}. */
  async read(path: string, signal: AbortSignal): Promise<Uint8Array> {
    return await this.#access.use((run, session) =>
      isAbsolutePath(path) ? readAbsolute(run, session, { path, signal }) : session.readFile(path)
    );
  }

  /** Lists the files of the working directory, as reported by the guest. */
  async list(signal?: AbortSignal): Promise<SessionFile[]> {
    return await this.#access.use(async (run) =>
      parseListing(await run(LIST_FILES, { timeoutMs: LIST_MS, signal }))
    );
  }

  /** Lists a folder, as reported by the guest: see {@linkcode listFolder}. */
  async listFolder(path: string, signal: AbortSignal): Promise<FolderListing> {
    const { outputBytes } = this.#access;
    return await this.#access.use((run) => listFolder(run, path, { signal, outputBytes }));
  }

  /** Removes a file or folder: see {@linkcode removePath}. */
  async remove(path: string, options: { recursive: boolean; signal: AbortSignal }): Promise<void> {
    await this.#access.use((run) => removePath(run, path, options));
  }

  /** Makes a folder: see {@linkcode makeDirectory}. */
  async makeDirectory(path: string, signal: AbortSignal): Promise<void> {
    await this.#access.use((run) => makeDirectory(run, path, { signal }));
  }
}

function parseListing(result: ExecResult): SessionFile[] {
  try {
    const rows = listingSchema.parse(parseUntrustedJson(result.stdout));
    return rows.map(([path, bytes, writtenNs]) => ({ path, bytes, writtenNs }));
  } catch (cause) {
    throw new ServerError("conflict", "The session cannot list its files", { cause });
  }
}
