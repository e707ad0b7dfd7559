import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import protocol from "../../sandbox/protocol.ts" with { type: "text" };
import serve from "./guest/serve.ts" with { type: "text" };

/** `serve.js` is imported first, because it must take over stdout before the tool can. */
const MAIN = `import { serve } from "./serve.js";
const [file, folder] = Deno.args;
const revoke = Deno.permissions.revokeSync.bind(Deno.permissions);
const tool = await import(file);
if (folder !== undefined) revoke({ name: "read", path: folder });
await serve(tool);
`;

/** A temporary folder with modules. Disposing it removes the folder. */
export interface ToolModules extends AsyncDisposable {
  readonly directory: string;
}

/**
 * Writes the modules that serve a tool file over a pipe. Run `main.js` with the file's URL and, if the file
 * may read its folder only while it is loaded, with that folder.
 *
 * Deno learns the name of the file only at run time. Such an import needs read permission, and so do all
 * modules that it imports, of any type. Static imports of the main program need none.
 */
export async function writeServeModules(): Promise<ToolModules> {
  const directory = await Deno.makeTempDir({ prefix: "paddock-tool-" });
  const sources = {
    "protocol.js": stripTypeScriptTypes(protocol),
    "serve.js": stripTypeScriptTypes(serve).replace(/(from )"[^"]*\/(\w+)\.ts"/g, '$1"./$2.js"'),
    "main.js": MAIN,
  };
  for (const [name, source] of Object.entries(sources)) {
    await Deno.writeTextFile(join(directory, name), source);
  }
  return {
    directory,
    async [Symbol.asyncDispose]() {
      await Deno.remove(directory, { recursive: true }).catch(ignoreMissing);
    },
  };
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
