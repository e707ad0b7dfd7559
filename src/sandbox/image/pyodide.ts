import { version } from "pyodide/pyodide.mjs";

/** The files of the Pyodide distribution that a sandbox is made of. */
export interface PyodideFiles {
  readonly wasm: Uint8Array;
  readonly factory: Uint8Array;
  readonly loader: Uint8Array;
  readonly stdlib: Uint8Array;
  /** A lock file that names no package, which is all that a guest can load at run time. */
  readonly lock: string;
}

/** Names the distribution, for the key under which what was made of it is cached. */
export const PYODIDE_VERSION: string = version;

/** Reads the distribution from the package it comes in. */
export async function readPyodide(): Promise<PyodideFiles> {
  const [wasm, factory, loader, stdlib, lock] = await Promise.all([
    read(import.meta.resolve("pyodide/pyodide.asm.wasm")),
    read(import.meta.resolve("pyodide/pyodide.asm.mjs")),
    read(import.meta.resolve("pyodide/pyodide.mjs")),
    read(import.meta.resolve("pyodide/python_stdlib.zip")),
    read(import.meta.resolve("pyodide/pyodide-lock.json")),
  ]);
  return { wasm, factory, loader, stdlib, lock: withoutPackages(JSON.parse(new TextDecoder().decode(lock))) };
}

/** The text of a lock file that names no package. */
export function withoutPackages({ info }: { info: unknown }): string {
  return JSON.stringify({ info, packages: {} });
}

function read(url: string): Promise<Uint8Array> {
  return Deno.readFile(new URL(url));
}
