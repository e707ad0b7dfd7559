import { assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { Hono } from "hono";
import { Budgets } from "../../../src/server/admission/budget.ts";
import type { AppEnv } from "../../../src/server/http/context.ts";
import { HttpServer } from "../../../src/server/http/http_server.ts";
import { requestLimits } from "../../../src/server/http/request_limits.ts";
import { UnreadResponses } from "../../../src/server/http/unread_responses.ts";
import { REQUEST_LIMITS } from "../../../src/server/limits.ts";
import { HANG_MS } from "../../deadline.ts";

const MB = 1_000_000;
const options = { timeout: HANG_MS };

/** Serves responses of 16 MB to owners that the path names. */
async function serve(unread: UnreadResponses) {
  const { waiting } = new Budgets({ owners: 2 });
  const app = new Hono<AppEnv>().use(async (c, next) => {
    c.set("owner", c.req.path.slice(1));
    c.set("isAuthenticated", true);
    await next();
  }).use(requestLimits(REQUEST_LIMITS, waiting, { unread })).get("*", (c) => c.text("x".repeat(16 * MB)));
  const server = await HttpServer.listen((request, connection) => app.fetch(request, connection), {
    hostname: "127.0.0.1",
    port: 0,
    onGraceOver: () => Promise.resolve(),
  });
  return { server, waiting };
}

/** Sends a request and does not read its response. */
async function send({ port }: HttpServer, owner: string): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(`GET /${owner} HTTP/1.1\r\nHost: localhost\r\n\r\n`));
  return connection;
}

/** Reads a response. Returns false if its connection ended before. */
async function readWhole(connection: Deno.TcpConn): Promise<boolean> {
  const piece = new Uint8Array(1 << 16);
  for (let bytes = 0; bytes < 16 * MB;) {
    const count = await connection.read(piece).catch(() => null); // a connection that was reset has ended, too
    if (count === null) return false;
    bytes += count;
  }
  return true;
}

Deno.test(
  "clients that do not read are disconnected when their owner has too many of them",
  options,
  async () => {
    const { server, waiting } = await serve(new UnreadResponses({ maxBytes: 40 * MB, afterMs: 1_000 }));
    await using _server = server;
    const unread: Deno.TcpConn[] = [];
    for (let count = 1; count <= 4; count++) unread.push(await send(server, "alice"));
    using other = await send(server, "bob");
    while (waiting.used("bob") === 0 || waiting.used("alice") !== 32 * MB) await delay(20);
    assertEquals(waiting.used("bob"), 16 * MB);
    using reading = await send(server, "alice");
    assertEquals([await readWhole(reading), await readWhole(other)], [true, true]);
    const whole = await Promise.all(unread.map(readWhole));
    assertEquals(whole.filter((isWhole) => isWhole).length, 2);
    for (const connection of unread) connection.close();
    while (waiting.used() > 0) await delay(20);
  },
);

Deno.test(
  "a single response that is larger than all unread ones may be waits for its client",
  options,
  async () => {
    const { server, waiting } = await serve(new UnreadResponses({ maxBytes: MB, afterMs: 50 }));
    await using _server = server;
    using connection = await send(server, "alice");
    while (waiting.used("alice") === 0) await delay(20);
    await delay(300); // some checks
    assertEquals(await readWhole(connection), true);
  },
);

Deno.test("UnreadResponses disconnects the clients that have read nothing for longest", options, async () => {
  const unread = new UnreadResponses({ maxBytes: 2, afterMs: 20 });
  const disconnected = new Set<string>();
  const add = (name: string) =>
    unread.add("alice", { bytes: 1, disconnect: () => void disconnected.add(name) });
  using first = add("first");
  using _second = add("second");
  using _third = add("third");
  first.noteRead();
  while (disconnected.size === 0) await delay(5);
  assertEquals([...disconnected], ["second"]);
});
