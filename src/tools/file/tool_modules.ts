import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import protocol from "../../sandbox/protocol.ts" with { type: "text" };
import serve from "./guest/serve.ts" with { type: "text" };

/** `serve.js` is first, for it takes the pipe before the tool can. */
const MAIN = `import { serve } from "./serve.js";
const [file, folder] = Deno.args;
const revoke = Deno.permissions.revokeSync.bind(Deno.permissions);
const tool = await import(file);
if (folder !== undefined) revoke({ name: "read", path: folder });
await serve(tool);
`;

/** A folder that goes when it is disposed. */
export interface ToolModules extends AsyncDisposable {
  readonly directory: string;
}

/**
 * Writes the modules that offer a tool's file over a pipe: `main.js` is the one to run, with the file's URL and, where
 * it may read its folder only while it is loaded, that folder.
 *
 * The file is imported by a name that Deno first sees when it runs. Such an import needs the permission to read, and
 * so does all that is imported by it, whatever its type; what a program imports by its own text needs none.
 */
export async function writeToolModules(): Promise<ToolModules> {
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
