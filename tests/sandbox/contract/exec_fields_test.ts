import * as z from "zod";
import { assertEquals, assertThrows } from "@std/assert";
import type { ExecOptions } from "../../../src/sandbox/contract/exec.ts";
import type * as declared from "../../../src/sandbox/contract/exec_fields.d.ts";
import * as exported from "../../../src/sandbox/contract/exec_fields.ts";
import { type Fields, FieldTable } from "../../../src/sandbox/contract/field_table.ts";
import { execRequestSchema, sessionExecRequestSchema } from "../../../src/wire/v1.ts";

const { checkExec, EXEC_FIELDS, SHELL_FIELDS } = exported satisfies typeof declared;

const PROGRAM: ExecOptions = {
  timeoutMs: 500,
  stdin: "a",
  inputs: { n: 1, raw: new Uint8Array([0, 255]) },
  files: { "a.bin": new Uint8Array([7]) },
  fetchFiles: ["b.txt"],
};

Deno.test("EXEC_FIELDS preserves the options of a program in a request to a server", () => {
  const body = EXEC_FIELDS.toJson(PROGRAM);
  const request = execRequestSchema.parse(JSON.parse(JSON.stringify({ code: "1", ...body })));
  assertEquals(EXEC_FIELDS.fromJson(request), PROGRAM);
});

Deno.test("EXEC_FIELDS preserves the options of an exec in a message to a node", () => {
  const options: ExecOptions = {
    ...PROGRAM,
    memoryBytes: 1e8,
    argv: ["a.py", "b"],
    cell: false,
    then: "rewind",
  };
  const parts: Uint8Array[] = [];
  const fields = EXEC_FIELDS.toMessage(options, { add: (bytes) => parts.push(bytes) - 1 });
  const message = z.strictObject(EXEC_FIELDS.message).parse(JSON.parse(JSON.stringify(fields)));
  const bytes = (at: number) => parts[at] ?? new Uint8Array();
  const json = (at: number) => JSON.parse(new TextDecoder().decode(bytes(at)));
  assertEquals(EXEC_FIELDS.fromMessage(message, { bytes, json }), options);
});

Deno.test("SHELL_FIELDS preserves the options of a command line", () => {
  const options = { timeoutMs: 500, silenceMs: 20, stdin: "a" };
  assertEquals(
    SHELL_FIELDS.fromJson(z.strictObject(SHELL_FIELDS.json).parse(SHELL_FIELDS.toJson(options))),
    options,
  );
  assertEquals(SHELL_FIELDS.fromMessage(SHELL_FIELDS.toMessage({ ...options, memoryBytes: 1 })), {
    ...options,
    memoryBytes: 1,
  });
});

Deno.test("EXEC_FIELDS sends no field that only this process has", () => {
  const local: ExecOptions = { onOutput: () => {}, signal: new AbortController().signal, captures: {} };
  assertEquals(EXEC_FIELDS.toJson({ ...local, memoryBytes: 1 }), {});
  assertEquals(EXEC_FIELDS.toMessage(local), {});
  assertEquals(EXEC_FIELDS.refusedByServers({ ...local, cell: false }), undefined);
  assertEquals(EXEC_FIELDS.refusedByServers({ cell: true }), "cell");
});

Deno.test("checkExec() reports the first invalid option in the order of the table", () => {
  const profile = { name: "python", hostTools: false };
  assertThrows(() => checkExec("1", { timeoutMs: 0, memoryBytes: 0 }, profile), RangeError, "'timeoutMs'");
  assertThrows(
    () => checkExec("1", { memoryBytes: 0, fetchFiles: [".."] }, profile),
    RangeError,
    "'memoryBytes'",
  );
  assertThrows(() => checkExec("1", { fetchFiles: [".."] }, profile), TypeError, "Cannot use path");
});

Deno.test("FieldTable needs one entry for a new field", () => {
  interface Options {
    readonly level?: number | undefined;
    readonly local?: string | undefined;
  }
  const fields = {
    level: {
      check: (level) => {
        if (level < 0) throw new RangeError("level");
      },
      json: { level: z.number().optional() },
      message: z.string().optional(),
      toMessage: String,
      fromMessage: (text: string) => Number(text),
    },
    local: {},
  } satisfies Fields<Options>;
  const table = new FieldTable<Options, typeof fields>("test", fields);
  const options = { level: 3, local: "a" };
  assertEquals(table.toJson(options), { level: 3 });
  assertEquals(table.fromJson({ level: 3 }), { level: 3 });
  assertEquals(table.toMessage(options), { level: "3" });
  assertEquals(table.fromMessage({ level: "3" }), { level: 3 });
  assertThrows(() => table.check({ level: -1 }, { name: "", hostTools: false }), RangeError);
});

Deno.test("the Python clients take each field of a request", async () => {
  const folder = new URL("../../../packaging/python/paddock/", import.meta.url);
  for (const file of ["client.py", "aio.py"]) {
    const source = await Deno.readTextFile(new URL(file, folder));
    const heads = [...source.matchAll(/^ *(?:async )?def exec\(([^)]*)\)/gm)].map(([, head = ""]) => head);
    assertEquals(heads.length, 2, file);
    for (const head of heads) {
      const schema = head.includes("suspend_at") ? sessionExecRequestSchema : execRequestSchema;
      assertEquals(keywords(schema).filter((name) => !head.includes(` ${name}: `)), [], `${file}: ${head}`);
    }
  }
});

/** Returns the keywords of a request in Python, whose times are in seconds. Its inputs are of both kinds. */
function keywords(schema: z.ZodObject): string[] {
  return Object.keys(schema.shape).filter((key) => key !== "binaryInputs")
    .map((key) => key.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}
