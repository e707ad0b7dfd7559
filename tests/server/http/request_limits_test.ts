import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { served } from "../served.ts";

/** Returns an object with this many members. */
function members(count: number, value: unknown = ""): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`name ${index}`, value]));
}

Deno.test("a server refuses a body with too many values before it validates them", async () => {
  await using server = served();
  const { status, body } = await server.send("POST", "/v1/exec:batch", {
    items: [{ code: "1", files: members(100_001) }],
  });
  assertEquals([status, body.error.message], [400, "JSON must have at most 100000 values"]);
  const largest = await server.send("POST", "/v1/grade", {
    grader: "no such grader",
    task: { id: "1", query: "?", fields: members(90_000) },
    messages: [],
  });
  assertEquals(largest.status, 422);
});

Deno.test("an error describes a few of a request's many faults", async () => {
  await using server = served();
  const unknown = await server.send("POST", "/v1/sessions", members(50_000));
  assertEquals(unknown.status, 422);
  assertStringIncludes(unknown.body.error.message, "unknown keys 'name 0'");
  assert(unknown.body.error.message.length < 1_000);
  const items = Array.from({ length: 4_000 }, () => members(10));
  const many = await server.send("POST", "/v1/exec:batch", { items });
  assert(many.body.error.message.length < 10_000);
  const { status, body } = await server.send("POST", "/run_code", members(50_000));
  assertEquals(status, 422);
  assert(JSON.stringify(body).length < 10_000);
});

Deno.test("a server counts the values of a body as it arrives, and refuses it before it has ended", async () => {
  await using server = served();
  const pieces = ['{"items":[', "{},".repeat(60_000), "{},".repeat(60_000)].map((text) =>
    new TextEncoder().encode(text)
  );
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece) return controller.enqueue(piece);
      return new Promise(() => {}); // the rest never arrives
    },
    cancel() {
      isCancelled = true;
    },
  });
  const response = await server.app.request("/v1/exec:batch", { method: "POST", body });
  const { error } = await response.json();
  assertEquals([response.status, error.message], [400, "JSON must have at most 100000 values"]);
  assert(isCancelled);
});
