import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import protocol from "../../sandbox/protocol.ts" with { type: "text" };
import serve from "./guest/serve.ts" with { type: "text" };

/** A folder that goes when it is disposed. */
export interface ToolModules extends AsyncDisposable {
  readonly directory: string;
}

/**
 * Writes the modules that offer a tool's file over a pipe: `main.js` is the one to run. The file is imported by its
 * URL, so that it needs no permission to read itself or what it imports.
 */
export async function writeToolModules(file: URL): Promise<ToolModules> {
  const directory = await Deno.makeTempDir({ prefix: "paddock-tool-" });
  const sources = {
    "protocol.js": stripTypeScriptTypes(protocol),
    "serve.js": stripTypeScriptTypes(serve).replace(/(from )"[^"]*\/(\w+)\.ts"/g, '$1"./$2.js"'),
    // serve.js is first, for it takes the pipe before the tool can
    "main.js": `import { serve } from "./serve.js";\nimport * as tool from ${
      JSON.stringify(file.href)
    };\nawait serve(tool);\n`,
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
