import type { BranchingSession } from "../sandbox/contract/pool.ts";
import { Lease } from "../sandbox/lease.ts";
import type { RemoteFile, RemoteFiles } from "./client_options.ts";

/** A leased session of a server. Disposing the lease ends the session. */
export class RemoteLease extends Lease implements RemoteFiles {
  /** Id of the session, which programs of a batch refer to. */
  readonly id: string;

  readonly #files: RemoteFiles;

  constructor(session: BranchingSession & RemoteFiles, options: { id: string; release: () => void }) {
    super(session, options.release);
    this.id = options.id;
    this.#files = session;
  }

  /**
   * Lists the entries of a folder, at most 10,000; without a path, all files below the working directory. The working
   * directory itself is `.`.
   *
   * @throws {GuestFileError} if it is no folder.
   */
  async listFiles(path?: string): Promise<RemoteFile[]> {
    return await this.#files.listFiles(path);
  }

  /**
   * Removes a file, or a folder, which must be empty unless `recursive`.
   *
   * @throws {GuestFileError} if it does not exist or cannot be removed.
   */
  async remove(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    await this.#files.remove(path, options);
  }

  /**
   * Makes a folder and the folders above.
   *
   * @throws {GuestFileError} if it cannot be made.
   */
  async makeDirectory(path: string): Promise<void> {
    await this.#files.makeDirectory(path);
  }
}
