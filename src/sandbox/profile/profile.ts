import { requireKnownOptions } from "../../options.ts";
import * as z from "zod";
import { dirname, isAbsolute, resolve } from "node:path/posix";
import evaluation from "../../../sandboxes/evaluation.jsonc" with { type: "text" };
import python from "../../../sandboxes/python.jsonc" with { type: "text" };
import reason from "../../../sandboxes/reason.jsonc" with { type: "text" };
import science from "../../../sandboxes/science.jsonc" with { type: "text" };
import serve from "../../../sandboxes/serve.jsonc" with { type: "text" };
import strict from "../../../sandboxes/strict.jsonc" with { type: "text" };
import tools from "../../../sandboxes/tools.jsonc" with { type: "text" };
import workspace from "../../../sandboxes/workspace.jsonc" with { type: "text" };
import { errorMessage } from "../../errors.ts";
import { parseJsonc } from "../../jsonc.ts";
import { issueLines } from "./checks.ts";
import type { NetworkSettings } from "./network.ts";
import type { SecretValues } from "./secret_values.ts";
import { profileSchema, type ProfileSettings } from "./schema.ts";

/**
 * Settings of a sandbox: permissions, limits, packages and isolation layers. Plain data, validated, with all defaults.
 * Load a profile with {@linkcode loadProfile}.
 */
export interface Profile extends ProfileSettings {
  /** Name or path that it was loaded by, for messages. */
  readonly name: string;
  /** Python module that is part of the base image. Set by programs only; a profile file cannot have this key. */
  readonly preload?: Preload | undefined;
  /**
   * Factor of all limits of time that programs have, from 0.1 to 20: `limits.timeoutMs`, `limits.cpuSeconds`, and the
   * `timeoutMs` of a call. See {@linkcode measureTimeScale}. Set by programs only; a profile file cannot have this
   * key.
   *
   * @default 1
   */
  readonly timeScale?: number | undefined;
  /**
   * Values of the secrets in `network`. Set by programs only: the command line reads them from its environment.
   *
   * @default none
   */
  readonly secretValues?: SecretValues | undefined;
  /**
   * Absolute path in the guest of the directory where sessions start and keep their files. Set by programs only; a
   * profile file cannot have this key.
   *
   * @default "/home/pyodide"
   */
  readonly home?: string | undefined;
}

/**
 * A Python module that runs once, when the base image is built, with the profile's mounts in place. In every
 * session it is already imported, with its state, and a rewind restores that state. The image is built again if the
 * source or a mounted file changes.
 */
export interface Preload {
  /** Name by which it is imported. */
  readonly module: string;
  /** Python source of the module. */
  readonly source: string;
  /**
   * True if it reads no mount: the image is then not built again if a mounted file changes.
   *
   * @default false
   */
  readonly ignoresMounts?: boolean | undefined;
}

/** Options of {@linkcode parseProfile}. */
export interface ParseProfileOptions {
  /** Name or path of the profile, for messages. */
  source: string;
  /** Absolute directory that relative paths start from. Without it, relative paths are an error. */
  directory?: string | undefined;
}

/**
 * Loads a profile by name (`python`, `tools`, `workspace`, `serve`, `strict`, `evaluation`, `reason`, `science`), or
 * from a file if the value contains a slash or ends in `.jsonc` or `.json`.
 *
 * @example Load a profile and change a limit
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { loadProfile } from "@paddock/paddock";
 *
 * const python = await loadProfile("python");
 * const profile = { ...python, limits: { ...python.limits, timeoutMs: 2_000 } };
 * assertEquals(profile.limits.memoryBytes, 256 * 1024 * 1024);
 * ```
 *
 * @throws {Deno.errors.NotFound} if the profile, or a file that it names, does not exist.
 * @throws {SyntaxError} if it is not a valid profile; the message lists every issue.
 */
export async function loadProfile(nameOrPath: string): Promise<Profile> {
  const { text, directory } = await readProfileFile(nameOrPath);
  const profile = parseProfile(text, { source: nameOrPath, directory });
  await requireFiles(profile);
  return profile;
}

/**
 * Parses the text of a profile and makes its host paths absolute. It reads no file.
 *
 * @throws {SyntaxError} if it is not a valid profile; the message lists every issue.
 */
export function parseProfile(text: string, options: ParseProfileOptions): Profile {
  requireKnownOptions("call parseProfile", options, { source: true, directory: true });
  const { source } = options;
  const result = z.safeParse(profileSchema, parseProfileText(text, source), { reportInput: true });
  if (!result.success) {
    const issues = issueLines(result.error);
    throw new SyntaxError(
      `Cannot read profile '${source}':${issues.length > 1 ? "\n " : ""} ${issues.join("\n  ")}`,
    );
  }
  const { packages, mounts, network } = result.data;
  return {
    name: source,
    ...result.data,
    packages: packages.map((file) =>
      file.kind === "stored" ? file : { ...file, path: toAbsolute(file.path, options) }
    ),
    mounts: mounts.map((mount) => ({ ...mount, hostPath: toAbsolute(mount.hostPath, options) })),
    ...(network && { network: withAbsolutePaths(network, options) }),
  };
}

function withAbsolutePaths(network: NetworkSettings, options: ParseProfileOptions): NetworkSettings {
  const { record, replay } = network;
  return {
    ...network,
    ...(record !== undefined && { record: toAbsolute(record, options) }),
    ...(replay !== undefined && { replay: toAbsolute(replay, options) }),
  };
}

function toAbsolute(path: string, { source, directory }: ParseProfileOptions): string {
  if (directory === undefined && !isAbsolute(path)) {
    throw new SyntaxError(
      `Cannot read profile '${source}' as its paths must be absolute if it is not a file: current value is '${path}'`,
    );
  }
  return resolve(directory ?? "/", path);
}

async function requireFiles({ name, mounts, packages }: Profile): Promise<void> {
  const files = packages.filter(({ kind }) => kind !== "stored"); // those are needed only to build the image
  for (const path of [...mounts.map((mount) => mount.hostPath), ...files.map((file) => file.path)]) {
    try {
      await Deno.stat(path);
    } catch (cause) {
      throw new Deno.errors.NotFound(
        `Cannot load profile '${name}' as its mounts and packages must exist: there is no '${path}'`,
        { cause },
      );
    }
  }
}

const SHIPPED: ReadonlyMap<string, string> = new Map([
  ["evaluation", evaluation],
  ["python", python],
  ["reason", reason],
  ["science", science],
  ["serve", serve],
  ["strict", strict],
  ["tools", tools],
  ["workspace", workspace],
]);

/** Names of the profiles that are part of the package. */
export const shippedProfiles: readonly string[] = [...SHIPPED.keys()];

/** Text of a profile that is not yet parsed. */
export interface ProfileFile {
  readonly text: string;
  /** Absolute directory of the file; undefined for a profile that is part of the package. */
  readonly directory?: string;
}

/**
 * Reads the text of a profile of the package by its name, or of a file if the value looks like a path.
 *
 * @throws {Deno.errors.NotFound} if there is no such profile.
 * @throws {SyntaxError} if the file is not UTF-8.
 */
export async function readProfileFile(nameOrPath: string): Promise<ProfileFile> {
  if (!/\/|\.jsonc?$/.test(nameOrPath)) return { text: shippedText(nameOrPath) };
  const path = resolve(Deno.cwd(), nameOrPath);
  return { text: decode(await readBytes(path, nameOrPath), nameOrPath), directory: dirname(path) };
}

function shippedText(name: string): string {
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
    return await readAtMost(path, MAX_BYTES);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw new Deno.errors.NotFound(
        `Cannot find profile '${source}': there is no file '${path}'; ` +
          `profiles that need no file are ${shippedProfiles.join(", ")}`,
        { cause },
      );
    }
    const reason = errorMessage(cause);
    throw new Error(`Cannot read profile '${source}' as it must be a readable file: ${reason}`, { cause });
  }
}

/** Maximum size of a profile's file, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** Reads a file. Its size is no limit, as a device has none. */
async function readAtMost(path: string, maxBytes: number): Promise<Uint8Array> {
  using file = await Deno.open(path);
  const bytes = new Uint8Array(maxBytes + 1);
  let filled = 0;
  for (let read: number | null = 0; read !== null && filled < bytes.length; filled += read ?? 0) {
    read = await file.read(bytes.subarray(filled));
  }
  if (filled > maxBytes) throw new RangeError(`it must have at most ${maxBytes} bytes: it has more`);
  return bytes.subarray(0, filled);
}

function decode(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SyntaxError(`Cannot read profile '${source}' as it must be UTF-8: found an invalid byte`, {
      cause,
    });
  }
}

/** Parses the text of a profile, as {@linkcode parseJsonc} does. */
export function parseProfileText(text: string, source: string): unknown {
  return parseJsonc(text, `profile '${source}'`);
}
