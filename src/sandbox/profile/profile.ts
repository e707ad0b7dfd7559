import { parse } from "@std/jsonc";
import { dirname, isAbsolute, resolve } from "node:path/posix";
import evaluation from "../../../sandboxes/evaluation.jsonc" with { type: "text" };
import python from "../../../sandboxes/python.jsonc" with { type: "text" };
import serve from "../../../sandboxes/serve.jsonc" with { type: "text" };
import strict from "../../../sandboxes/strict.jsonc" with { type: "text" };
import tools from "../../../sandboxes/tools.jsonc" with { type: "text" };
import workspace from "../../../sandboxes/workspace.jsonc" with { type: "text" };
import { errorMessage } from "../../errors.ts";
import { faults } from "./checks.ts";
import { profileSchema, type ProfileSettings } from "./schema.ts";

/** What a sandbox may do and use: plain data, checked, with every default filled in. */
export interface Profile extends ProfileSettings {
  /** What it was loaded by, for messages. */
  readonly name: string;
  /** Given by programs alone: a profile file has none. */
  readonly preload?: Preload | undefined;
  /** Where sessions have their own files and start, an absolute path in the guest; given by programs alone. */
  readonly home?: string | undefined;
}

/**
 * A Python module that runs once, when the base image is built, with the profile's mounts in place. Every session
 * finds it imported, with all that it holds, and a rewind goes back to that. The image is built again when the
 * source, or a file that is mounted, is another.
 */
export interface Preload {
  /** The name to import it by. */
  readonly module: string;
  readonly source: string;
  /** Whether it looks at no mount: then the image stays as it is when a file that is mounted changes. */
  readonly ignoresMounts?: boolean | undefined;
}

/** Where the text of a profile comes from. */
export interface ParseProfileOptions {
  /** The name or file that messages speak of. */
  source: string;
  /** The absolute folder that relative paths start from; without it they are refused. */
  directory?: string | undefined;
}

/**
 * Loads a profile by name (`python`, `serve`, `strict`, `tools`, `workspace`) or, when the value has a slash in it or ends in
 * `.jsonc` or `.json`, from that file.
 *
 * @throws {Deno.errors.NotFound} when the profile, or a file that it names, is not there.
 * @throws {SyntaxError} when it is not a valid profile; the message lists every fault.
 */
export async function loadProfile(nameOrPath: string): Promise<Profile> {
  const { text, directory } = await readProfileFile(nameOrPath);
  const profile = parseProfile(text, { source: nameOrPath, directory });
  await requireFiles(profile);
  return profile;
}

/**
 * Checks the text of a profile and makes its host paths absolute; touches no file.
 *
 * @throws {SyntaxError} when it is not a valid profile; the message lists every fault.
 */
export function parseProfile(text: string, options: ParseProfileOptions): Profile {
  const { source } = options;
  const result = profileSchema.safeParse(parseProfileText(text, source), { reportInput: true });
  if (!result.success) {
    throw new SyntaxError(`Cannot read profile '${source}':\n  ${faults(result.error).join("\n  ")}`);
  }
  const { packages, mounts } = result.data;
  return {
    name: source,
    ...result.data,
    packages: packages.map((file) => ({ ...file, path: absolute(file.path, options) })),
    mounts: mounts.map((mount) => ({ ...mount, hostPath: absolute(mount.hostPath, options) })),
  };
}

function absolute(path: string, { source, directory }: ParseProfileOptions): string {
  if (directory === undefined && !isAbsolute(path)) {
    throw new SyntaxError(
      `Cannot read profile '${source}' as its paths must be absolute, for it is in no folder: there is '${path}'`,
    );
  }
  return resolve(directory ?? "/", path);
}

async function requireFiles({ name, mounts, packages }: Profile): Promise<void> {
  for (const path of [...mounts.map((mount) => mount.hostPath), ...packages.map((file) => file.path)]) {
    try {
      await Deno.stat(path);
    } catch (cause) {
      throw new Deno.errors.NotFound(
        `Cannot load profile '${name}' as what it mounts and installs must be there: '${path}' is not`,
        { cause },
      );
    }
  }
}

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

/** Reads JSON with comments; what is wrong with it is thrown as a `SyntaxError` that says where. */
export function parseProfileText(text: string, source: string): unknown {
  const value = parseJsonc(text, source);
  if (hasPrototypeKey(value)) {
    throw new SyntaxError(`Cannot read profile '${source}' as '__proto__' is an unknown key`);
  }
  return value;
}

function parseJsonc(text: string, source: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw new SyntaxError(
      `Cannot read profile '${source}' as it must be JSON with comments: ${parseErrorText(cause, text)}`,
      { cause },
    );
  }
}

/** Returns the message of a parse error, with its offset converted to a line and a column. */
function parseErrorText(cause: unknown, text: string): string {
  if (!(cause instanceof SyntaxError)) return "it is nested too deeply";
  const complaint = cause.message.replace(/^Cannot parse JSONC: /, "").replace(/ in JSONC\b/, "");
  return complaint.replace(/ at position (\d+)$/, (_, offset) => {
    const lines = text.slice(0, Number(offset)).split("\n");
    return ` at line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
  });
}

/** Whether `__proto__` is a key anywhere: schemas of records pass over it in silence. */
function hasPrototypeKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(hasPrototypeKey);
}
