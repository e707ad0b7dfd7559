import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { formatNodes } from "../../../src/cli/cluster/cluster_command.ts";
import { toPeerOptions } from "../../../src/cli/cluster/nats_options.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import type { NodeProperties } from "../../../src/cluster/nodes_bucket.ts";

const node: NodeProperties = {
  id: "abcdefghij",
  version: "0.1.0",
  host: "one",
  profile: {
    name: "serve",
    sha256: "0".repeat(64),
    hostTools: true,
    shell: false,
    timeoutMs: 10_000,
    memoryBytes: 1,
    outputBytes: 1,
  },
  image: "0".repeat(64),
  key: "0".repeat(64),
  slots: 4,
  free: 1,
  sessions: 3,
  draining: false,
  execs: 12,
  invalid: 0,
  startedAt: 0,
};

Deno.test("formatNodes() shows each node and the sums", () => {
  const nodes = [node, { ...node, id: "klmnopqrst", draining: true, slots: 8 }];
  assertEquals(
    formatNodes(nodes, { cluster: "default", nowMs: 90_000 }),
    `NODE        HOST  PROFILE  SLOTS  FREE  SESSIONS  EXECS  STATE     AGE  VERSION
abcdefghij  one   serve    4      1     3         12     ready     90s  0.1.0
klmnopqrst  one   serve    8      1     3         12     draining  90s  0.1.0
2 nodes, 12 slots, 2 free, 6 sessions of the cluster
`,
  );
  assertStringIncludes(formatNodes([], { cluster: "a", nowMs: 0 }), "paddock serve --nats");
});

Deno.test("toPeerOptions() refuses other URLs and names, and does not repeat a password", async () => {
  assertEquals((await toPeerOptions("nats://a:1,tls://b:2", {})).cluster, "default");
  for (const url of ["http://a", "a:1", "", "nats://"]) {
    await assertRejects(() => toPeerOptions(url, {}), UsageError, "nats://127.0.0.1:4222");
  }
  const error = await assertRejects(() => toPeerOptions("http://me:secret@a", {}), UsageError);
  assertEquals(error.message.includes("secret"), false);
  await assertRejects(() => toPeerOptions("nats://a", { clusterName: "a.b" }), UsageError, "'a.b'");
  await assertRejects(() => toPeerOptions("nats://a", { natsNkey: "/nonexistent/seed" }), UsageError);
});
