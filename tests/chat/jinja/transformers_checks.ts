/**
 * Compares chat templates with transformers: those of TRL and axolotl, those of the folder that PADDOCK_TEMPLATES names,
 * and random templates. `deno task test:templates` installs the packages of template_packages.txt. It writes the
 * tables of docs/templates.md. PADDOCK_RANDOM_TEMPLATES is the number of random templates.
 */
import { assertEquals } from "@std/assert";
import { UnsupportedError } from "../../../src/chat/jinja/jinja_errors.ts";
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
import { furtherTemplates, type ReleasedTemplate, releasedTemplates } from "../released_templates.ts";
import { installTemplatePackages } from "../template_packages.ts";
import { TemplateGenerator } from "./random_templates.ts";
import { RANDOM_VARIABLES } from "./random_vocabulary.ts";
import { parseNumbersExactly, recordedTemplates } from "./recorded.ts";
import { tryCalls } from "./call_round_trip.ts";
import { writeTables } from "./template_table.ts";

const RANDOM = Number(Deno.env.get("PADDOCK_RANDOM_TEMPLATES") ?? 20_000);
const SEED = Number(Deno.env.get("PADDOCK_SEED") ?? 39);
const BATCH = 10_000;

const packages = await installTemplatePackages();
const { python } = packages;

Deno.test("templates of released models give the text of transformers, or both refuse", async () => {
  const released = await releasedTemplates(packages);
  const templates = [...released.map(toChecked), ...(await furtherTemplates()).map(toChecked)];
  const { results } = await renderByTransformers(templates.flatMap(oracleCases), { python });
  const chats = triedChats().length;
  const reports = templates.map((template, at) =>
    compareReport(checkTemplate(template), results.slice(at * chats, (at + 1) * chats))
  );
  const different = reports.flatMap(({ template, differences }) =>
    (differences ?? []).map((difference) => ({ template, ...difference }))
  );
  print(`templates: ${templates.length}, renderings: ${results.length}, different: ${different.length}`);
  const tried = released.flatMap(({ tokenizer }, at) => {
    const report = reports[at];
    return report === undefined ? [] : [{ report, calls: tryCalls(tokenizer) }];
  });
  await writeTables(tried);
  assertEquals(different, []);
});

Deno.test("random templates give the text of transformers, or both refuse", async () => {
  const generator = new TemplateGenerator(SEED);
  const variables = parseNumbersExactly(RANDOM_VARIABLES) as Record<string, unknown>;
  const counts = { same: 0, refused: 0, declined: 0, constants: 0 };
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
      else if (result !== undefined && "error" in result && INFINITE_CONSTANT.test(result.error)) {
        counts.constants++;
      } else if (typeof own !== "string" && text === null) counts.refused++;
      else if (own === text) counts.same++;
      else different.push({ template, transformers: result, own });
    }
  }
  print(`random templates (seed ${SEED}): ${JSON.stringify({ ...counts, different: different.length })}`);
  assertEquals(different, []);
});

/** The error of Jinja2 for a computed constant that is infinite, which it writes into its code as a name. */
const INFINITE_CONSTANT = /^NameError: name '(?:inf|nan)' is not defined/;

/** An address of memory, which differs from run to run. A text with one is not recorded. */
const ADDRESS = / at 0x[\da-f]+/;

Deno.test("recorded texts are those of transformers", async () => {
  const recorded = recordedTemplates();
  const cases = recorded.map(({ template, variables = {} }) => JSON.stringify({ template, variables }));
  const { results } = await renderByTransformers(cases, { python });
  const texts = results.map((result) => "text" in result ? result.text : null);
  const comparable = texts.map((text) => text !== null && ADDRESS.test(text) ? undefined : text);
  assertEquals(comparable, recorded.map(({ text }) => text));
});

Deno.test("a case that takes transformers too long is an error, and the next one is rendered", async () => {
  const templates = ["{{ 7 ** (10 ** 9) }}", "a", "{{ 'a' * 10 ** 12 }}", "b"];
  const cases = templates.map((template) => JSON.stringify({ template, variables: {} }));
  const { results } = await renderByTransformers(cases, { python });
  assertEquals(results, [
    { error: "Timeout: more than 5 seconds" },
    { text: "a" },
    { error: "MemoryError: " },
    { text: "b" },
  ]);
});

function render(template: string, variables: Record<string, unknown>): string | Error {
  try {
    return new Template(template).render(variables);
  } catch (error) {
    return error as Error;
  }
}

/** Returns a template with the tokenizer with which `paddock templates check` tries it. */
function toChecked({ name, source }: ReleasedTemplate): CheckedTemplate {
  return { name, source, tokenizer: plainTokenizer(name, source) };
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
