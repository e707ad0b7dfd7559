import { assertEquals, assertStringIncludes } from "@std/assert";
import { childrenOf, isAlive, runPaddock } from "./run_paddock.ts";
import { Serving } from "./serving.ts";

interface Outcome {
  result: { status: string; stdout: string; value?: string };
}

Deno.test("paddock serve runs programs for whoever asks, and leaves nothing when SIGTERM stops it", async () => {
  const serving = await Serving.start("--max-sessions", "2");
  const { pid } = serving.child;
  const { results } = await serving.ask("/v1/exec:batch", {
    items: [{ code: "print('x' * 2_000_000)" }, { code: "1 + 1" }],
  }) as { results: Outcome[] };
  assertEquals(results.map(({ result }) => [result.status, result.stdout.length, result.value]), [
    ["ok", 2_000_001, undefined],
    ["ok", 0, "2"],
  ]);
  const { id } = await serving.ask("/v1/sessions", {}) as { id: string };
  await serving.ask(`/v1/sessions/${id}/exec`, {
    code: "import os; os.mkdir('d'); open('d/a', 'w').write('hi')",
  });
  const listing = await fetch(`${serving.url}/v1/sessions/${id}/files`);
  assertEquals(await listing.json(), { files: [{ path: "d/a", bytes: 2 }] });
  const leaver = new AbortController();
  const left = serving.ask(`/v1/sessions/${id}/exec`, { code: "while True: pass" }, {
    signal: leaver.signal,
  });
  setTimeout(() => leaver.abort(), 200);
  await left.catch(() => {});
  const after = await serving.ask(`/v1/sessions/${id}/exec`, { code: "7" });
  assertEquals((after as { value: string }).value, "7");
  const sandboxes = await childrenOf(pid);
  const stream = await fetch(`${serving.url}/v1/sessions/${id}/stream`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: "print('on')\nwhile True: pass", timeoutMs: 600_000 }),
  });
  const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  assertStringIncludes((await events?.read())?.value ?? "", "event: stdout");
  const { code, log } = await serving.end("SIGTERM");
  let rest = "";
  for (let piece = await events?.read(); piece?.value; piece = await events?.read()) rest += piece.value;
  assertStringIncludes(rest, `event: error\ndata: {"type":"unavailable","message":"The server stops"}`);
  assertEquals([code, log], [0, ""]);
  assertEquals(await Promise.all(sandboxes.map(isAlive)), sandboxes.map(() => false));
});

Deno.test("paddock serve refuses to be reached from outside without a token", async () => {
  const { code, stderr } = await runPaddock(["serve", "--host", "0.0.0.0", "--port", "0"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "needs a token");
});
