import type { PyodideFiles } from "../image/pyodide.ts";

/**
 * Imports the Pyodide distribution as part of the program, which needs no permission to read files. A server that runs
 * no Python does not load it.
 */
export function importEmbeddedPyodide(): Promise<PyodideFiles>;
