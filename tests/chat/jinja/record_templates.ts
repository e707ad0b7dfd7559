/**
 * Writes what transformers renders into `recorded_templates.json`, for each template of that file, and adds random
 * templates with `--add N --seed S`: `deno run -A tests/chat/jinja/record_templates.ts`. It needs a network.
 */
import { parseArgs } from "node:util";
import { renderByTransformers } from "../../../src/cli/templates/transformers_oracle.ts";
import { installTemplatePackages } from "../template_packages.ts";
import { TemplateGenerator } from "./random_templates.ts";
import { RANDOM_VARIABLES } from "./random_vocabulary.ts";
import { parseNumbersExactly, type Recording } from "./recorded.ts";

/** Longest template and text to keep. */
const MAX_LENGTH = 300;
/** Share of the random templates that are kept although transformers refuses them. */
const REFUSED_SHARE = 0.15;

const { values } = parseArgs({
  options: { add: { type: "string", default: "0" }, seed: { type: "string", default: "1" } },
});
const file = new URL("recorded_templates.json", import.meta.url);
const { templates: kept } = parseNumbersExactly(await Deno.readTextFile(file)) as Recording;
const cases: Omit<Recording["templates"][number], "text">[] = kept.map(({ text: _, ...one }) => one);
const { python } = await installTemplatePackages();

const wanted = Number(values.add);
const generator = new TemplateGenerator(Number(values.seed));
const random = Array.from({ length: wanted * 8 }, () => generator.next()).filter(isShort);
let refused = 0;
for (const [at, text] of (await render(random.map((template) => toLine(template)))).entries()) {
  if (cases.length >= kept.length + wanted) break;
  if (text === undefined || (text?.length ?? 0) > MAX_LENGTH) continue;
  if (text === null && ++refused > wanted * REFUSED_SHARE) continue;
  cases.push({ template: random[at] as string, random: true });
}

const texts = await render(
  cases.map(({ template, variables, random }) =>
    random ? toLine(template) : toLine(template, JSON.stringify(variables ?? {}))
  ),
);
const lines = cases.map((one, at) => JSON.stringify({ ...one, text: texts[at] }));
await Deno.writeTextFile(
  file,
  `{"variables": ${RANDOM_VARIABLES},\n"templates": [\n${lines.join(",\n")}\n]}\n`,
);

function isShort(template: string): boolean {
  return template.length <= MAX_LENGTH;
}

function toLine(template: string, variables?: string): string {
  return `{"template": ${JSON.stringify(template)}, "variables": ${variables ?? RANDOM_VARIABLES}}`;
}

/** Returns the texts, null for errors, and undefined for texts with an address of memory. */
async function render(lines: readonly string[]): Promise<(string | null | undefined)[]> {
  const { results } = await renderByTransformers(lines, { python });
  return results.map((result) => {
    if ("error" in result) return null;
    return / at 0x[\da-f]+/.test(result.text) ? undefined : result.text;
  });
}
