import manifest from "pyodide/package.json" with { type: "json" };
import lock from "pyodide/pyodide-lock.json" with { type: "json" };

/** Files of the Pyodide distribution that a sandbox needs. */
export interface PyodideFiles {
  readonly wasm: Uint8Array;
  readonly factory: Uint8Array;
  readonly loader: Uint8Array;
  readonly stdlib: Uint8Array;
  /** A lock file without packages, so that a guest can load none at run time. */
  readonly lock: string;
}

/** Version of the Pyodide distribution, which is part of an image's cache key. */
export const PYODIDE_VERSION: string = manifest.version;

/** Version of CPython in the distribution. */
export const PYTHON_VERSION: string = lock.info.python;

/** Reads the distribution from its npm package. */
export async function readPyodide(): Promise<PyodideFiles> {
  const [wasm, factory, loader, stdlib, lock] = await Promise.all([
    read(import.meta.resolve("pyodide/pyodide.asm.wasm")),
    read(import.meta.resolve("pyodide/pyodide.asm.mjs")),
    read(import.meta.resolve("pyodide/pyodide.mjs")),
    read(import.meta.resolve("pyodide/python_stdlib.zip")),
    read(import.meta.resolve("pyodide/pyodide-lock.json")),
  ]);
  return { wasm, factory, loader, stdlib, lock: toEmptyLockFile(JSON.parse(new TextDecoder().decode(lock))) };
}

/** A package of the distribution. */
export interface DistributedPackage {
  readonly name: string;
  readonly version: string;
  readonly file_name: string;
  readonly sha256: string;
  /** Names of other packages of the distribution that it needs. */
  readonly depends: readonly string[];
  readonly package_type: string;
}

/** The lock file of the distribution. */
export interface DistributionLock {
  readonly info: {
    readonly abi_version: string;
    readonly arch: string;
    readonly platform: string;
    readonly python: string;
  };
  readonly packages: Readonly<Record<string, DistributedPackage>>;
}

/** Reads the list of the distribution's packages from its npm package, which has none of their files. */
export async function readDistributionLock(): Promise<DistributionLock> {
  return JSON.parse(new TextDecoder().decode(await read(import.meta.resolve("pyodide/pyodide-lock.json"))));
}

/**
 * Returns the address of the distribution's files that its npm package states: the default of its loader.
 *
 * @throws {TypeError} if the loader states none.
 */
export async function readDistributionAddress(): Promise<string> {
  const loader = new TextDecoder().decode(await read(import.meta.resolve("pyodide/pyodide.mjs")));
  const [, start, end] = /`(https:\/\/[\w./-]+\/v)\$\{\w+\}(\/full\/)`/.exec(loader) ?? [];
  if (start !== undefined && end !== undefined) return `${start}${PYODIDE_VERSION}${end}`;
  throw new TypeError(
    `Cannot find the address of Pyodide's distribution as its loader must state one: ${PYODIDE_VERSION} has none`,
  );
}

/** Returns the text of a lock file without its packages. */
function toEmptyLockFile({ info }: { info: unknown }): string {
  return JSON.stringify({ info, packages: {} });
}

function read(url: string): Promise<Uint8Array> {
  return Deno.readFile(new URL(url));
}
