import { join } from "node:path";
import { ROOT, run } from "../sources.ts";
import { buildWebModule } from "../web_module.ts";

/** Name of the module with IFEval's detector of languages. The graders import it at the first task that needs it. */
const LANGUAGES = "./edge_languages.js";

/** Writes the graders of the edge to a folder: `edge.js`, its types, and the detector of languages beside it. */
export async function buildEdgeModule(folder: string): Promise<void> {
  await buildWebModule({
    entry: "src/server/edge/portable.ts",
    folder,
    name: "edge",
    external: { "eld/extrasmall": LANGUAGES },
    replaced: {
      "src/rewards/math/math_verify/verified_math.ts": "packaging/edge/no_math_verify.ts",
    },
  });
  const out = `--output=${join(folder, LANGUAGES)}`;
  await run(Deno.execPath(), [
    "bundle",
    "--quiet",
    "--platform=browser",
    out,
    "packaging/edge/languages.ts",
  ], {
    cwd: ROOT,
  });
}
