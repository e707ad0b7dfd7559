import { assertEquals } from "@std/assert";
import type { SessionLease } from "../../../src/sandbox/contract/pool.ts";
import type { SharedLease, SharedPool } from "../../../src/server/sessions/shared_pool.ts";
import { FakePool, ok } from "../../fake_pool.ts";
import { served } from "../served.ts";

/** Sessions that several servers find, as those of a cluster. */
class SharedFakePool extends FakePool implements SharedPool {
  readonly entries = new Map<string, { lease: SessionLease; owner: string; settings: unknown }>();
  left = 0;
  claimed = 0;

  share(lease: SessionLease, settings: object): Promise<SharedLease> {
    const id = `node${this.entries.size}`;
    this.entries.set(id, { lease, owner: this.lastOwner, settings: JSON.parse(JSON.stringify(settings)) });
    return Promise.resolve(this.#toLease(id, lease));
  }

  join(id: string, owner: string): Promise<{ lease: SharedLease; settings: unknown } | undefined> {
    const entry = this.entries.get(id);
    if (entry?.owner !== owner) return Promise.resolve(undefined);
    return Promise.resolve({ lease: this.#toLease(id, entry.lease), settings: entry.settings });
  }

  lastOwner = "";
  override async acquire(options: { owner?: string; signal?: AbortSignal } = {}): Promise<SessionLease> {
    this.lastOwner = options.owner ?? "";
    return await super.acquire(options);
  }

  #toLease(id: string, lease: SessionLease): SharedLease {
    return {
      id,
      session: lease.session,
      claim: () => Promise.resolve(void this.claimed++),
      leave: () => Promise.resolve(void this.left++),
      [Symbol.asyncDispose]: async () => {
        this.entries.delete(id);
        await lease[Symbol.asyncDispose]();
      },
    };
  }
}

const tokens = ["first-token-of-16", "second-token-of-16"];
const first = { authorization: `Bearer ${tokens[0]}` };
const second = { authorization: `Bearer ${tokens[1]}` };

Deno.test("a server finds the session of another server over the same pool, with its settings, for its owner alone", async () => {
  const pool = new SharedFakePool((code, globals) => {
    if (code === "n += 1") globals.set("n", (globals.get("n") ?? 0) + 1);
    return ok(`${globals.get("n")}`);
  });
  await using one = served({ pool, tokens });
  await using two = served({ pool, tokens });
  const settings = { limits: { timeoutMs: 1000 }, metadata: { a: "b" }, checkpointEvery: 5, ttlSeconds: 60 };
  const { body } = await one.send("POST", "/v1/sessions", settings, first);
  const path = `/v1/sessions/${body.id}`;
  assertEquals(body.id, "node0");
  for (const [at, server] of [one, two, one, two].entries()) {
    const result = await server.send("POST", `${path}/exec`, { code: "n += 1" }, first);
    assertEquals([result.status, result.body.stdout], [200, `${at + 1}`]);
  }
  const seen = (await two.send("GET", path, undefined, first)).body;
  const { execs: _, usedAt: __, ...expected } = body;
  const { execs: ___, usedAt: ____, ...found } = seen;
  assertEquals(found, expected);
  assertEquals((await two.send("POST", `${path}/exec`, { code: "n += 1" }, second)).status, 404);
  assertEquals((await two.send("GET", "/v1/sessions/node7", undefined, first)).status, 404);
  assertEquals(pool.alive, 1);
  assertEquals((await two.send("DELETE", path, undefined, first)).status, 204);
  assertEquals([pool.claimed, pool.alive, pool.entries.size], [1, 0, 0]);
});

Deno.test("a server that stops leaves its shared sessions to the others, and ends those of single programs", async () => {
  const pool = new SharedFakePool(() => ok("1"));
  {
    await using server = served({ pool });
    await server.send("POST", "/v1/sessions", {});
    await server.send("POST", "/v1/exec", { code: "1" });
  }
  assertEquals([pool.left, pool.alive, pool.entries.size], [1, 1, 1]);
  await using other = served({ pool });
  assertEquals((await other.send("POST", "/v1/sessions/node0/exec", { code: "1" })).status, 200);
});

Deno.test("a shared session with settings of another version is reported as not found", async () => {
  const pool = new SharedFakePool();
  await using server = served({ pool });
  await server.send("POST", "/v1/sessions", {});
  const [entry] = pool.entries.values();
  pool.entries.set("later", { ...entry, settings: { createdAt: "soon" } } as never);
  assertEquals((await server.send("GET", "/v1/sessions/later")).status, 404);
});
