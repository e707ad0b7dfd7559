import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { Serving } from "../../bench/serving.ts";
import { encodeMessage } from "../../src/cluster/nats/message.ts";
import { NatsPool } from "../../src/cluster/nats_pool.ts";
import { NatsPeer } from "../../src/cluster/nats/nats_peer.ts";
import { toWhole } from "../../src/cluster/nats/transfer.ts";
import { options, print, SLOTS, startNode, whenNodes } from "./cluster.ts";
import { NatsServer } from "./nats_server.ts";

Deno.test("10^5 garbage messages on every kind of subject: nothing crashes", options, async (t) => {
  await using nats = await NatsServer.start();
  await using serving = await startNode(nats);
  await using gateway = await Serving.start("--cluster", nats.url);
  await using pool = await NatsPool.connect({ servers: nats.url });
  await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === SLOTS));
  const [node] = pool.nodes;
  assert(node);
  await using stranger = await NatsPeer.connect({ servers: nats.url }, "stranger");
  const { subjects } = stranger;
  const callers = new Set<string>();
  const beats = stranger.receive(subjects.callerBeat(), ({ head }) => callers.add(String(head["id"])));
  while (callers.size < 2) await delay(100);
  beats.unsubscribe();
  const session = `${node.id}${"s".repeat(30)}`;
  const targets = [
    subjects.work("serve"),
    subjects.free("serve"),
    subjects.node(node.id),
    subjects.nodeBeat(node.id),
    subjects.nodeBeat("aaaaaaaaaa"),
    subjects.callerBeat("aaaaaaaaaa"),
    ...[node.id, ...callers].flatMap((id) => [subjects.inbox(id, "1"), subjects.inbox(id, "t1")]),
    `$KV.${subjects.nodesBucket}.${subjects.entry("aaaaaaaaaa")}`,
    `$KV.${subjects.sharedBucket}.${subjects.entry(session)}`,
    `$O.${subjects.statesBucket}.M.${btoa(subjects.entry(session))}`,
  ];
  const almost = (at: number) => almostRight(at, { node: node.id, member: stranger.id, session });
  const publish = (target: string, bytes: Uint8Array, at: number) =>
    stranger.nats.publish(target, bytes, at % 5 === 0 ? { reply: "$JS.API.INFO" } : {});
  const cases: Record<string, (at: number) => void> = {
    "of random bytes": (at) => {
      const bytes = crypto.getRandomValues(new Uint8Array(at % 90));
      if (at % 3 === 0) bytes[0] = at % 2;
      for (const target of targets) publish(target, bytes, at);
    },
    "that are almost right, of a user without the key": (at) => {
      const bytes = toWhole(encodeMessage(almost(at)));
      for (const target of targets) publish(target, bytes, at);
    },
    "that are almost right, of a member": (at) => {
      for (const target of targets.filter((target) => target.startsWith("paddock."))) {
        stranger.post(target, almost(at));
      }
    },
  };
  const counts: Record<string, number> = { "that are almost right, of a member": 10_000 }; // to seal takes time
  for (const [title, send] of Object.entries(cases)) {
    await t.step(`messages ${title}`, async () => {
      for (let at = 0; at < (counts[title] ?? 100_000); at++) {
        send(at);
        if (at % 200 === 0) await stranger.nats.flush();
      }
      await stranger.nats.flush();
      await using lease = await pool.acquire();
      const result = await lease.session.exec("6 * 7");
      assertEquals(result.status === "ok" && result.value, "42");
      for (const url of [gateway.url, serving.url]) {
        const response = await fetchSoon(`${url}/v1/exec`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ code: "6 * 7" }),
        });
        assertEquals((await response.json()).valueJson, 42);
      }
      const found = await fetchSoon(`${gateway.url}/v1/sessions/${session}`);
      await found.body?.cancel();
      assertEquals(found.status, 404);
    });
  }
  const { invalid = 0 } = pool.nodes.find(({ id }) => id === node.id) ?? {};
  await print(`garbage: ${targets.length} kinds of subject; the node has refused ${invalid} messages`);
  assert(invalid > 100_000);
});

/** Fetches, again while the server resets connections: it does so if it could not accept any for some time. */
async function fetchSoon(url: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    try {
      return await fetch(url, init);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await delay(200); // it still reads what was sent before
    }
  }
}

/** Values of the wrong kind. */
const WRONG = [null, -1, 1e300, "", "x".repeat(300), [], [[]], {}, true, "../..", "*", ">"];

/** Returns a message with one wrong, missing or unknown key. */
function almostRight(
  at: number,
  { node, member, session }: { node: string; member: string; session: string },
): object {
  const from = { caller: member, call: "1", owner: "" };
  const load = { free: 1, sessions: 0, draining: false, execs: 0, invalid: 0 };
  const heads: Record<string, unknown>[] = [
    { op: "open", ...from, seed: 1 },
    { op: "resume", ...from, session, every: "exec" },
    { op: "exec", ...from, session, code: "1", files: [["a", 0]], tools: [], follows: ["output"] },
    { op: "shell", ...from, session, command: "ls" },
    { op: "restore", ...from, session, scope: "" },
    { op: "verify", ...from, scope: "" },
    { op: "answer", caller: member, call: "1", toolCall: 1, error: "x" },
    { op: "credit", caller: member, call: "1", characters: 1 },
    { id: node, epoch: 1, ...load },
    { id: member, epoch: 1, waiting: 0 },
    { kind: "opened", session },
    { kind: "result", result: { status: "ok" }, files: ["a"] },
    { owner: "", session, home: {}, settings: {} },
  ];
  const head = { ...heads[at % heads.length] };
  const keys = Object.keys(head);
  const key = keys[Math.floor(at / heads.length) % keys.length] ?? "";
  const wrong = WRONG[Math.floor(at / 7) % WRONG.length];
  if (at % 3 === 0) head[`${key}2`] = wrong;
  else if (at % 3 === 1) delete head[key];
  else head[key] = wrong;
  return head;
}
