import { assertEquals, assertThrows } from "@std/assert";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { EgressError } from "../../../src/sandbox/network/broker/egress_policy.ts";
import type { RecordedResponse } from "../../../src/sandbox/network/broker/exchange.ts";
import { SecretGuard } from "../../../src/sandbox/network/broker/secret_guard.ts";

const value = "s3cr&t/+value=?";
const placeholder = "paddock-secret-KEY";
const guard = new SecretGuard([
  { placeholder, value, hosts: ["api.test"], in: ["header:authorization", "query"] },
]);

function response(body: Uint8Array | string, headers: [string, string][] = []): RecordedResponse {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return { status: 200, reason: "OK", headers, body: bytes.toBase64() };
}

const textOf = ({ body }: RecordedResponse) => new TextDecoder().decode(Uint8Array.fromBase64(body));

Deno.test("SecretGuard fills values into their places only", () => {
  const head = (key: string, query: string) =>
    `GET /${placeholder}?k=${query}&b HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer ${key}\r\nX-Key: ${placeholder}`;
  assertEquals(guard.fill(head(placeholder, placeholder)), head(value, encodeURIComponent(value)));
  assertEquals(guard.fill("GET / HTTP/1.1\r\nHost: a"), "GET / HTTP/1.1\r\nHost: a");
});

Deno.test("SecretGuard fills in a value with signs that patterns of JavaScript use", () => {
  const value = "pa$$word$&$1";
  const own = new SecretGuard([{ placeholder, value, hosts: ["api.test"], in: ["header:authorization"] }]);
  const head = (key: string) => `GET / HTTP/1.1\r\nAuthorization: Bearer ${key}`;
  assertEquals(own.fill(head(placeholder)), head(value));
});

Deno.test("SecretGuard replaces values in bodies and headers, in each listed form", () => {
  const forms = [
    value,
    encodeURIComponent(value),
    encodeURIComponent(value).toLowerCase().replace("s3cr", "s3cr"),
    ...["", "a", "ab", "abc"].flatMap((before) => [
      btoa(`${before}${value}`),
      btoa(`${before}${value} and more`),
      btoa(`${before}${value}`).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""),
    ]),
  ];
  for (const form of forms) {
    const text = textOf(guard.scrub(response(`before ${form} after`)));
    assertEquals([text.startsWith("before "), text.endsWith(" after")], [true, true], form);
    const hidden = text.slice(7, -6);
    const decoded = [hidden, decodeURIComponent(hidden), tryBase64(hidden)];
    assertEquals(decoded.some((each) => each.includes(value.slice(2, -2))), false, form);
  }
  const { headers } = guard.scrub(response("", [["x-echo", `a ${value}`]]));
  assertEquals(headers, [["x-echo", `a ${placeholder}`]]);
});

function tryBase64(text: string): string {
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/").replaceAll("*", "A"));
  } catch {
    return "";
  }
}

Deno.test("SecretGuard reads compressed bodies, and refuses encodings that it cannot read", () => {
  const bytes = new TextEncoder().encode(`{"key":"${value}"}`);
  const encodings: [string, Uint8Array][] = [
    ["gzip", gzipSync(bytes)],
    ["GZIP", gzipSync(bytes)],
    ["deflate", deflateSync(bytes)],
    ["br", brotliCompressSync(bytes)],
    ["zstd", zstdCompressSync(bytes)],
    ["gzip, br", brotliCompressSync(gzipSync(bytes))],
    ["identity", bytes],
  ];
  for (const [encoding, body] of encodings) {
    const scrubbed = guard.scrub(response(body, [["content-encoding", encoding], ["x", "1"]]));
    assertEquals([textOf(scrubbed), scrubbed.headers], [`{"key":"${placeholder}"}`, [["x", "1"]]], encoding);
  }
  for (const encoding of ["compress", "gzip, x", "constructor", "gzip"]) {
    const error = assertThrows(
      () => guard.scrub(response("no gzip", [["content-encoding", encoding]])),
      EgressError,
      "cannot be searched for secrets",
    );
    assertEquals((error as Error).message.includes(value), false);
  }
  const bomb = gzipSync(new Uint8Array(9 * 1024 * 1024));
  assertThrows(() => guard.scrub(response(bomb, [["content-encoding", "gzip"]])), EgressError);
});
