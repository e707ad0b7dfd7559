import { unzipSync } from "fflate";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import type { Mount } from "../profile/mounts.ts";
import type { PackageFile } from "../profile/packages.ts";
import { sha256 } from "../../hash.ts";

/** Where Python looks for packages, below the library's mount. */
const SITE_PACKAGES = "/python3.14/site-packages";

/** One file of the library that all sessions read. */
export interface LibraryFile {
  readonly path: string;
  readonly contents: Uint8Array;
}

/**
 * The files of a profile's packages, unpacked.
 *
 * @throws {TypeError} when a file does not match its hash, is no wheel, or holds native code.
 */
export async function packageFiles(packages: readonly PackageFile[]): Promise<LibraryFile[]> {
  const wheels = await Promise.all(
    packages.map((file) => file.kind === "wheel" ? [file] : lockedWheels(file)),
  );
  const files = await Promise.all(wheels.flat().map(unpack));
  return files.flat();
}

async function unpack(file: Pick<PackageFile, "name" | "path" | "sha256">): Promise<LibraryFile[]> {
  const entries = unzip(file.name, await readChecked(file));
  return Object.entries(entries).filter(([path]) => !path.endsWith("/")).map(([path, contents]) => {
    if (/\.(so|pyd|dylib)$/.test(path)) {
      throw new TypeError(refusal(file.name, `it holds native code: ${path}`));
    }
    if (path.startsWith("/") || path.split("/").includes("..")) {
      throw new TypeError(refusal(file.name, `it holds a path that leads out: ${path}`));
    }
    return { path: `${SITE_PACKAGES}/${path}`, contents };
  });
}

function unzip(name: string, bytes: Uint8Array): Record<string, Uint8Array> {
  try {
    return unzipSync(bytes);
  } catch (cause) {
    throw new TypeError(refusal(name, "it is not a wheel"), { cause });
  }
}

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ file_name: z.string(), sha256: z.string(), depends: z.array(z.string()).default([]) }),
  ),
});

/** The wheels of a package and of all it depends on, which lie beside the lock file. */
async function lockedWheels(lock: PackageFile): Promise<Pick<PackageFile, "name" | "path" | "sha256">[]> {
  const { packages } = lockSchema.parse(JSON.parse(new TextDecoder().decode(await readChecked(lock))));
  const found = new Map<string, Pick<PackageFile, "name" | "path" | "sha256">>();
  const waiting = [lock.name];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    const entry = packages[name];
    if (!entry) throw new TypeError(refusal(lock.name, `'${name}' is not in its lock file`));
    const path = resolve(dirname(lock.path), entry.file_name);
    found.set(name, { name, path, sha256: entry.sha256 });
    waiting.push(...entry.depends);
  }
  return [...found.values()];
}

async function readChecked(file: Pick<PackageFile, "name" | "path" | "sha256">): Promise<Uint8Array> {
  const bytes = await Deno.readFile(file.path);
  const digest = await sha256(bytes);
  if (digest === file.sha256) return bytes;
  throw new TypeError(refusal(file.name, `its sha256 must be ${file.sha256}: current value is ${digest}`));
}

function refusal(name: string, reason: string): string {
  return `Cannot install package '${name}' as ${reason}`;
}

/** What Python writes beside its sources; it says nothing that they do not. */
const WRITTEN_BY_PYTHON = "__pycache__";

/** Tells mounts with other paths or contents apart: one text for each file, in the order of their names. */
export async function mountDigests(mounts: readonly Mount[]): Promise<string[]> {
  const digests: string[] = [];
  for (const { guestPath, hostPath } of mounts) {
    for (const path of await filesBelow(hostPath, "")) {
      const digest = await sha256(await Deno.readFile(join(hostPath, path)));
      digests.push(`${guestPath}${path} ${digest}`);
    }
  }
  return digests.sort();
}

/** The files that a child reads of a mount, by their paths inside it; of a file, the empty path. */
async function filesBelow(root: string, inside: string): Promise<string[]> {
  const at = join(root, inside);
  if (!(await Deno.stat(at)).isDirectory) return [inside];
  const found: string[] = [];
  for await (const entry of Deno.readDir(at)) {
    if (entry.name === WRITTEN_BY_PYTHON) continue;
    if (entry.isFile) found.push(`${inside}/${entry.name}`);
    else if (entry.isDirectory) found.push(...await filesBelow(root, `${inside}/${entry.name}`));
  }
  return found;
}
