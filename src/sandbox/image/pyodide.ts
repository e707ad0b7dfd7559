import manifest from "pyodide/package.json" with { type: "json" };

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

/** Returns the text of a lock file without its packages. */
export function toEmptyLockFile({ info }: { info: unknown }): string {
  return JSON.stringify({ info, packages: {} });
}

function read(url: string): Promise<Uint8Array> {
  return Deno.readFile(new URL(url));
}
