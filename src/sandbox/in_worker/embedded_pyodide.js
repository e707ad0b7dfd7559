// @ts-self-types="./embedded_pyodide.d.ts"
import lock from "pyodide/pyodide-lock.json" with { type: "json" };
import { toEmptyLockFile } from "../image/pyodide.ts";

/** Type of the imports. It is a variable as JSR refuses it in them: it is not stable. */
const type = "bytes";

export async function importEmbeddedPyodide() {
  const modules = await Promise.all([
    import("pyodide/pyodide.asm.wasm", { with: { type } }),
    import("pyodide/pyodide.asm.mjs", { with: { type } }),
    import("pyodide/pyodide.mjs", { with: { type } }),
    import("pyodide/python_stdlib.zip", { with: { type } }),
  ]);
  const [wasm, factory, loader, stdlib] = modules.map((module) => module.default);
  return { wasm, factory, loader, stdlib, lock: toEmptyLockFile(lock) };
}
