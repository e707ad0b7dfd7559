import wasm from "pyodide/pyodide.asm.wasm" with { type: "bytes" };
import factory from "pyodide/pyodide.asm.mjs" with { type: "bytes" };
import loader from "pyodide/pyodide.mjs" with { type: "bytes" };
import lock from "pyodide/pyodide-lock.json" with { type: "json" };
import stdlib from "pyodide/python_stdlib.zip" with { type: "bytes" };
import { type PyodideFiles, toEmptyLockFile } from "../image/pyodide.ts";

/** The Pyodide distribution as part of the program, which needs no permission to read files. */
export const EMBEDDED_PYODIDE: PyodideFiles = { wasm, factory, loader, stdlib, lock: toEmptyLockFile(lock) };
