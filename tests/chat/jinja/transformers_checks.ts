/**
 * Compares chat templates with transformers: those of TRL and axolotl, those of the folder that PADDOCK_TEMPLATES names,
 * and random templates. `deno task test:templates` installs transformers, TRL and axolotl with pip. It writes the table
 * of docs/templates.md. PADDOCK_RANDOM_TEMPLATES is the number of random templates.
 */
import { assertEquals } from "@std/assert";
import { basename, join } from "node:path";
import { glob } from "node:fs/promises";
import { UnsupportedError } from "../../../src/chat/jinja/errors.ts";
import { Template } from "../../../src/chat/jinja/template.ts";
import {
  type CheckedTemplate,
  checkTemplate,
  compareReport,
  oracleCases,
  triedChats,
} from "../../../src/cli/templates/check.ts";
import { plainTokenizer } from "../../../src/cli/templates/plain_tokenizer.ts";
import { renderByTransformers } from "../../../src/cli/templates/transformers_oracle.ts";
import { downloadTemplates, installOracle } from "./oracle.ts";
import { TemplateGenerator } from "./random_templates.ts";
import { RANDOM_VARIABLES } from "./random_vocabulary.ts";
import { parseNumbersExactly, recordedTemplates } from "./recorded.ts";
import { writeTable } from "./template_table.ts";

const RANDOM = Number(Deno.env.get("PADDOCK_RANDOM_TEMPLATES") ?? 20_000);
const SEED = Number(Deno.env.get("PADDOCK_SEED") ?? 39);
const BATCH = 10_000;

const python = await installOracle();

Deno.test("templates of released models give the text of transformers, or both refuse", async () => {
  const released = await readTemplates(await downloadTemplates(python));
  const folder = Deno.env.get("PADDOCK_TEMPLATES");
  const templates = [...released, ...folder === undefined ? [] : await readTemplates(folder)];
  const { results } = await renderByTransformers(templates.flatMap(oracleCases), { python });
  const chats = triedChats().length;
  const reports = templates.map((template, at) =>
    compareReport(checkTemplate(template), results.slice(at * chats, (at + 1) * chats))
  );
  const different = reports.flatMap(({ template, differences }) =>
    (differences ?? []).map((difference) => ({ template, ...difference }))
  );
  print(`templates: ${templates.length}, renderings: ${results.length}, different: ${different.length}`);
  await writeTable(reports.slice(0, released.length));
  assertEquals(different, []);
});

Deno.test("random templates give the text of transformers, or both refuse", async () => {
  const generator = new TemplateGenerator(SEED);
  const variables = parseNumbersExactly(RANDOM_VARIABLES) as Record<string, unknown>;
  const counts = { same: 0, refused: 0, declined: 0 };
  const different: object[] = [];
  for (let done = 0; done < RANDOM; done += BATCH) {
    const templates = Array.from({ length: Math.min(BATCH, RANDOM - done) }, () => generator.next());
    const cases = templates.map((template) =>
      `{"template": ${JSON.stringify(template)}, "variables": ${RANDOM_VARIABLES}}`
    );
    const { results } = await renderByTransformers(cases, { python });
    for (const [at, template] of templates.entries()) {
      const result = results[at];
      const text = result !== undefined && "text" in result ? result.text : null;
      const own = render(template, variables);
      if (own instanceof UnsupportedError && text !== null) counts.declined++;
      else if (typeof own !== "string" && text === null) counts.refused++;
      else if (own === text) counts.same++;
      else different.push({ template, transformers: result, own });
    }
  }
  print(`random templates (seed ${SEED}): ${JSON.stringify({ ...counts, different: different.length })}`);
  assertEquals(different, []);
});

Deno.test("recorded texts are those of transformers", async () => {
  const recorded = recordedTemplates();
  const cases = recorded.map(({ template, variables = {} }) => JSON.stringify({ template, variables }));
  const { results } = await renderByTransformers(cases, { python });
  const texts = results.map((result) => "text" in result ? result.text : null);
  assertEquals(texts, recorded.map(({ text }) => text));
});

function render(template: string, variables: Record<string, unknown>): string | Error {
  try {
    return new Template(template).render(variables);
  } catch (error) {
    return error as Error;
  }
}

async function readTemplates(folder: string): Promise<CheckedTemplate[]> {
  const found = await Array.fromAsync(glob("**/*.jinja", { cwd: folder }));
  return await Promise.all(
    found.sort().map(async (path) => {
      const source = await Deno.readTextFile(join(folder, path));
      const name = nameOf(`/${path}`);
      return { name, source, tokenizer: plainTokenizer(name, source) };
    }),
  );
}

/** Returns the package and the file of a template. */
function nameOf(path: string): string {
  const name = basename(path, ".jinja");
  const from = ["trl", "axolotl"].find((name) => path.includes(`/${name}/`));
  return from === undefined ? name : `${from}: ${name}`;
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
