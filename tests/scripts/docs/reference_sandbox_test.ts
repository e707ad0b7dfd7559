import { Validator } from "@cfworker/json-schema";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { parse, type ParseError } from "jsonc-parser";
import { paddockCommand } from "../../../src/cli/commands.ts";
import { referencePages } from "../../../scripts/docs/reference.ts";
import { fileSchema } from "../../../scripts/docs/schemas.ts";

const ROOT = new URL("../../../", import.meta.url);

Deno.test("referencePages() describes each command, each route and the keys of files", async () => {
  const pages = await referencePages();
  for (const command of paddockCommand().commands) {
    assertStringIncludes(pages["reference/commands"] ?? "", `\n## paddock ${command.name()}\n`);
  }
  const http = pages["reference/http"] ?? "";
  assertStringIncludes(http, "### POST /v1/sessions/{id}/exec\n");
  assertStringIncludes(http, "\n| `timeoutMs` | ");
  assertStringIncludes(
    pages["reference/profile"] ?? "",
    "\n| `limits.memoryBytes` | integer from 67108864 to ",
  );
  assertStringIncludes(
    pages["reference/rows"] ?? "",
    "\n| `loss_mask` | array of `0` or `1` | Required. For each",
  );
  const facts = pages["reference/facts"] ?? "";
  for (
    const row of [
      "\n| `timeout` | `error` | The code exceeded the timeout",
      "\n| `timeout` | `deadline`, `error` | The command exceeded a time limit. |",
      "\n| `busy` | 429 | All sessions are in use |",
      "\n| `CheckpointErrorCode` | Why a checkpoint was not made",
      "\n| `MAX_BATCH_ITEMS` | 4,096 | Items of a batch",
      "\n| `bodyBytes` | 32 MiB | Bytes of a body. |",
      "\n| `process_open_fds` | gauge | ",
    ]
  ) assertStringIncludes(facts, row);
  assertStringIncludes(http, "Errors: 400 `malformed`, 401 `unauthorized`,");
  for (const [name, text] of Object.entries(pages)) assertEquals(text.includes(". ."), false, name);
});

Deno.test("fileSchema('profile') accepts the shipped profiles and refuses unknown keys and wrong values", async () => {
  const validator = new Validator(JSON.parse(JSON.stringify(await fileSchema("profile"))), "2020-12");
  for await (const { name } of Deno.readDir(new URL("sandboxes", ROOT))) {
    const errors: ParseError[] = [];
    const profile = parse(await Deno.readTextFile(new URL(`sandboxes/${name}`, ROOT)), errors);
    assertEquals([name, errors, validator.validate(profile).errors], [name, [], []]);
  }
  for (const wrong of [{ colour: 1 }, { limits: { timeoutMs: 0 } }, { layers: { seccomp: "yes" } }]) {
    assertEquals(validator.validate(wrong).valid, false, JSON.stringify(wrong));
  }
});

Deno.test("fileSchema('task') accepts the rows of the examples", async () => {
  const validator = new Validator(JSON.parse(JSON.stringify(await fileSchema("task"))), "2020-12");
  const lines = (await Deno.readTextFile(new URL("examples/tasks.jsonl", ROOT))).trimEnd().split("\n");
  for (const line of lines) assertEquals(validator.validate(JSON.parse(line)).errors, []);
  assertEquals(validator.validate({ query: "?", colour: 1 }).valid, false);
});
