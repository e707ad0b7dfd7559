import type { UnzipFileInfo } from "fflate";

/** What the archives of a profile may expand to together. */
export interface ArchiveLimits {
  /** @default 512 MiB */
  readonly bytes?: number;
  /** @default 20,000 */
  readonly files?: number;
}

const MAX_BYTES = 512 * 1024 * 1024;
const MAX_FILES = 20_000;

/** Error of archives that would expand to more than their limits. */
export class ArchiveSizeError extends RangeError {
  override readonly name = "ArchiveSizeError";
}

/**
 * Expands ZIP archives within limits that they share. An archive states the size of each file; the sizes and the number
 * of files are summed before anything is expanded, and a file cannot expand to more than its stated size.
 */
export class ArchiveReader {
  readonly #maxBytes: number;
  readonly #maxFiles: number;
  #bytes = 0;
  #files = 0;

  constructor({ bytes = MAX_BYTES, files = MAX_FILES }: ArchiveLimits = {}) {
    this.#maxBytes = bytes;
    this.#maxFiles = files;
  }

  /**
   * Returns the files of an archive by their paths.
   *
   * @throws {ArchiveSizeError} if this archive and the earlier ones exceed a limit. Nothing of the archive is expanded.
   * @throws {Error} if the bytes are no ZIP archive.
   */
  async expand(bytes: Uint8Array): Promise<Record<string, Uint8Array>> {
    const { unzipSync } = await import("fflate"); // only profiles with packages need it
    unzipSync(bytes, { filter: (file) => this.#count(file) });
    return unzipSync(bytes);
  }

  /** Counts a file, and returns false, so that the file is not expanded. */
  #count({ originalSize }: UnzipFileInfo): false {
    this.#files++;
    this.#bytes += originalSize;
    if (this.#files > this.#maxFiles) {
      throw new ArchiveSizeError(`it must have at most ${this.#maxFiles} files with the other packages`);
    }
    if (this.#bytes > this.#maxBytes) {
      throw new ArchiveSizeError(`it must expand to at most ${this.#maxBytes} bytes with the other packages`);
    }
    return false;
  }
}
