import { assertEquals } from "@std/assert";
import { execResponse, shellResponse } from "../../src/client/responses.ts";
import { execRequestSchema, execResultSchema, fromBase64Files, toBase64Files } from "../../src/wire/v1.ts";

const OUTCOME = { stdout: "a", stderr: "", durationMs: 1, stateKept: true, truncated: false };
const ERROR = { type: "ValueError", message: "no", traceback: "ValueError: no\n" };

Deno.test("toBase64Files() and fromBase64Files() preserve file contents", () => {
  const files = { "a.txt": "ä", "b.bin": new Uint8Array([0, 255]) };
  assertEquals(toBase64Files(files), { "a.txt": "w6Q=", "b.bin": "AP8=" });
  assertEquals(fromBase64Files(toBase64Files(files)), {
    "a.txt": new TextEncoder().encode("ä"),
    "b.bin": new Uint8Array([0, 255]),
  });
});

Deno.test("execRequestSchema refuses unknown keys", () => {
  assertEquals(execRequestSchema.safeParse({ code: "1", colour: "red" }).success, false);
});

Deno.test("execResponse parses every result of the schema and ignores unknown keys", () => {
  const results = [
    { ...OUTCOME, status: "ok", value: "1" },
    { ...OUTCOME, status: "ok", restarted: true },
    { ...OUTCOME, status: "exited", exitCode: 3 },
    { ...OUTCOME, status: "timeout", error: ERROR },
  ];
  for (const result of results) {
    assertEquals(execResultSchema.safeParse(result).success, true);
    assertEquals<unknown>(execResponse.parse({ ...result, later: 1 }), result);
  }
  const files = { ...OUTCOME, status: "ok", files: { a: "YQ==" } };
  assertEquals(execResponse.parse(files).files, { a: new TextEncoder().encode("a") });
});

Deno.test("execResponse and shellResponse refuse results that lack a field of their status", () => {
  for (
    const result of [
      { ...OUTCOME, status: "exited" },
      { ...OUTCOME, status: "error" },
      { ...OUTCOME, status: "lost", error: ERROR },
      { ...OUTCOME, status: "ok", durationMs: -1 },
      { ...OUTCOME, status: "ok", files: { a: "%" } },
    ]
  ) {
    assertEquals(execResponse.safeParse(result).success, false, JSON.stringify(result));
  }
  const timeout = { ...OUTCOME, cwd: "/home", status: "timeout", error: ERROR };
  assertEquals(shellResponse.safeParse(timeout).success, false);
  assertEquals(shellResponse.safeParse({ ...timeout, deadline: "cpu" }).success, true);
  assertEquals(shellResponse.safeParse({ ...OUTCOME, cwd: "/", status: "ok", exitCode: 1 }).success, false);
});
