import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import type { Serving } from "../../bench/serving.ts";
import { ClusterSessions } from "../../src/cluster/cluster_sessions.ts";
import { decodeMessage, encodeMessage } from "../../src/cluster/nats/message.ts";
import { NatsPool } from "../../src/cluster/nats_pool.ts";
import { sha256 } from "../../src/hash.ts";
import { loadObjects } from "../../src/cluster/nats/client.ts";
import { NatsPeer } from "../../src/cluster/nats/nats_peer.ts";
import { SandboxLostError } from "../../src/errors.ts";
import type { BranchingLease } from "../../src/sandbox/contract/pool.ts";
import { options, print, SLOTS, startNode, whenNodes } from "./cluster.ts";
import { NatsServer } from "./nats_server.ts";

/** Milliseconds within which a lost call must be reported. */
const REPORT_MS = 2_000;

/** Execs of a session that counts in its state, and what was found about them. */
interface Counting {
  /** Number of execs that have ended, with a lost one whose effect remains. */
  done: number;
  /** Number of rejected execs. */
  lost: number;
  /** Number of execs before which the session had moved. */
  moved: number;
  slowestMs: number;
  wrong: string[];
}

/** Counts in the state of a session until `isOn` is false. Each exec prints the number of those before it. */
async function countIn(
  { session }: BranchingLease,
  { isOn, lostAt }: { isOn: () => boolean; lostAt: () => number },
): Promise<Counting> {
  const counting: Counting = { done: 0, lost: 0, moved: 0, slowestMs: 0, wrong: [] };
  await session.exec("steps = 0");
  let isUnsure = false; // a lost exec may have ended and be in the checkpoint
  while (isOn()) {
    try {
      const result = await session.exec("steps += 1; steps");
      if (result.restoredFrom) counting.moved++;
      const { restoredFrom, stateKept, restarted } = result;
      const isKept = stateKept && !restarted && (restoredFrom?.lostCalls ?? 0) === 0;
      const hasLostRun = isUnsure && result.status === "ok" && result.value === `${counting.done + 2}`;
      if (hasLostRun) counting.done++;
      isUnsure = false;
      const expected = `${counting.done + 1}`;
      if (!isKept || result.status !== "ok" || result.value !== expected) {
        counting.wrong.push(`expected ${expected}: ${JSON.stringify(result)}`);
      }
      counting.done++;
    } catch (error) {
      if (!(error instanceof SandboxLostError)) throw error;
      counting.lost++;
      isUnsure = true;
      counting.slowestMs = Math.max(counting.slowestMs, performance.now() - lostAt());
    }
  }
  return counting;
}

Deno.test(
  "kill -9 of a node under load: sessions with checkpointEvery continue with their state, others report the loss",
  options,
  async () => {
    await using nats = await NatsServer.start();
    await using first = await startNode(nats, "--max-sessions", "3");
    await using pool = await NatsPool.connect({ servers: nats.url });
    await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === 3));
    await using one = await pool.acquire({ checkpointEvery: "exec" });
    await using two = await pool.acquire({ checkpointEvery: "exec" });
    await using plain = await pool.acquire();
    await using _second = await startNode(nats, "--max-sessions", "3");
    await using _third = await startNode(nats, "--max-sessions", "3");
    await whenNodes(
      pool,
      (nodes) => nodes.length === 3 && nodes.filter(({ free }) => free === 3).length === 2,
    );
    let isOn = true;
    let killedAt = Infinity;
    const load = { isOn: () => isOn, lostAt: () => killedAt };
    const counts = [one, two].map((lease) => countIn(lease, load));
    const endless = plain.session.exec("while True: pass", { timeoutMs: 20_000 });
    const lost = assertRejects(() => endless, SandboxLostError);
    await delay(1_000);
    killedAt = performance.now();
    first.child.kill("SIGKILL");
    await lost;
    const reportedMs = performance.now() - killedAt;
    assert(reportedMs < REPORT_MS, `reported after ${reportedMs} ms`);
    await assertRejects(() => plain.session.exec("1"), SandboxLostError);
    await delay(2_000);
    isOn = false;
    const results = await Promise.all(counts);
    for (const { moved, wrong, slowestMs, lost } of results) {
      assertEquals([wrong, moved], [[], 1]);
      assert(lost === 1 && slowestMs < REPORT_MS, `${lost} calls, reported after ${slowestMs} ms`);
    }
    const { done } = results[0] ?? { done: 0 };
    await print(`kill -9: reported after ${Math.round(reportedMs)} ms; ${done} execs of a session, 1 lost`);
  },
);

Deno.test(
  "a rolling restart of all nodes under load loses nothing of sessions with checkpointEvery",
  options,
  async () => {
    await using nats = await NatsServer.start();
    await using stack = new AsyncDisposableStack();
    const nodes: Serving[] = [];
    const addNode = async () => void nodes.push(stack.use(await startNode(nats)));
    for (const _ of "abc") await addNode();
    await using pool = await NatsPool.connect({ servers: nats.url });
    await whenNodes(pool, (nodes) => nodes.filter(({ free }) => free === SLOTS).length === 3);
    const leases = await Promise.all(
      Array.from({ length: 3 }, () => pool.acquire({ checkpointEvery: "exec" })),
    );
    let isOn = true;
    const counts = leases.map((lease) => countIn(lease, { isOn: () => isOn, lostAt: () => 0 }));
    const singles = Array.from({ length: 2 }, async (_, worker) => {
      const wrong: unknown[] = [];
      for (let at = 0; isOn; at++) {
        await using lease = await pool.acquire({ once: true });
        const result = await lease.session.exec(`${worker} + 10 * ${at}`);
        if (result.status !== "ok" || result.value !== `${worker + 10 * at}`) wrong.push(result);
      }
      return wrong;
    });
    for (const node of nodes.slice()) {
      node.child.kill("SIGTERM");
      await node.child.status;
      await addNode();
      await whenNodes(pool, (found) => found.length === 3 && found.every(({ draining }) => !draining));
    }
    isOn = false;
    const results = await Promise.all(counts);
    for (const lease of leases) await lease[Symbol.asyncDispose]();
    assertEquals(
      results.map(({ wrong, lost }) => ({ wrong, lost })),
      results.map(() => ({ wrong: [], lost: 0 })),
    );
    assertEquals(await Promise.all(singles), [[], []]);
    const moves = results.map(({ moved }) => moved);
    assert(moves.some((count) => count > 0), "no session has moved");
    const done = results.reduce((sum, result) => sum + result.done, 0);
    await print(
      `rolling restart: ${done} execs of 3 sessions, moved ${moves.join(", ")} times, nothing lost`,
    );
  },
);

Deno.test(
  "a session that was reset, restored or rewound continues there on another node; one without a checkpoint restarts",
  options,
  async () => {
    await using nats = await NatsServer.start();
    await using first = await startNode(nats, "--max-sessions", "4");
    await using pool = await NatsPool.connect({ servers: nats.url });
    await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === 4));
    const acquire = () => pool.acquire({ checkpointEvery: "exec", seed: 7 });
    await using reset = await acquire();
    await using restored = await acquire();
    await using rewound = await acquire();
    await using rare = await pool.acquire({ checkpointEvery: 3_600 });
    for (const { session } of [reset, restored, rewound, rare]) await session.exec("x = 'before'");
    await reset.session.reset({ mode: "rewind", seed: 1 });
    const checkpoint = await restored.session.checkpoint({ owner: "me" });
    await restored.session.exec("x = 'wrong turn'");
    await restored.session.restore(checkpoint, { owner: "me" });
    await rewound.session.exec("x", { then: "rewind" });
    await using _second = await startNode(nats, "--max-sessions", "4");
    await whenNodes(pool, (nodes) => nodes.length === 2 && nodes.some(({ free }) => free === 4));
    first.child.kill("SIGKILL");
    await whenNodes(pool, (nodes) => nodes.length === 1);
    const look = async ({ session }: BranchingLease) => {
      const result = await session.exec("globals().get('x', 'nothing')");
      return [result.status === "ok" && result.value, result.restarted, result.restoredFrom?.lostCalls];
    };
    assertEquals(await look(reset), ["'nothing'", true, undefined]);
    assertEquals(await look(restored), ["'before'", undefined, 0]);
    assertEquals(await look(rewound), ["'nothing'", true, undefined]);
    assertEquals(await look(rare), ["'nothing'", true, undefined]);
  },
);

Deno.test("a node trusts no checkpoint of the object store, and no id of a session", options, async (t) => {
  await using nats = await NatsServer.start();
  await using _node = await startNode(nats, "--max-sessions", "4");
  await using sessions = await ClusterSessions.connect({ servers: nats.url });
  while (!sessions.nodes.some(({ free }) => free === 4)) await delay(50);
  await using stranger = await NatsPeer.connect({ servers: nats.url }, "stranger");
  const { Objm } = await loadObjects();
  const owner = await sha256("me");
  const id = await sessions.open({ owner, checkpointEvery: "exec" });
  await using lease = await sessions.lease(id, { owner, every: "exec" });
  await lease.session.exec("secret = 42");
  const states = stranger.subjects.statesBucket;
  const bucket = await new Objm(stranger.nats).create(states, { max_bytes: 1024 ** 3, storage: "file" });
  const storedName = stranger.subjects.entry(id);
  const found = await bucket.get(storedName);
  assert(found);
  const sealed = new Uint8Array(await new Response(found.data).arrayBuffer());
  assertEquals(new TextDecoder().decode(sealed).includes("paddock"), false);
  const genuine =
    decodeMessage(await stranger.openObject(states, storedName, sealed) ?? new Uint8Array()).parts[0];
  assert(genuine);
  const [node] = sessions.nodes;
  assert(node);
  const resume = async (session: string, owner = "") => {
    const answer = Promise.withResolvers<Record<string, unknown>>();
    using inbox = stranger.openInbox((received) => answer.resolve(received?.head ?? {}));
    const { token: call } = inbox;
    stranger.post(stranger.subjects.node(node.id), {
      op: "resume",
      caller: stranger.id,
      call,
      owner,
      session,
      every: "exec",
    });
    const reply = await answer.promise;
    const opened = reply["session"];
    if (typeof opened === "string") {
      stranger.post(stranger.subjects.node(node.id), {
        op: "end",
        caller: stranger.id,
        call: `${call}1`,
        owner,
        session: opened,
      });
    }
    return [reply["kind"], reply["restored"]];
  };
  const session = `${node.id}${"f".repeat(30)}`;
  const name = stranger.subjects.entry(session);
  const time = { calls: 1, takenAt: 1 };
  const seal = (head: object, bytes: Uint8Array) =>
    stranger.sealObject(states, name, encodeMessage(head, [bytes]));
  const forged = genuine.slice();
  forged[100] = (forged[100] ?? 0) ^ 1;
  const objects: Record<string, Uint8Array> = {
    "with a changed header": await seal(time, forged),
    "of random bytes": await seal(time, crypto.getRandomValues(new Uint8Array(5_000))),
    "of nothing": await seal(time, new Uint8Array()),
    "that is cut": await seal(time, genuine.slice(0, -7)),
    "without a time": await seal({}, genuine),
    "with an absurd time": await seal({ calls: -1, takenAt: 1e999 }, genuine),
    "of another owner": await seal(time, genuine),
    "that no member has sealed": encodeMessage(time, [genuine]),
    "that was sealed for another session": sealed,
    "that is empty": new Uint8Array(),
  };
  for (const [title, data] of Object.entries(objects)) {
    await t.step(`an object ${title} is not restored`, async () => {
      await bucket.putBlob({ name }, data);
      assertEquals(await resume(session), ["opened", undefined]);
    });
  }
  await t.step("an object that is too large is not read", async () => {
    const info = { name, bucket: states, nuid: "x", chunks: 1, digest: "SHA-256=x" };
    const size = { ...info, size: 1e12, mtime: new Date().toISOString() };
    const subject = `$O.${states}.M.${btoa(name)}`;
    stranger.nats.publish(subject, new TextEncoder().encode(JSON.stringify(size)));
    await stranger.nats.flush();
    assertEquals((await bucket.info(name))?.size, 1e12);
    assertEquals(await resume(session), ["opened", undefined]);
    const link = { ...size, size: 0, options: { link: { bucket: states, name: storedName } } };
    stranger.nats.publish(subject, new TextEncoder().encode(JSON.stringify(link)));
    await stranger.nats.flush();
    assertEquals(await resume(session), ["opened", undefined]);
  });
  await t.step("the session of another caller or owner cannot be used", async () => {
    const answer = Promise.withResolvers<Record<string, unknown>>();
    using inbox = stranger.openInbox((received) => answer.resolve(received?.head ?? {}));
    const { token: call } = inbox;
    stranger.post(stranger.subjects.node(node.id), {
      op: "exec",
      caller: stranger.id,
      call,
      owner: "",
      session: id,
      code: "secret",
    });
    assertEquals((await answer.promise)["code"], "moved");
  });
  const result = await lease.session.exec("secret");
  assertEquals(result.status === "ok" && result.value, "42");
});
