import { dirname, resolve } from "node:path/posix";
import evaluation from "../../sandboxes/evaluation.jsonc" with { type: "text" };
import python from "../../sandboxes/python.jsonc" with { type: "text" };
import serve from "../../sandboxes/serve.jsonc" with { type: "text" };
import strict from "../../sandboxes/strict.jsonc" with { type: "text" };
import tools from "../../sandboxes/tools.jsonc" with { type: "text" };
import workspace from "../../sandboxes/workspace.jsonc" with { type: "text" };
import { errorMessage } from "../errors.ts";

const SHIPPED: ReadonlyMap<string, string> = new Map([
  ["evaluation", evaluation],
  ["python", python],
  ["serve", serve],
  ["strict", strict],
  ["tools", tools],
  ["workspace", workspace],
]);

/** The names of the profiles that come with the package. */
export const shippedProfiles: readonly string[] = [...SHIPPED.keys()];

/** A profile as it was found, not yet parsed. */
export interface ProfileFile {
  readonly text: string;
  /** The absolute folder of the file; none for a shipped profile. */
  readonly directory?: string;
}

/**
 * Finds a profile: the shipped one of that name, or the file when the value looks like a path.
 *
 * @throws {Deno.errors.NotFound} when there is none.
 * @throws {SyntaxError} when the file is not UTF-8.
 */
export async function readProfileFile(nameOrPath: string): Promise<ProfileFile> {
  if (!/\/|\.jsonc?$/.test(nameOrPath)) return { text: shipped(nameOrPath) };
  const path = resolve(Deno.cwd(), nameOrPath);
  return { text: decode(await readBytes(path, nameOrPath), nameOrPath), directory: dirname(path) };
}

function shipped(name: string): string {
  const text = SHIPPED.get(name);
  if (text !== undefined) return text;
  throw new Deno.errors.NotFound(
    `Cannot find profile '${name}': it must be one of ${
      shippedProfiles.join(", ")
    }, or a path to a .jsonc file`,
  );
}

async function readBytes(path: string, source: string): Promise<Uint8Array> {
  try {
    return await Deno.readFile(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw new Deno.errors.NotFound(
        `Cannot find profile '${source}': there is no file '${path}'; ` +
          `profiles that need no file are ${shippedProfiles.join(", ")}`,
        { cause },
      );
    }
    const why = errorMessage(cause);
    throw new Error(`Cannot read profile '${source}' as it must be a readable file: ${why}`, { cause });
  }
}

function decode(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SyntaxError(`Cannot read profile '${source}' as its text must be UTF-8: it is not`, { cause });
  }
}
