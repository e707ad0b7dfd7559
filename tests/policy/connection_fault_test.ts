import { assertEquals } from "@std/assert";
import { connectionFault, neverConnected } from "../../src/policy/connection_fault.ts";

const TCP = { hostname: "127.0.0.1", port: 0 };

/** What `fetch` throws when it asks a port. */
async function thrownBy(port: number): Promise<unknown> {
  try {
    return await fetch(`http://127.0.0.1:${port}/path?key=secret`, { method: "POST", body: "{}" });
  } catch (error) {
    return error;
  }
}

Deno.test("connectionFault() says that nobody listens, and not where", async () => {
  const listener = Deno.listen(TCP);
  listener.close();
  const thrown = await thrownBy(listener.addr.port);
  assertEquals(connectionFault(thrown).replace(/ \(os error.*/, ""), "tcp connect error: Connection refused");
  assertEquals(neverConnected(thrown), true);
});

Deno.test("connectionFault() says that a server hung up, and that it may have read what it was asked", async () => {
  const listener = Deno.listen(TCP);
  const hungUp = listener.accept().then(async (connection) => {
    await connection.read(new Uint8Array(1024));
    connection.close();
  });
  const thrown = await thrownBy(listener.addr.port);
  await hungUp;
  listener.close();
  assertEquals(connectionFault(thrown), "connection closed before message completed");
  assertEquals(neverConnected(thrown), false);
});

Deno.test("connectionFault() tells whatever is thrown", () => {
  assertEquals(connectionFault(new TypeError("error reading a body")), "error reading a body");
  assertEquals(connectionFault("odd"), "odd");
});
