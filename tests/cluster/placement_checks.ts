import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { childrenOf } from "../../bench/processes.ts";
import { Serving } from "../../bench/serving.ts";
import { options, print, SLOTS, startNode } from "./cluster.ts";
import { NatsServer } from "./nats_server.ts";

const NODES = 3;
const CASE_MS = 10_000;
const SHORT_MS = 40;
const LONG_MS = 1_000;

/** A load on two gateways. */
interface Case {
  /** Clients of each gateway, which send their next program after each result. */
  readonly clients: readonly [number, number];
  /** Part of the programs that take long. */
  readonly longPart: number;
  /** True if one node is stopped for half of the time. */
  readonly hasSlowNode: boolean;
}

const CASES: Readonly<Record<string, Case>> = {
  "as many clients as slots": { clients: [3, 3], longPart: 0, hasSlowNode: false },
  "twice as many": { clients: [6, 6], longPart: 0, hasSlowNode: false },
  "the same, 5 % of the programs take 1 s": { clients: [6, 6], longPart: 0.05, hasSlowNode: false },
  "the same, one node stands still half of the time": { clients: [6, 6], longPart: 0, hasSlowNode: true },
  "one client at one gateway, 11 at the other": { clients: [1, 11], longPart: 0, hasSlowNode: false },
};

/** What one client has seen. */
interface Seen {
  readonly queueMs: number[];
  busyMs: number;
}

async function runClient(url: string, { longPart }: Case, isOn: () => boolean): Promise<Seen> {
  const seen: Seen = { queueMs: [], busyMs: 0 };
  while (isOn()) {
    const ms = Math.random() < longPart ? LONG_MS : SHORT_MS;
    const sentAt = performance.now();
    const response = await fetch(`${url}/v1/exec`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: `import time; time.sleep(${ms / 1000}); ${ms}` }),
    });
    const result = await response.json();
    assertEquals([response.status, result.status, result.valueJson], [200, "ok", ms], JSON.stringify(result));
    seen.queueMs.push(performance.now() - sentAt - result.durationMs);
    seen.busyMs += result.durationMs;
  }
  return seen;
}

/** Stops a process and its descendants for half of the time, until `isOn` is false. */
async function slowDown(pid: number, isOn: () => boolean): Promise<void> {
  const pids = await descendants(pid);
  const signal = (name: Deno.Signal) => {
    for (const one of pids) Deno.kill(one, name);
  };
  while (isOn()) {
    signal("SIGSTOP");
    await delay(200);
    signal("SIGCONT");
    await delay(200);
  }
}

async function descendants(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [pid, ...(await Promise.all(children.map(descendants))).flat()];
}

/** Returns the values of a metric, of each node in the order of their ids. */
async function readMetric(url: string, name: string): Promise<number[]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .sort().map((line) => Number(line.slice(line.lastIndexOf(" ") + 1)));
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? NaN;
}

Deno.test(
  "queue times and imbalance of three nodes behind two gateways: prints a table",
  options,
  async (t) => {
    await using nats = await NatsServer.start();
    await using stack = new AsyncDisposableStack();
    const nodes: Serving[] = [];
    for (let at = 0; at < NODES; at++) nodes.push(stack.use(await startNode(nats)));
    const gateways: Serving[] = [];
    for (const _ of "ab") gateways.push(stack.use(await Serving.start("--cluster", nats.url)));
    const [first, second] = gateways;
    assert(first && second);
    while ((await readMetric(second.url, "paddock_cluster_free")).join() !== "2,2,2") await delay(100);
    await print("| load | programs/s | queue ms: median, p95, max | slots in use | programs of each node |");
    for (const [title, load] of Object.entries(CASES)) {
      await t.step(title, async () => {
        const before = await readMetric(first.url, "paddock_cluster_execs_total");
        const startedAt = performance.now();
        const isOn = () => performance.now() - startedAt < CASE_MS;
        const slow = load.hasSlowNode ? slowDown(nodes[0]?.child.pid ?? 0, isOn) : undefined;
        const clients = gateways.flatMap(({ url }, at) =>
          Array.from({ length: load.clients[at] ?? 0 }, () => runClient(url, load, isOn))
        );
        await delay(CASE_MS / 2);
        const waiting = await readMetric(second.url, "paddock_cluster_waiting");
        const seen = await Promise.all(clients);
        await slow;
        const seconds = (performance.now() - startedAt) / 1000;
        const queueMs = seen.flatMap(({ queueMs }) => queueMs).sort((one, other) => one - other);
        const countEach = async () =>
          (await readMetric(second.url, "paddock_cluster_execs_total")).map((n, at) => n - (before[at] ?? 0));
        let each = await countEach();
        while (each.reduce((sum, count) => sum + count, 0) < queueMs.length) {
          await delay(100); // the next heartbeats count all programs
          each = await countEach();
        }
        const used = seen.reduce((sum, { busyMs }) => sum + busyMs, 0) / 1000 / seconds / (NODES * SLOTS);
        assertEquals(each.reduce((sum, count) => sum + count, 0), queueMs.length);
        assertEquals(waiting.length, 1);
        const [median, p95, max] = [0.5, 0.95, 1].map((part) => Math.round(quantile(queueMs, part)));
        await print(
          `| ${title} | ${(queueMs.length / seconds).toFixed(0)} | ${median}, ${p95}, ${max} | ${
            (100 * used).toFixed(0)
          } % | ${each.toSorted((one, other) => other - one).join(", ")} |`,
        );
        const perGateway = load.clients.map((count, at) => {
          const from = at === 0 ? 0 : load.clients[0];
          const times = seen.slice(from, from + count).flatMap(({ queueMs }) => queueMs);
          return Math.round(quantile(times.sort((one, other) => one - other), 0.5));
        });
        if (load.clients[0] !== load.clients[1]) {
          await print(`medians of the gateways: ${perGateway.join(", ")} ms`);
        }
      });
    }
  },
);
