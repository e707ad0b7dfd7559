import { assertEquals, assertRejects } from "@std/assert";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { bodyReader } from "../../../src/server/http/exchange.ts";

/** A request whose body is in these pieces. */
function incoming(...pieces: string[]): IncomingMessage {
  const body = new Readable({ read() {} });
  for (const piece of pieces) body.push(new TextEncoder().encode(piece));
  body.push(null);
  return Object.assign(body, { headers: {} }) as unknown as IncomingMessage;
}

/** Counts the `DOMException`s that are made until it is disposed. */
function countExceptions(): Disposable & { made: number } {
  const { DOMException: own } = globalThis;
  const counter = {
    made: 0,
    [Symbol.dispose]: () => {
      globalThis.DOMException = own;
    },
  };
  globalThis.DOMException = class extends own {
    constructor(...given: ConstructorParameters<typeof DOMException>) {
      super(...given);
      counter.made++;
    }
  };
  return counter;
}

async function read(body: IncomingMessage): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const readBody = bodyReader(body, {} as ServerResponse);
  await readBody((piece) => void (text += decoder.decode(piece)), new AbortController().signal);
  return text;
}

Deno.test("bodyReader() makes no error for a body that closes after its end", async () => {
  const body = incoming("1", "2");
  using exceptions = countExceptions();

  const text = await read(body);
  await new Promise((resolve) => setTimeout(resolve));

  assertEquals({ text, isClosed: body.closed, made: exceptions.made }, {
    text: "12",
    isClosed: true,
    made: 0,
  });
});

Deno.test("bodyReader() fails if the client disconnects before the end", async () => {
  const body = incoming("1");
  body.destroy();

  await assertRejects(() => read(body), DOMException, "The client has disconnected");
});
