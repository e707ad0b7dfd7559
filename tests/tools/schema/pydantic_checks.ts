/**
 * Compares `checkArguments()` with Python's re, pydantic and jsonschema, of exact versions, over generated patterns,
 * formats, models and schemas. `PADDOCK_SEED` names another seed than 1, and `PADDOCK_COUNT` another number of patterns
 * and of schemas than 5,000.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { ROOT } from "../../../packaging/sources.ts";
import { writeText } from "../../../src/cli/output.ts";
import { installLocked } from "../../trainers/environment.ts";
import { compareVerdicts } from "./verdicts.ts";

const CHECKS = join(ROOT, "tests", "tools", "schema", "pydantic_checks");

/** What JavaScript's patterns cannot express, and what JSON Schema and pydantic judge differently. */
const DIFFERENCES = [
  /^pattern .*\$.*\\n"$/s, // `$` of re matches before a line feed at the end
  /"multipleOf":1\.5.* \d{16,}$/s, // jsonschema divides binary numbers
];

Deno.test("checkArguments() accepts what Python's re, pydantic and jsonschema accept", async () => {
  const python = await installLocked(join(ROOT, ".paddock", "pydantic"), {
    python: "3.11",
    lock: join(CHECKS, "requirements.txt"),
  });
  const seed = Deno.env.get("PADDOCK_SEED") ?? "1";
  const count = Deno.env.get("PADDOCK_COUNT") ?? "5000";
  const args = [join(CHECKS, "oracle.py"), seed, count];
  const { success, stdout } = await new Deno.Command(python, { args, stderr: "inherit" }).output();
  assert(success);
  const found = compareVerdicts(JSON.parse(new TextDecoder().decode(stdout)));
  const { compared, split, skipped, refused, accepted } = found;
  const isKnown = (text: string) => DIFFERENCES.some((difference) => difference.test(text));
  const figures = {
    compared,
    split,
    skipped: skipped.length,
    refused: refused.length,
    accepted: accepted.length,
  };
  await writeText(Deno.stderr, `${JSON.stringify(figures)}\n`);
  assertEquals(refused.filter((text) => !isKnown(text)), []);
  const extra = accepted.filter((text) => !/^format /.test(text) && !isKnown(text));
  assert(extra.length <= compared / 2_000, extra.join("\n"));
});
