import { z } from "zod";
import { assertEquals, assertThrows } from "@std/assert";
import { execResponse, shellResponse } from "../../src/client/responses.ts";
import {
  fromBase64Files,
  fromWireInputs,
  toBase64Files,
  toWireInputs,
} from "../../src/sandbox/contract/wire_forms.ts";
import { execRequestSchema, execResultSchema } from "../../src/wire/v1.ts";

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

Deno.test("toWireInputs() and fromWireInputs() preserve inputs", () => {
  const inputs = { a: [1, { b: null }], c: new Uint8Array([0, 255]), d: new Float32Array([0.5]), é: "text" };
  const body = toWireInputs(inputs);
  assertEquals(body, {
    inputs: { a: [1, { b: null }], é: "text" },
    binaryInputs: { c: { type: "bytes", base64: "AP8=" }, d: { type: "float32", base64: "AAAAPw==" } },
  });
  assertEquals(toWireInputs(), {});
  const request = execRequestSchema.parse(JSON.parse(JSON.stringify({ code: "1", ...body })));
  assertEquals(fromWireInputs(request), inputs);
});

Deno.test("execRequestSchema and fromWireInputs() refuse invalid inputs", () => {
  const invalid = [
    { inputs: [] },
    { binaryInputs: { a: { type: "bytes", base64: "%" } } },
    { binaryInputs: { a: { type: "toString", base64: "" } } },
    { binaryInputs: { a: { type: "bytes", base64: "", shape: [1] } } },
  ];
  for (const request of invalid) {
    assertEquals(execRequestSchema.safeParse({ code: "1", ...request }).success, false);
  }
  const part = { a: { type: "int32" as const, base64: "AA==" } };
  assertThrows(() => fromWireInputs({ binaryInputs: part }), RangeError, "a multiple of 4 bytes");
  assertThrows(
    () => fromWireInputs({ inputs: { a: 1 }, binaryInputs: part }),
    TypeError,
    "'a' is in 'inputs' and in 'binaryInputs'",
  );
});

Deno.test("execRequestSchema refuses unknown keys", () => {
  assertEquals(execRequestSchema.safeParse({ code: "1", colour: "red" }).success, false);
});

Deno.test("execResponse parses every result of the schema and ignores unknown keys", () => {
  const results = [
    { ...OUTCOME, status: "ok", value: "1" },
    { ...OUTCOME, status: "ok", value: "[None]", valueJson: [null] },
    { ...OUTCOME, status: "ok", restarted: true },
    { ...OUTCOME, status: "exited", exitCode: 3 },
    { ...OUTCOME, status: "timeout", error: ERROR },
  ];
  for (const result of results) {
    assertEquals(execResultSchema.safeParse(result).success, true);
    assertEquals<unknown>(z.parse(execResponse, { ...result, later: 1 }), result);
  }
  const files = { ...OUTCOME, status: "ok", files: { a: "YQ==" } };
  assertEquals(z.parse(execResponse, files).files, { a: new TextEncoder().encode("a") });
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
    assertEquals(z.safeParse(execResponse, result).success, false, JSON.stringify(result));
  }
  const timeout = { ...OUTCOME, cwd: "/home", status: "timeout", error: ERROR };
  assertEquals(z.safeParse(shellResponse, timeout).success, false);
  assertEquals(z.safeParse(shellResponse, { ...timeout, deadline: "cpu" }).success, true);
  assertEquals(
    z.safeParse(shellResponse, { ...OUTCOME, cwd: "/", status: "ok", exitCode: 1 }).success,
    false,
  );
});
