import { concat } from "@std/bytes";
import { errorMessage } from "../errors.ts";
import { UsageError } from "./usage_error.ts";
import { currentIo } from "./io.ts";

/** The name that stands for the standard input in place of a file's. */
export const STDIN = "-";

/**
 * Reads all of a file of UTF-8, or of the standard input where the path is `-`.
 *
 * @throws {UsageError} when it cannot be read, is no UTF-8, or is larger than `maxBytes`.
 */
export async function readText(path: string, options: { maxBytes: number }): Promise<string> {
  const name = path === STDIN ? "the standard input" : `'${path}'`;
  const bytes = await readBytes(path, name, options.maxBytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UsageError(`Cannot read ${name} as it must be UTF-8: it is not`, { cause });
  }
}

async function readBytes(path: string, name: string, maxBytes: number): Promise<Uint8Array> {
  try {
    const readable = path === STDIN ? currentIo().stdin.readable : (await Deno.open(path)).readable;
    return await collect(readable, name, maxBytes);
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`Cannot read ${name}: ${ioErrorText(cause)}`, { cause });
  }
}

async function collect(
  readable: ReadableStream<Uint8Array>,
  name: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of readable) {
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new UsageError(`Cannot read ${name} as it must have at most ${maxBytes} bytes: it has more`);
    }
    pieces.push(new Uint8Array(piece));
  }
  return concat(pieces);
}

function ioErrorText(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file";
  if (error instanceof Deno.errors.IsADirectory) return "it is a directory";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  return errorMessage(error);
}
