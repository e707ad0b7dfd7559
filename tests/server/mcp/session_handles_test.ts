import { assert, assertEquals, assertRejects } from "@std/assert";
import { Budget } from "../../../src/server/admission/budget.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import { MCP_IDLE_MS } from "../../../src/server/limits.ts";
import { ClientSession } from "../../../src/server/mcp/client_session.ts";
import { SessionHandles } from "../../../src/server/mcp/session_handles.ts";

const DONE = { content: [{ type: "text" as const, text: "done" }] };

function setUp(options: { total?: number; owners?: number } = {}) {
  const { total = 3, owners } = options;
  const ended: string[] = [];
  let now = 0;
  let made = 0;
  const count = new Budget({ total, owners, unit: "MCP clients", advice: "disconnect one" });
  const handles = new SessionHandles({
    open(owner) {
      const name = `${owner}${++made}`;
      const client = new ClientSession(() => Promise.reject(new Error("it is not opened")));
      client[Symbol.asyncDispose] = () => Promise.resolve(void ended.push(name));
      return client;
    },
    count,
    hasCheckpoints: false,
    now: () => now,
  });
  const use = async (owner: string, handle?: string) => {
    now++;
    const { _meta } = await handles.of(owner).use(handle, () => Promise.resolve(DONE));
    return String(_meta?.["paddock/session"] ?? handle);
  };
  return { handles, count, ended, use, pass: (ms: number) => now += ms };
}

Deno.test("SessionHandles end the longest unused session for another, first those that no call has named", async () => {
  const { use, ended, count } = setUp();
  const kept = await use("a");
  await use("a", kept);
  await use("a");
  await use("a");
  await use("a");
  assertEquals(ended, ["a2"]);
  for (let times = 0; times < 5; times++) await use("a");
  assertEquals(ended.includes("a1"), false);
  assertEquals(count.used("a"), 3);
  await use("a", kept);
});

Deno.test("SessionHandles end no session of another owner, and none that is used", async () => {
  const { handles, use, ended } = setUp({ total: 4, owners: 2 });
  const theirs = await use("b");
  const running = Promise.withResolvers<typeof DONE>();
  const first = handles.of("a").use(undefined, () => running.promise);
  for (let times = 0; times < 6; times++) await use("a");
  assert(!ended.includes("b1") && !ended.includes("a2"), `ended ${ended}`);
  assertEquals(await use("b", theirs), theirs);
  running.resolve(DONE);
  await first;
});

Deno.test("SessionHandles refuse a new session when all are used", async () => {
  const { handles } = setUp({ total: 1 });
  const running = Promise.withResolvers<typeof DONE>();
  const first = handles.of("a").use(undefined, () => running.promise);
  const { code } = await assertRejects(
    () => handles.of("a").use(undefined, () => running.promise),
    ServerError,
  );
  assertEquals(code, "busy");
  running.resolve(DONE);
  await first;
});

Deno.test("SessionHandles end sessions after an hour without use", async () => {
  const { handles, use, ended, pass } = setUp();
  const [one, other] = [await use("a"), await use("a")];
  pass(MCP_IDLE_MS / 2);
  await use("a", other);
  pass(MCP_IDLE_MS / 2 + 1);
  await handles.endIdle();
  assertEquals(ended, ["a1"]);
  await assertRejects(() => use("a", one), ServerError, "has ended or never existed");
  await use("a", other);
});

Deno.test("SessionHandles keep no session whose first call failed, and take an empty handle as none", async () => {
  const { handles, use, count, ended } = setUp();
  await assertRejects(
    () => handles.of("a").use(undefined, () => Promise.reject(new RangeError("no"))),
    RangeError,
  );
  assertEquals([count.used("a"), ended], [0, ["a1"]]);
  assert(await use("a", "") !== "");
});
