import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Caller } from "../../src/cluster/caller.ts";
import { ClusterMetrics } from "../../src/cluster/cluster_metrics.ts";
import type { Received } from "../../src/cluster/nats/nats_peer.ts";
import { Seal } from "../../src/cluster/nats/seal.ts";
import { Subjects } from "../../src/cluster/nats/subjects.ts";

const node = {
  id: "abcdefghij",
  host: 'a"b',
  profile: { name: "serve" },
  slots: 4,
  free: 1,
  sessions: 3,
  draining: true,
  execs: 7,
  invalid: 0,
};

Deno.test("ClusterMetrics.format() has the load of each node and the calls that wait at all callers", () => {
  const subjects = new Subjects("default", new Seal(new Uint8Array(32), "default"));
  const receivers = new Map<string, (received: Received) => void>();
  const peer = {
    subjects,
    invalid: 0,
    receive: (subject: string, receiver: (received: Received) => void) => receivers.set(subject, receiver),
  };
  const caller = { peer, directory: { properties: [node, { ...node, id: "klmnopqrst", draining: false }] } };
  const metrics = new ClusterMetrics(caller as unknown as Caller);
  const send = (head: Record<string, unknown> & { id: string }, sender = head.id) =>
    receivers.get(subjects.callerBeat())?.({ head, sender, parts: [], bytes: 1 });
  send({ id: "aaaaaaaaaa", epoch: 1, waiting: 5 });
  send({ id: "bbbbbbbbbb", epoch: 1, waiting: 2 });
  send({ id: "aaaaaaaaaa", epoch: 1, waiting: 3 });
  send({ id: "cccccccccc", epoch: 1, waiting: -1 });
  send({ id: "dddddddddd", epoch: 1, waiting: 1, more: 1 });
  send({ id: "aaaaaaaaaa", epoch: 1, waiting: 9 }, "bbbbbbbbbb");
  const text = metrics.format();
  for (
    const line of [
      "paddock_cluster_nodes 2",
      'paddock_cluster_slots{node="abcdefghij",host="a\\"b",profile="serve"} 4',
      'paddock_cluster_draining{node="abcdefghij",host="a\\"b",profile="serve"} 1',
      'paddock_cluster_draining{node="klmnopqrst",host="a\\"b",profile="serve"} 0',
      'paddock_cluster_execs_total{node="klmnopqrst",host="a\\"b",profile="serve"} 7',
      "# TYPE paddock_cluster_execs_total counter",
      "paddock_cluster_callers 2",
      "paddock_cluster_waiting 5",
    ]
  ) assertStringIncludes(text, `${line}\n`);
  assertEquals(peer.invalid, 3);
});
