import type { UnzipFileInfo } from "fflate";

/** Limits of what the archives of a profile expand to together. */
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
 * of files are summed before anything is expanded, a file cannot expand to more than its stated size, and no bytes belong
 * to several files.
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
    let packedBytes = 0;
    unzipSync(bytes, {
      filter: (file) => {
        packedBytes += file.size;
        if (packedBytes > bytes.length) {
          throw new ArchiveSizeError(
            `its files must not overlap: they have ${packedBytes} packed bytes of ${bytes.length} bytes`,
          );
        }
        return this.#count(file);
      },
    });
    return unzipSync(bytes);
  }

  /** Counts a file, and returns false, so that the file is not expanded. A file that is not packed states any size. */
  #count({ originalSize, size, compression }: UnzipFileInfo): false {
    this.#files++;
    this.#bytes += compression === 0 ? size : originalSize;
    if (this.#files > this.#maxFiles) {
      throw new ArchiveSizeError(`it must have at most ${this.#maxFiles} files with the other packages`);
    }
    if (this.#bytes > this.#maxBytes) {
      throw new ArchiveSizeError(`it must expand to at most ${this.#maxBytes} bytes with the other packages`);
    }
    return false;
  }
}

/**
 * Returns the first file of a ZIP archive whose path matches and that has at most `maxBytes`; `undefined` if there is
 * none. No other file is expanded.
 *
 * @throws {Error} if the bytes are no ZIP archive.
 */
export async function expandFirst(
  bytes: Uint8Array,
  { path, maxBytes }: { path: RegExp; maxBytes: number },
): Promise<Uint8Array | undefined> {
  const { unzipSync } = await import("fflate");
  let isFound = false;
  const files = unzipSync(bytes, {
    filter: ({ name, size, originalSize }) => {
      const isFirst = !isFound && path.test(name) && Math.max(size, originalSize) <= maxBytes;
      isFound ||= isFirst;
      return isFirst;
    },
  });
  return Object.values(files)[0];
}
