import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { forMs, runLoad } from "../../bench/load.ts";
import { childrenOf } from "../../bench/processes.ts";
import { ownProgram, runCode } from "../../bench/run_code.ts";
import { Serving } from "../../bench/serving.ts";
import { SandboxLostError } from "../../src/errors.ts";
import { ClusterNode } from "../../src/cluster/node/cluster_node.ts";
import { NatsPool } from "../../src/cluster/nats_pool.ts";
import { PaddockClient } from "../../src/client/paddock_client.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";
import { SandboxPool } from "../../src/sandbox/pool.ts";
import { CONTRACT_SIZE, SESSION_POOL_CONTRACT } from "../client/session_pool_contract.ts";
import { options, print, SLOTS, startNode, whenNodes } from "./cluster.ts";
import { NatsServer } from "./nats_server.ts";

/** Milliseconds within which a lost call must be reported. */
const REPORT_MS = 2_000;

Deno.test(
  "NatsPool, and PaddockClient over a gateway, fulfil the contract of a session pool",
  options,
  async (t) => {
    await using nats = await NatsServer.start();
    const profile = await loadProfile("workspace");
    await using local = new SandboxPool({ profile, size: CONTRACT_SIZE, resetMode: "rewind" });
    const servers = nats.url;
    await using node = await ClusterNode.start({
      servers,
      pool: local,
      profile,
      slots: CONTRACT_SIZE,
      rewinds: true,
    });
    await using pool = await NatsPool.connect({ servers, profile: "workspace" });
    await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === CONTRACT_SIZE));
    for (const [name, run] of Object.entries(SESSION_POOL_CONTRACT)) {
      await t.step(
        `pool: ${name}`,
        () => run(pool),
      );
    }
    for (const source of [pool, node.localPool]) {
      await t.step("fork() continues in another session, and a checkpoint in a third", async () => {
        await using lease = await source.acquire();
        await lease.session.exec("import random; random.seed(1); kept = ['a']");
        const [copy] = await lease.session.fork(1);
        assert(copy);
        const results = await Promise.all(
          [lease, copy].map(({ session }) => session.exec("(kept, random.random())")),
        );
        const values = results.map((result) => result.status === "ok" ? result.value : result.status);
        assert(
          values.every((value) => value?.startsWith("(['a'], ")) && values[0] !== values[1],
          values.join(),
        );
        await copy[Symbol.asyncDispose]();
        const numbers = [];
        for (const _ of "ab") {
          const [seeded] = await lease.session.fork(1, { seed: 7 });
          assert(seeded);
          const result = await seeded.session.exec("(random.random(), __import__('os').urandom(4))");
          numbers.push(result.status === "ok" && result.value);
          await seeded[Symbol.asyncDispose]();
        }
        assertEquals([numbers[0] !== false, numbers[1]], [true, numbers[0]]);
        const bytes = await (await lease.session.checkpoint({ owner: "me" })).toBytes();
        const from = await source.readCheckpoint(bytes, { owner: "me" });
        await assertRejects(() => source.readCheckpoint(bytes, { owner: "you" }), Error, "another owner");
        await using third = await source.acquire({ from, owner: "me" });
        assertEquals((await third.session.exec("print(kept)")).stdout, "['a']\n");
      });
    }
    await using gateway = await Serving.start("--cluster", servers, "--profile", "workspace");
    await using client = new PaddockClient({ url: gateway.url });
    for (const [name, run] of Object.entries(SESSION_POOL_CONTRACT)) {
      await t.step(
        `client: ${name}`,
        () => run(client),
      );
    }
  },
);

Deno.test(
  "kill -9 of one of three nodes with all sessions in use: each lost call is reported within 2 s, others end as usual",
  options,
  async () => {
    await using nats = await NatsServer.start();
    await using first = await startNode(nats);
    await using _second = await startNode(nats);
    await using _third = await startNode(nats);
    await using pool = await NatsPool.connect({ servers: nats.url });
    await whenNodes(pool, (nodes) => nodes.length === 3 && nodes.every(({ free }) => free === SLOTS));
    const load = { isOn: true, right: 0, wrong: 0, lost: 0, others: [] as unknown[], slowestMs: 0 };
    let killedAt = Infinity;
    const work = Array.from({ length: 9 }, async (_, worker) => {
      for (let at = 0; load.isOn; at++) {
        try {
          await using lease = await pool.acquire();
          const result = await lease.session.exec(`${worker} * 1000 + ${at}`);
          if (result.status === "ok" && result.value === `${worker * 1000 + at}`) load.right++;
          else load.wrong++;
        } catch (error) {
          if (!(error instanceof SandboxLostError)) load.others.push(error);
          load.lost++;
          load.slowestMs = Math.max(load.slowestMs, performance.now() - killedAt);
        }
      }
    });
    while (load.right < 200) await delay(20);
    let held = 0;
    const endless = Array.from({ length: 3 * SLOTS }, async () => {
      await using lease = await pool.acquire();
      held++;
      await lease.session.exec("while True: pass", { timeoutMs: 20_000 });
    }).map((call) =>
      call.then(() => "ended", (error) => error instanceof SandboxLostError ? "lost" : String(error))
    );
    load.isOn = false;
    await Promise.all(work);
    load.isOn = true;
    while (held < 3 * SLOTS) await delay(20);
    await delay(500); // all programs run
    killedAt = performance.now();
    first.child.kill("SIGKILL");
    await Promise.race(endless);
    const reportedMs = performance.now() - killedAt;
    assert(reportedMs < REPORT_MS, `reported after ${reportedMs} ms`);
    const outcomes = await Promise.all(endless);
    await print(
      `kill -9: reported after ${
        Math.round(reportedMs)
      } ms, ${load.right} right, ${load.wrong} wrong; ${outcomes}`,
    );
    assertEquals(outcomes.toSorted(), [...Array(2 * SLOTS).fill("ended"), ...Array(SLOTS).fill("lost")]);
    assertEquals([load.wrong, load.others], [0, []]);
    await using lease = await pool.acquire();
    assertEquals((await lease.session.exec("6 * 7")).status, "ok");
  },
);

Deno.test(
  "kill -9 of nats-server, and its return: nodes and pools rejoin by themselves",
  options,
  async () => {
    await using nats = await NatsServer.start();
    await using _node = await startNode(nats);
    await using pool = await NatsPool.connect({ servers: nats.url });
    await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === SLOTS));
    {
      await using lease = await pool.acquire();
      const endless = lease.session.exec("while True: pass", { timeoutMs: 20_000 });
      const lost = assertRejects(() => endless, SandboxLostError);
      await delay(200);
      const killedAt = performance.now();
      await nats.kill();
      await lost;
      assert(performance.now() - killedAt < REPORT_MS);
    }
    await nats.restart();
    const startedAt = performance.now();
    await using lease = await pool.acquire();
    assertEquals((await lease.session.exec("6 * 7")).stdout, "");
    await print(`return of nats-server: a session after ${Math.round(performance.now() - startedAt)} ms`);
  },
);

Deno.test(
  "SIGTERM of a node: its session goes on until it ends, and new ones are on the others",
  options,
  async () => {
    await using nats = await NatsServer.start();
    await using first = await startNode(nats);
    await using pool = await NatsPool.connect({ servers: nats.url });
    await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === SLOTS));
    const kept = await pool.acquire();
    await kept.session.exec("x = 1");
    await using _second = await startNode(nats);
    await whenNodes(pool, (nodes) => nodes.length === 2 && nodes.some(({ free }) => free === SLOTS));
    first.child.kill("SIGTERM");
    await whenNodes(pool, (nodes) => nodes.some(({ draining }) => draining));
    const draining = pool.nodes.find(({ draining }) => draining);
    for (let at = 0; at < 10; at++) {
      await using lease = await pool.acquire();
      assertEquals((await lease.session.exec("'x' in globals()")).status, "ok");
    }
    assertEquals(pool.nodes.find(({ id }) => id === draining?.id)?.sessions, 1);
    const result = await kept.session.exec("x + 1");
    assertEquals(result.status === "ok" && result.value, "2");
    await kept[Symbol.asyncDispose]();
    assertEquals((await first.child.status).code, 0);
  },
);

Deno.test("two clusters on one NATS do not see each other", options, async () => {
  await using nats = await NatsServer.start();
  await using _node = await startNode(nats, "--cluster-name", "one");
  await using other = await NatsPool.connect({ servers: nats.url, cluster: "two", waitMs: 1_000 });
  await using pool = await NatsPool.connect({ servers: nats.url, cluster: "one" });
  await whenNodes(pool, (nodes) => nodes.length === 1);
  assertEquals(other.nodes, []);
  await assertRejects(() => other.acquire(), Error, "no node of cluster 'two'");
});

Deno.test("exec through NATS takes little more than on its node: prints the medians", options, async () => {
  await using nats = await NatsServer.start();
  const profile = await loadProfile("serve");
  await using local = new SandboxPool({ profile, size: SLOTS, resetMode: "rewind" });
  await using node = await ClusterNode.start({
    servers: nats.url,
    pool: local,
    profile,
    slots: SLOTS,
    rewinds: true,
  });
  await using pool = await NatsPool.connect({ servers: nats.url });
  await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === SLOTS));
  await using remote = await pool.acquire();
  await using own = await node.localPool.acquire();
  const times: number[][] = [[], []];
  for (let at = 0; at < 2000; at++) {
    for (const [index, { session }] of [own, remote].entries()) {
      const startedAt = performance.now();
      assertEquals((await session.exec("1")).status, "ok");
      if (at >= 500) times[index]?.push(performance.now() - startedAt);
    }
  }
  const [ownMs = 0, remoteMs = 0] = times.map((list) => list.sort((one, two) => one - two)[list.length >> 1]);
  await print(`exec: node ${ownMs.toFixed(2)} ms, through NATS ${remoteMs.toFixed(2)} ms (medians of 1,500)`);
});

Deno.test("/run_code of a gateway, per second of CPU: prints the part of a node's own", options, async () => {
  await using nats = await NatsServer.start();
  await using node = await startNode(nats);
  await using gateway = await Serving.start("--cluster", nats.url);
  const measure = async (url: string, pids: readonly number[]) => {
    const load = (ms: number) =>
      runLoad({
        url,
        connections: 2 * SLOTS,
        goOn: forMs(ms),
        ask: (connection, number) => runCode(connection, ownProgram(number)),
      });
    await load(1_000); // V8 has compiled what runs often
    const before = await cpuSeconds(pids);
    const { times, errors } = await load(4_000);
    assertEquals(errors, []);
    return times.length / (await cpuSeconds(pids) - before);
  };
  const rounds: { own: number; remote: number }[] = [];
  for (let round = 0; round < 5; round++) {
    const own = await measure(node.url, [node.child.pid]);
    rounds.push({ own, remote: await measure(gateway.url, [node.child.pid, gateway.child.pid, nats.pid]) });
  }
  const median = (list: number[]) => list.sort((one, two) => one - two)[list.length >> 1] ?? 0;
  const own = median(rounds.map(({ own }) => own)).toFixed(0);
  const remote = median(rounds.map(({ remote }) => remote)).toFixed(0);
  const part = median(rounds.map(({ own, remote }) => remote / own)).toFixed(2);
  await print(`/run_code: node ${own}, gateway ${remote} per second of CPU; median of the part: ${part}`);
});

/** Ticks of a second in `/proc`. */
const TICKS = 100;

/** Returns the CPU time of processes and all their descendants. */
async function cpuSeconds(pids: readonly number[]): Promise<number> {
  let sum = 0;
  for (const pid of pids) {
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
    const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(Number);
    sum += (user + system) / TICKS + await cpuSeconds(await childrenOf(pid));
  }
  return sum;
}
