import { assert, assertEquals, assertMatch } from "@std/assert";
import type { RequestRecord } from "../../../src/server/http/access_log.ts";
import { HttpServer } from "../../../src/server/http/http_server.ts";
import { LineLog } from "../../../src/server/http/line_log.ts";
import { HANG_MS } from "../../deadline.ts";
import { served } from "../served.ts";

const RECORD: RequestRecord = {
  time: "2026-01-31T09:00:00.000Z",
  method: "GET",
  route: "/v1/health",
  status: 200,
  ms: 1,
  bytes: 2,
  owner: "",
};

/** A sink that keeps what it is given, once it is open. */
class Sink {
  readonly onError = (error: unknown) => void this.errors.push(error);
  readonly errors: unknown[] = [];
  text = "";
  open: Promise<void> = Promise.resolve();

  readonly write = async (bytes: Uint8Array) => {
    await this.open;
    const part = bytes.subarray(0, 50);
    this.text += new TextDecoder().decode(part);
    return part.length;
  };
}

Deno.test("paddockApp() reports each request with its route, and without its token, path or body", async () => {
  const records: RequestRecord[] = [];
  const token = "a-secret-token-of-one-owner";
  await using server = served({ tokens: [token], onRequest: (record) => records.push(record) });
  const authorization = `Bearer ${token}`;
  await server.send("GET", "/v1/sessions/my-secret-id?path=secret", undefined, { authorization });
  await server.send("GET", "/v1/sessions", undefined, { authorization: "Bearer my-secret" });
  await server.send("POST", "/run_code", { code: "secret", language: "python" }, { authorization });
  await server.send("GET", "/secret/path", undefined, { authorization });
  await server.send("PUT", "/v1/sessions", undefined, { authorization });
  assertEquals(records.map(({ method, route, status }) => `${method} ${route} ${status}`), [
    "GET /v1/sessions/{id} 404",
    "GET /v1/sessions 401",
    "POST /run_code 200",
    "GET other 404",
    "PUT other 405",
  ]);
  const [first, second] = records;
  assertMatch(first?.owner ?? "", /^[0-9a-f]{16}$/);
  assertEquals(second?.owner, "");
  assertMatch(first?.time ?? "", /^\d{4}-.*Z$/);
  assert(records.every(({ ms, bytes }) => ms >= 0 && bytes >= 0));
  assertEquals(JSON.stringify(records).includes("secret"), false);
});

Deno.test("HttpServer reports the bytes that were sent, with the head, after the response", async () => {
  const records: RequestRecord[] = [];
  await using app = served({ onRequest: (record) => records.push(record) });
  await using server = await HttpServer.listen(
    async (request, connection) => await app.app.fetch(request, connection),
    {
      hostname: "127.0.0.1",
      port: 0,
      onGraceOver: () => Promise.resolve(),
    },
  );
  const url = `http://127.0.0.1:${server.port}`;
  const health = await (await fetch(`${url}/v1/health`)).text();
  const document = await (await fetch(`${url}/openapi.json`)).text();
  while (records.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  const [small, large] = records.map(({ bytes }) => bytes);
  assert(small !== undefined && small > health.length && small < health.length + 2_000, `${small}`);
  assert(large !== undefined && large > document.length && large < document.length + 2_000, `${large}`);
});

Deno.test("LineLog.write() writes each record as one line", async () => {
  const sink = new Sink();
  const log = new LineLog<RequestRecord>(sink);
  for (let status = 200; status < 300; status++) log.write({ ...RECORD, status });
  await log[Symbol.asyncDispose]();
  const lines = sink.text.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines, Array.from({ length: 100 }, (_, at) => ({ ...RECORD, status: 200 + at })));
});

Deno.test("LineLog.write() drops and counts lines while the reader is slow", async () => {
  const sink = new Sink();
  const { promise, resolve } = Promise.withResolvers<void>();
  sink.open = promise;
  const log = new LineLog<RequestRecord>({ ...sink, maxCharacters: 300 });
  log.write(RECORD);
  await Promise.resolve();
  for (let count = 0; count < 1_000; count++) log.write(RECORD);
  resolve();
  await log[Symbol.asyncDispose]();
  const lines = sink.text.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines, [RECORD, RECORD, RECORD, { dropped: 998 }]);
});

Deno.test("LineLog.write() survives a broken pipe and reports it once", async () => {
  const errors: unknown[] = [];
  const write = () => Promise.reject(new Deno.errors.BrokenPipe("Broken pipe"));
  const log = new LineLog<RequestRecord>({ write, onError: (error) => errors.push(error) });
  for (let count = 0; count < 3; count++) {
    log.write(RECORD);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await log[Symbol.asyncDispose]();
  assertEquals(errors.length, 1);
});

Deno.test({ name: "LineLog ends when its reader never reads", timeout: HANG_MS }, async () => {
  const log = new LineLog<RequestRecord>({ write: () => new Promise(() => {}), onError: () => {} });
  log.write(RECORD);
  await log[Symbol.asyncDispose]();
});
