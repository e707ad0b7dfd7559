/** What a user of the NATS account can do who does not have the key of the cluster. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Serving } from "../../bench/serving.ts";
import { ClusterSessions } from "../../src/cluster/cluster_sessions.ts";
import { loadTransport, type NatsConnection, type NatsMessage } from "../../src/cluster/nats/client.ts";
import { encodeMessage } from "../../src/cluster/nats/message.ts";
import { NatsPool } from "../../src/cluster/nats_pool.ts";
import { toWhole } from "../../src/cluster/nats/transfer.ts";
import { PoolFullError } from "../../src/errors.ts";
import { sha256 } from "../../src/hash.ts";
import { TempFolder } from "../temp_folder.ts";
import { options, print, SLOTS, startNode, whenNodes } from "./cluster.ts";
import { NatsServer } from "./nats_server.ts";

const CLI = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));

/** A connection to NATS without the key, which records the messages of clusters. */
class Stranger implements AsyncDisposable {
  readonly nats: NatsConnection;
  readonly seen: { subject: string; data: Uint8Array; reply: string | undefined }[] = [];

  private constructor(nats: NatsConnection) {
    this.nats = nats;
  }

  static async connect(
    { url }: Pick<NatsServer, "url">,
    credentials: { user?: string; pass?: string } = {},
  ): Promise<Stranger> {
    const { connect } = await loadTransport();
    const nats = await connect({
      servers: [url],
      name: "stranger",
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      pingInterval: 5_000,
      timeout: 10_000,
      ...credentials,
    });
    return new Stranger(nats);
  }

  /** Records all messages from now on, those to buckets too. */
  async record(): Promise<void> {
    this.nats.subscribe(">", {
      callback: (_, { subject, data, reply }) => this.seen.push({ subject, data: data.slice(), reply }),
    });
    await this.nats.flush();
  }

  subscribe(subject: string, callback: (message: NatsMessage) => void, queue?: string): void {
    this.nats.subscribe(subject, { ...(queue && { queue }), callback: (_, message) => callback(message) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.nats.close();
  }
}

/** Returns the value of a program that must succeed. */
async function valueOf(result: ReturnType<Awaited<ReturnType<NatsPool["acquire"]>>["session"]["exec"]>) {
  const ended = await result;
  assert(ended.status === "ok", JSON.stringify(ended));
  return ended.value;
}

Deno.test(
  "a stranger sees no program, owner or id, and what it sends again has no effect",
  options,
  async () => {
    await using nats = await NatsServer.start();
    await using _node = await startNode(nats);
    await using stranger = await Stranger.connect(nats);
    await stranger.record();
    await using sessions = await ClusterSessions.connect({ servers: nats.url });
    while (!sessions.nodes.some(({ free }) => free === SLOTS)) await delay(50);
    const owner = await sha256("tenant");
    const id = await sessions.open({ owner, checkpointEvery: "exec" });
    await using lease = await sessions.lease(id, { owner, every: "exec" });
    await lease.session.exec("marker = 'visible' + 'marker'; count = 0");
    await sessions.share(lease, { note: "visiblemarker" });
    assertEquals(await valueOf(lease.session.exec("count += 1; count")), "1");
    await using single = await sessions.acquire({ once: true, owner: "tenant" });
    assertEquals(await valueOf(single.session.exec("len('visiblemarker')")), "13");
    const [node] = sessions.nodes;
    assert(node);
    const secrets = [id, node.id, owner, "visiblemarker", "startedAt", node.profile.sha256, "takenAt"];
    const decoder = new TextDecoder("latin1");
    const captured = [...stranger.seen];
    assert(captured.length > 10);
    for (const { subject, data } of captured.filter(({ subject }) => !subject.startsWith("$JS."))) {
      const [, kind = ""] = subject.split(".");
      for (const secret of secrets) {
        assertEquals(subject.includes(secret), false, `${kind}: ${secret} in the subject`);
        assertEquals(decoder.decode(data).includes(secret), false, `${kind}: ${secret} in the message`);
      }
    }
    const sent = captured.filter(({ subject }) => subject.startsWith("paddock."));
    const execs = () => sessions.caller.directory.properties.find(({ id }) => id === node.id)?.execs;
    while (execs() !== 3) await delay(50);
    for (const { subject, data, reply } of [...sent, ...sent]) {
      stranger.nats.publish(subject, data, reply === undefined ? {} : { reply });
    }
    await stranger.nats.flush();
    assertEquals(await valueOf(lease.session.exec("count")), "1");
    while (execs() !== 4) await delay(50); // the programs of this test alone
    await print(`stranger: ${2 * sent.length} captured messages were sent again`);
  },
);

Deno.test("replies, announcements and heartbeats of a stranger are ignored", options, async () => {
  await using nats = await NatsServer.start();
  await using stranger = await Stranger.connect(nats);
  {
    await using _node = await startNode(nats);
    await using pool = await NatsPool.connect({ servers: nats.url });
    await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === SLOTS));
    await stranger.record();
    const forged = toWhole(encodeMessage({ kind: "result", result: { status: "ok", value: "666" } }));
    let answered = 0;
    for (const subject of ["paddock.*.work.*", "paddock.*.node.*"]) {
      stranger.subscribe(subject, ({ reply }) => {
        if (!reply) return;
        answered++;
        stranger.nats.publish(reply, forged);
        stranger.nats.publish(reply, new Uint8Array([0]));
      });
    }
    await stranger.nats.flush();
    await using lease = await pool.acquire();
    for (let at = 0; at < 20; at++) {
      assertEquals(await valueOf(lease.session.exec(`__import__('time').sleep(0.02); ${at}`)), `${at}`);
    }
    assert(answered >= 20);
  }
  await using pool = await NatsPool.connect({ servers: nats.url });
  const beats = stranger.seen.filter(({ subject }) => /^paddock\.\w+\.beat\./.test(subject));
  const listed: number[] = [];
  for (let round = 0; round < 20; round++) {
    for (const { subject, data } of beats) stranger.nats.publish(subject, data);
    await delay(50);
    listed.push(pool.nodes.length);
  }
  assert(beats.length > 0);
  assertEquals(Math.max(...listed), 0); // the node has ended
});

Deno.test("a stranger that takes calls as a worker does delays no program by seconds", options, async () => {
  await using nats = await NatsServer.start();
  await using _node = await startNode(nats);
  await using pool = await NatsPool.connect({ servers: nats.url });
  await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === SLOTS));
  await using stranger = await Stranger.connect(nats);
  let taken = 0;
  for (let at = 0; at < 50; at++) {
    stranger.subscribe("paddock.default.work.*", () => taken++, "slots");
    stranger.subscribe("paddock.default.work.serve", () => taken++, "slots");
  }
  await stranger.nats.flush();
  const times: number[] = [];
  const timed = async (once: boolean) => {
    const startedAt = performance.now();
    await using lease = await pool.acquire({ once });
    assertEquals(await valueOf(lease.session.exec("6 * 7")), "42");
    times.push(performance.now() - startedAt);
  };
  for (let at = 0; at < 20; at++) await timed(at % 2 === 0);
  // More clients than slots: a call that finds no slot is not reported by NATS, as the stranger receives it.
  await Promise.all(Array.from({ length: 3 * SLOTS }, async () => {
    for (let at = 0; at < 5; at++) await timed(true);
  }));
  assert(taken > 0);
  const sorted = times.sort((one, other) => one - other);
  const [median = NaN, longest = NaN] = [sorted[sorted.length >> 1], sorted.at(-1)];
  await print(`fake worker: ${median.toFixed(0)} ms in the median, ${longest.toFixed(0)} ms at most`);
  assert(median < 1_000, `${median} ms`);
});

Deno.test("a program that a stranger sends again to another node ends there at once", options, async () => {
  await using nats = await NatsServer.start();
  await using _one = await startNode(nats);
  await using _two = await startNode(nats);
  await using pool = await NatsPool.connect({ servers: nats.url });
  await whenNodes(pool, (nodes) => nodes.filter(({ free }) => free === SLOTS).length === 2);
  await using stranger = await Stranger.connect(nats);
  let sentAgain = 0;
  stranger.subscribe("paddock.default.work.*", ({ subject, data, reply }) => {
    if (!reply || sentAgain >= 20) return; // the first ones are of the pool, the others of this callback
    sentAgain++;
    stranger.nats.publish(subject, data, { reply });
  });
  await stranger.nats.flush();
  await using lease = await pool.acquire({ once: true });
  const stop = new AbortController();
  let hasEnded = false;
  const program = lease.session.exec("__import__('time').sleep(50)", {
    timeoutMs: 55_000,
    signal: stop.signal,
  })
    .catch(() => {}).finally(() => hasEnded = true);
  while (sentAgain < 20) await delay(50);
  await whenNodes(pool, (nodes) => nodes.reduce((sum, { free }) => sum + free, 0) === 2 * SLOTS - 1);
  assertEquals(hasEnded, false); // the only slot in use is that of the pool's program
  stop.abort();
  await program;
});

/** The permissions of `docs/cluster.md`. */
const PERMISSIONS = `authorization { users: [
  { user: member, password: secret, permissions: {
    publish: ["paddock.default.>", "$JS.API.>", "$KV.paddock_default_nodes.>", "$KV.paddock_default_sessions.>",
      "$KV.paddock_default_image_hashes.>", "$O.paddock_default_states.>", "$O.paddock_default_images.>"]
    subscribe: ["paddock.default.>", "_INBOX.>"]
  } }
  { user: other, password: other, permissions: {
    publish: { deny: ["paddock.>", "$JS.>", "$KV.>", "$O.>"] }
    subscribe: { deny: ["paddock.>", "$JS.>", "$KV.>", "$O.>", "_INBOX.>"] }
  } }
] }
`;

Deno.test(
  "members need the permissions of the docs alone, and another user then sees nothing",
  options,
  async () => {
    await using nats = await NatsServer.start({ config: PERMISSIONS });
    const as = (user: string, password: string) => nats.url.replace("//", `//${user}:${password}@`);
    const member = as("member", "secret");
    await using folder = await TempFolder.of();
    const key = join(folder.path, "key");
    await Deno.writeFile(key, crypto.getRandomValues(new Uint8Array(32)));
    await using stranger = await Stranger.connect({ url: nats.url }, { user: "other", pass: "other" });
    await stranger.record();
    await using _node = await Serving.start(
      "--nats",
      member,
      "--max-sessions",
      "3",
      "--checkpoint-key-file",
      key,
    );
    await using sessions = await ClusterSessions.connect({ servers: member });
    while (!sessions.nodes.some(({ free }) => free === 3)) await delay(50);
    await using lease = await sessions.acquire({ checkpointEvery: "exec" });
    assertEquals(await valueOf(lease.session.exec("7 * 6")), "42");
    const copy = await lease.session.checkpoint();
    await using other = await sessions.acquire({ from: copy });
    assertEquals(await valueOf(other.session.exec("6 * 7")), "42");
    const shared = await sessions.share(lease, {});
    assert(await sessions.join(shared.id, ""));
    await stranger.nats.flush();
    assertEquals(stranger.seen.map(({ subject }) => subject), []);
  },
);

Deno.test("members with another key are not seen, and the error names the option", options, async () => {
  await using nats = await NatsServer.start();
  await using folder = await TempFolder.of();
  const keyFile = join(folder.path, "key");
  await Deno.writeFile(keyFile, crypto.getRandomValues(new Uint8Array(32)));
  await using _node = await startNode(nats, "--cluster-key-file", keyFile);
  await using right = await NatsPool.connect({ servers: nats.url, key: await Deno.readFile(keyFile) });
  await whenNodes(right, (nodes) => nodes.length === 1);
  await using wrong = await NatsPool.connect({ servers: nats.url, waitMs: 100 });
  assertEquals(wrong.nodes, []);
  await assertRejects(() => wrong.acquire(), PoolFullError, "give all members the same --cluster-key-file");
  await using gateway = await Serving.start("--cluster", nats.url);
  assertStringIncludes(gateway.startLog, "0 nodes");
  assertStringIncludes(gateway.startLog, "give all members the same --cluster-key-file");
  const short = join(folder.path, "short");
  await Deno.writeTextFile(short, "short");
  const run = async (path: string) => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", CLI, "cluster", "--nats", nats.url, "--cluster-key-file", path],
      env: { NO_COLOR: "1" },
    }).output();
    return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
  };
  assertStringIncludes((await run(keyFile)).text, "1 node");
  const refused = await run(short);
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.text, "must have at least 32 bytes: it has 5");
});
