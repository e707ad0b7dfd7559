import { assert, assertEquals } from "@std/assert";
import { parse } from "yaml";

const FOLDER = new URL("../../.github/", import.meta.url);

Deno.test("the CI workflow runs .ci/run, with every action at an exact version and no right to write", async () => {
  const workflow = parse(await Deno.readTextFile(new URL("workflows/ci.yml", FOLDER)));
  const steps = Object.values<{ steps: { run?: string; uses?: string }[] }>(workflow.jobs)
    .flatMap((job) => job.steps);
  assert(steps.some(({ run }) => run === ".ci/run"));
  for (const { uses } of steps) if (uses) assert(/@v\d+\.\d+\.\d+$/.test(uses), uses);
  assertEquals(workflow.permissions, { contents: "read" });
});

Deno.test("each issue template has a name, a description and fields with distinct ids", async () => {
  for await (const { name } of Deno.readDir(new URL("ISSUE_TEMPLATE/", FOLDER))) {
    if (name === "config.yml") continue;
    const template = parse(await Deno.readTextFile(new URL(`ISSUE_TEMPLATE/${name}`, FOLDER)));
    assert(template.name && template.description, name);
    const fields: { type: string; id?: string }[] = template.body;
    const ids = fields.filter(({ type }) => type !== "markdown").map(({ id }) => id);
    assertEquals([ids.includes(undefined), new Set(ids).size], [false, ids.length], name);
  }
});
