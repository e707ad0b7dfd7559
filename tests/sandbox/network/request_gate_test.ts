import { assertEquals, assertThrows } from "@std/assert";
import { RequestGate } from "../../../src/sandbox/network/broker/request_gate.ts";
import { RequestError } from "../../../src/sandbox/network/broker/request_head.ts";

const target = { host: "api.test", port: 8080 };
const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const get = (headers = "") => `GET /a HTTP/1.1\r\nHost: api.test:8080\r\n${headers}\r\n`;
const post = (headers: string, body = "") => `POST /a HTTP/1.1\r\nHost: api.test\r\n${headers}\r\n${body}`;

/** Pushes pieces of a text, and returns what has passed. */
function pass(text: string, size = text.length, options: { methods?: string[] } = {}): string {
  const gate = new RequestGate({ ...target, ...options });
  let passed = "";
  for (let at = 0; at < text.length; at += size) {
    for (const piece of gate.push(bytes(text.slice(at, at + size)))) passed += String.fromCharCode(...piece);
  }
  return passed;
}

const PASSED: Readonly<Record<string, string>> = {
  "a request without a body": get(),
  "a request with a body": post("Content-Length: 5\r\n", "hello"),
  "two requests, one after the other": get() + get("X: 1\r\n"),
  "chunks": post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0A\r\n0123456789\r\n0\r\n\r\n") + get(),
  "a body that looks like a request": post("Content-Length: 25\r\n", "GET / HTTP/1.1\r\nHost: b\r\n") + get(),
  "the host in capitals, with its port": "GET / HTTP/1.1\r\nHOST: API.test:8080\r\n\r\n",
  "HTTP/1.0 without a host": "GET / HTTP/1.0\r\n\r\n",
  "options of the server": "OPTIONS * HTTP/1.1\r\nHost: api.test\r\n\r\n",
  "bytes above ASCII in a value": get("X: \xe4\xff\r\n"),
  "an expectation": post("Expect: 100-continue\r\nContent-Length: 2\r\n", "ab"),
};

for (const [name, text] of Object.entries(PASSED)) {
  Deno.test(`RequestGate passes ${name}, in pieces of any size`, () => {
    for (const size of [text.length, 1, 3, 7]) assertEquals(pass(text, size), text);
  });
}

const REFUSED: Readonly<Record<string, string>> = {
  "another host": "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
  "another port": "GET / HTTP/1.1\r\nHost: api.test:80\r\n\r\n",
  "the host with an end that others cut": "GET / HTTP/1.1\r\nHost: api.test#evil.test\r\n\r\n",
  "two hosts": get("Host: evil.test\r\n"),
  "the same host twice": get("host: api.test\r\n"),
  "no host": "GET / HTTP/1.1\r\n\r\n",
  "a target that names a server": "GET http://evil.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
  "a tunnel": "CONNECT evil.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n",
  "a target with a blank": "GET /a b HTTP/1.1\r\nHost: api.test\r\n\r\n",
  "two lengths": post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!"),
  "two equal lengths": post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
  "a list of lengths": post("Content-Length: 5, 5\r\n", "hello"),
  "a length with a sign": post("Content-Length: +5\r\n", "hello"),
  "a negative length": post("Content-Length: -1\r\n"),
  "a length in hexadecimal": post("Content-Length: 0x5\r\n", "hello"),
  "an enormous length": post("Content-Length: 99999999999999999999\r\n"),
  "length and chunks": post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
  "chunks twice": post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
  "another encoding": post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
  "an unknown encoding": post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
  "an encoding with a vertical tab": post("Transfer-Encoding:\x0bchunked\r\n", "0\r\n\r\n"),
  "chunks in HTTP/1.0": "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "a blank before the colon": post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
  "a folded header": get("X: 1\r\n Host: evil.test\r\n"),
  "a line feed alone": get("X: 1\nHost: evil.test\r\n"),
  "a carriage return alone": get("X: 1\rHost: evil.test\r\n"),
  "a zero byte": get("X: 1\0\r\n"),
  "a header without a name": get(": 1\r\n"),
  "a header without a colon": get("X\r\n"),
  "a first empty line": `\r\n${get()}`,
  "a blank first": ` ${get()}`,
  "no version": "GET /\r\nHost: api.test\r\n\r\n",
  "another version": "GET / HTTP/1.2\r\nHost: api.test\r\n\r\n",
  "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "bytes that are not HTTP": "\x16\x03\x01\x02\x00\x01",
  "a chunk's size with a sign": post("Transfer-Encoding: chunked\r\n", "+5\r\nhello\r\n0\r\n\r\n"),
  "a chunk's size with a prefix": post("Transfer-Encoding: chunked\r\n", "0x5\r\nhello\r\n0\r\n\r\n"),
  "a chunk's extension": post("Transfer-Encoding: chunked\r\n", "5;a=b\r\nhello\r\n0\r\n\r\n"),
  "a chunk that is longer than its size": post("Transfer-Encoding: chunked\r\n", "2\r\nhello\r\n0\r\n\r\n"),
  "a chunk's size with a line feed alone": post("Transfer-Encoding: chunked\r\n", "5\nhello\r\n0\r\n\r\n"),
  "a trailer": post("Transfer-Encoding: chunked\r\n", "0\r\nHost: evil.test\r\n\r\n"),
  "HTTP/2 by an upgrade": get("Connection: Upgrade\r\nUpgrade: h2c\r\n"),
  "an upgrade that Connection does not name": get("Upgrade: websocket\r\n"),
  "a header that a proxy would remove": get("Connection: close, Host\r\n"),
  "more headers than a server takes": get("X: 1\r\n".repeat(300)),
  "a head without an end": `GET / HTTP/1.1\r\nX: ${"a".repeat(100_000)}`,
  "WebSocket before an earlier response has come": get() +
    get("Connection: Upgrade\r\nUpgrade: websocket\r\n"),
};

for (const [name, text] of Object.entries(REFUSED)) {
  Deno.test(`RequestGate refuses ${name}`, () => {
    for (const size of text.length > 10_000 ? [4096] : [text.length, 1]) {
      assertThrows(() => pass(text, size), RequestError);
    }
  });
}

Deno.test("RequestGate passes only the methods of the profile", () => {
  const methods = ["GET", "HEAD"];
  assertEquals(pass(get(), 5, { methods }), get());
  const error = assertThrows(
    () => pass(post("Content-Length: 0\r\n"), 100, { methods }),
    RequestError,
    "its method must be one of GET, HEAD: it is POST",
  );
  assertEquals(error instanceof RequestError, true);
  assertThrows(() => pass(get().replace("GET", "get"), 100, { methods }), RequestError);
});

Deno.test("RequestGate holds what follows a request for WebSocket until the server has answered", () => {
  const upgrade = get("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n");
  const accepted = new RequestGate({ ...target, isIdle: () => true });
  assertEquals(accepted.push(bytes(upgrade)).length, 1);
  assertEquals([accepted.push(bytes("\x81\x00")), accepted.isUpgrading], [[], true]);
  assertEquals(accepted.endUpgrade({ isAccepted: true }), [bytes("\x81\x00")]);
  assertEquals(accepted.push(bytes("\x82\x00")), [bytes("\x82\x00")]);
  const refused = new RequestGate({ ...target, isIdle: () => true });
  refused.push(bytes(upgrade));
  refused.push(bytes("\x81\x00"));
  assertThrows(() => refused.endUpgrade({ isAccepted: false }), RequestError);
});
