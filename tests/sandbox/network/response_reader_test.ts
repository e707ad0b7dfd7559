import { assertEquals, assertThrows } from "@std/assert";
import { EgressError } from "../../../src/sandbox/network/broker/egress_policy.ts";
import type { RecordedResponse } from "../../../src/sandbox/network/broker/exchange.ts";
import { ResponseReader } from "../../../src/sandbox/network/broker/response_reader.ts";

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

/** Reads responses in pieces of a size. Returns status and body of each. */
function read(text: string, { methods = ["GET", "GET"], size = text.length } = {}): string[] {
  const found: RecordedResponse[] = [];
  const waiting = [...methods];
  const onResponse = (response: RecordedResponse) => {
    waiting.shift();
    found.push(response);
  };
  const reader = new ResponseReader({ nextMethod: () => waiting[0], onResponse });
  for (let at = 0; at < text.length; at += size) reader.push(bytes(text.slice(at, at + size)));
  reader.end();
  return found.map(({ status, headers, body }) =>
    `${status} ${headers.map((header) => header.join("=")).join(",")} ${atob(body)}`
  );
}

Deno.test("ResponseReader reads responses by length, in chunks, until the end, and without a body", () => {
  const cases: [text: string, expected: string[], methods?: string[]][] = [
    ["HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 5\r\n\r\nhello", ["200 x=1 hello"]],
    [
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\n",
      ["200  hello!"],
    ],
    ["HTTP/1.0 200 OK\r\n\r\nuntil the end", ["200  until the end"]],
    ["HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 \r\n\r\n", ["204  ", "304  "]],
    ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", ["200 content-length=5 "], ["HEAD"]],
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ["200  "]],
    [
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nb",
      ["200  a", "404  b"],
    ],
  ];
  for (const [text, expected, methods] of cases) {
    for (const size of [text.length, 1, 4]) assertEquals(read(text, { methods, size }), expected);
  }
});

Deno.test("ResponseReader refuses responses that it cannot read, and that no request asked for", () => {
  const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  const faults: [text: string, fault: string][] = [
    ["hello\r\n\r\n", "it is not HTTP/1.1"],
    ["HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "its length is not a number"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "the size of a chunk is not a number"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "it has no end"],
    ["HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "a header has no name"],
    [`HTTP/1.1 200 OK\r\nX: ${"a".repeat(40_000)}`, "its head is too long"],
    [ok + ok + ok, "it answers no request"],
    [`HTTP/1.1 200 OK\r\n\r\n${"a".repeat(8 * 1024 * 1024 + 1)}`, "which cannot be recorded"],
  ];
  for (const [text, fault] of faults) assertThrows(() => read(text), EgressError, fault);
});
