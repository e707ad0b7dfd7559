import { assertEquals } from "@std/assert";
import { RequestGate } from "../../../src/sandbox/network/broker/request_gate.ts";
import { RequestError } from "../../../src/sandbox/network/broker/request_head.ts";
import { ResponseTracker } from "../../../src/sandbox/network/broker/response_tracker.ts";

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const GET = bytes("GET / HTTP/1.1\r\nHost: api.test\r\n\r\n");
const UPGRADE = bytes(
  "GET / HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
);

function upgrades(...responses: string[]): boolean {
  const tracker = new ResponseTracker();
  const gate = new RequestGate({
    host: "api.test",
    port: 80,
    listeners: [tracker],
    isIdle: () => tracker.isIdle,
  });
  gate.push(GET);
  for (const response of responses) tracker.push(bytes(response));
  try {
    gate.push(UPGRADE);
    return true;
  } catch (error) {
    if (error instanceof RequestError) return false;
    throw error;
  }
}

Deno.test("a request for WebSocket passes only when all earlier responses are whole", () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n";
  const body = "HTTP/1.1 101 Switching Protocols\r\n\r\n".padEnd(40);
  assertEquals(upgrades(head, body), true);
  assertEquals(upgrades(head + body), true);
  assertEquals(upgrades(), false);
  assertEquals(upgrades(head), false, "the rest of the body could look like the response");
  assertEquals(upgrades(head, body.slice(1)), false);
  assertEquals(upgrades(`${head}${body}HTTP/1.1`), false, "a response that no request asked for");
  assertEquals(upgrades("HTTP/1.1 200 OK\r\n\r\n", body), false, "a body until the end of the connection");
  assertEquals(upgrades("no response\r\n\r\n"), false);
});
