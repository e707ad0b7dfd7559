import { isAbsolute, resolve } from "node:path/posix";
import { faults } from "./checks.ts";
import { readProfileFile } from "./profile_file.ts";
import { profileSchema, type ProfileSettings } from "./profile_schema.ts";
import { parseProfileText } from "./profile_text.ts";

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
