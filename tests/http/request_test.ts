import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  connectionErrorText,
  failedToConnect,
  readBytes,
  sendRequest,
  serverUrl,
} from "../../src/http/request.ts";

Deno.test("serverUrl() takes a host, a root and the endpoint itself", () => {
  const urls = [
    "http://h:8000",
    "http://h:8000/",
    "http://h/v1",
    "http://h/api/v1/",
    "http://h/v1/chat/completions",
  ];
  assertEquals(urls.map((url) => serverUrl(url, "/chat/completions", { root: "/v1" }).href), [
    "http://h:8000/v1/chat/completions",
    "http://h:8000/v1/chat/completions",
    "http://h/v1/chat/completions",
    "http://h/api/v1/chat/completions",
    "http://h/v1/chat/completions",
  ]);
  assertEquals(serverUrl("http://h:30000", "/generate").href, "http://h:30000/generate");
});

Deno.test("serverUrl() refuses URLs of other schemes, and a password without showing it", () => {
  for (const url of ["", "localhost:8000", "ftp://h", "//h"]) {
    assertThrows(() => serverUrl(url, "/generate"), TypeError, "must be an http or https URL");
  }
  const error = assertThrows(
    () => serverUrl("http://me:secret@h", "/generate"),
    TypeError,
    "must not contain a password",
  );
  assertEquals(`${error}`.includes("secret"), false);
});

const TCP = { hostname: "127.0.0.1", port: 0 };

/** What `fetch` throws when it asks a port. */
async function thrownBy(port: number): Promise<unknown> {
  try {
    return await fetch(`http://127.0.0.1:${port}/path?key=secret`, { method: "POST", body: "{}" });
  } catch (error) {
    return error;
  }
}

Deno.test("connectionErrorText() reports a refused connection without its address", async () => {
  const listener = Deno.listen(TCP);
  listener.close();
  const thrown = await thrownBy(listener.addr.port);
  assertEquals(
    connectionErrorText(thrown).replace(/ \(os error.*/, ""),
    "tcp connect error: Connection refused",
  );
  assertEquals(failedToConnect(thrown), true);
});

Deno.test("connectionErrorText() reports a closed connection and that the server may have read the request", async () => {
  const listener = Deno.listen(TCP);
  const hungUp = listener.accept().then(async (connection) => {
    await connection.read(new Uint8Array(1024));
    connection.close();
  });
  const thrown = await thrownBy(listener.addr.port);
  await hungUp;
  listener.close();
  assertEquals(connectionErrorText(thrown), "connection closed before message completed");
  assertEquals(failedToConnect(thrown), false);
});

Deno.test("connectionErrorText() tells whatever is thrown", () => {
  assertEquals(connectionErrorText(new TypeError("error reading a body")), "error reading a body");
  assertEquals(connectionErrorText("odd"), "odd");
});

Deno.test("readBytes() returns null when a body is longer than allowed", async () => {
  const body = () => ReadableStream.from([new Uint8Array([1, 2]), new Uint8Array([3])]);
  assertEquals(await readBytes(body(), 3), new Uint8Array([1, 2, 3]));
  assertEquals(await readBytes(body(), 2), null);
});

Deno.test("readBytes() returns bytes in a buffer of their size, also of chunks with large buffers", async () => {
  const chunk = () => new Uint8Array(new ArrayBuffer(65_536), 0, 5).fill(7);
  const bytes = await readBytes(ReadableStream.from([chunk(), chunk(), chunk()]), 100);
  assertEquals(bytes?.buffer.byteLength, 15);
  assertEquals(bytes, new Uint8Array(15).fill(7));
  assertEquals((await readBytes(ReadableStream.from([]), 100))?.length, 0);
});

Deno.test("sendRequest() returns what was read, or a fault when the time is up", async () => {
  const read = async (_: unknown, body: AsyncIterable<Uint8Array<ArrayBuffer>>) => await readBytes(body, 10);
  const value = await sendRequest(() => new Response("ok"), { timeoutMs: 60_000, read });
  assertEquals(value, { value: new TextEncoder().encode("ok") });
  const silent = await sendRequest(() => new Promise<never>(() => {}), { timeoutMs: 1, read });
  assert("fault" in silent && silent.fault === "timeout");
  const unfinished = () => new Response(new ReadableStream());
  const cut = await sendRequest(unfinished, { timeoutMs: 1, read });
  assert("fault" in cut && cut.fault === "timeout");
});

Deno.test("sendRequest() rejects with the signal's reason, and with what the reader throws", async () => {
  const stop = new AbortController();
  const options = { timeoutMs: 60_000, signal: stop.signal };
  const read = () => Promise.reject(new RangeError("too long"));
  await assertRejects(
    () => sendRequest(() => new Response("x"), { ...options, read }),
    RangeError,
    "too long",
  );
  const sent = sendRequest(() => new Promise<never>(() => {}), { ...options, read });
  stop.abort(new TypeError("stop"));
  await assertRejects(() => sent, TypeError, "stop");
});
