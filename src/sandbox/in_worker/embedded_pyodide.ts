import wasm from "pyodide/pyodide.asm.wasm" with { type: "bytes" };
import factory from "pyodide/pyodide.asm.mjs" with { type: "bytes" };
import loader from "pyodide/pyodide.mjs" with { type: "bytes" };
import lock from "pyodide/pyodide-lock.json" with { type: "json" };
import stdlib from "pyodide/python_stdlib.zip" with { type: "bytes" };
import { type PyodideFiles, withoutPackages } from "../image/pyodide.ts";

/** The distribution as part of the program: who may read no file has it all the same. */
export const EMBEDDED_PYODIDE: PyodideFiles = { wasm, factory, loader, stdlib, lock: withoutPackages(lock) };
