import { join } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../../deno.json" with { type: "json" };
import { writeText } from "../../src/cli/output.ts";
import { copySources, DENO_VERSION, ROOT } from "../sources.ts";
import { buildEdgeModule } from "../edge/edge_module.ts";
import { buildWebModule } from "../web_module.ts";

/**
 * Builds the npm package: the command `paddock`, which runs the sources in Deno, and the client and the
 * graders of the edge, each as one ES module.
 *
 *     deno task package:npm [--out dist/npm]
 */

/** Version of an npm package that the sources import. */
function versionOf(name: string): string {
  const specifier = (manifest.imports as Record<string, string>)[name] ?? "";
  return specifier.slice(specifier.lastIndexOf("@") + 1);
}

function packageJson(sources: string): object {
  return {
    name: manifest.name,
    version: manifest.version,
    description: "Sandboxed Python and tools for reinforcement learning of language models",
    license: manifest.license,
    keywords: ["sandbox", "python", "pyodide", "reinforcement-learning", "code-execution", "llm", "deno"],
    type: "module",
    sideEffects: false,
    bin: { paddock: "bin/paddock.mjs" },
    exports: {
      "./client": { types: "./client.d.ts", default: "./client.js" },
      "./edge": { types: "./edge.d.ts", default: "./edge.js" },
      "./package.json": "./package.json",
    },
    engines: { node: ">=22" },
    dependencies: { deno: DENO_VERSION, zod: versionOf("zod") },
    sources,
  };
}

const { values } = parseArgs({ options: { out: { type: "string", default: join(ROOT, "dist/npm") } } });
const folder = values.out;
await Deno.remove(folder, { recursive: true }).catch(() => {}); // usually there is none
await Deno.mkdir(join(folder, "bin"), { recursive: true });
const sources = await copySources(join(folder, "sources"));
await Deno.writeTextFile(join(folder, "package.json"), `${JSON.stringify(packageJson(sources), null, 2)}\n`);
await Deno.copyFile(join(ROOT, "packaging/npm/paddock.mjs"), join(folder, "bin/paddock.mjs"));
await Deno.chmod(join(folder, "bin/paddock.mjs"), 0o755);
for (const name of ["README.md", "LICENSE"]) await Deno.copyFile(join(ROOT, name), join(folder, name));
await buildWebModule({ entry: "mod/client.ts", folder, name: "client" });
await buildEdgeModule(folder);
await writeText(Deno.stdout, `${folder}\n`);
