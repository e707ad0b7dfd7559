import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeText } from "../../src/cli/output.ts";
import { ROOT } from "../sources.ts";
import { buildEdgeModule } from "./edge_module.ts";

/**
 * Builds the graders of the edge as one ES module of Web APIs.
 *
 *     deno task package:edge [--out dist/edge]
 */
const { values: { out } } = parseArgs({
  options: { out: { type: "string", default: join(ROOT, "dist/edge") } },
});
await buildEdgeModule(out);
await writeText(Deno.stdout, `${out}\n`);
