import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { fileURLToPath } from "node:url";
import { options, startNode } from "./cluster.ts";
import { installNatsServer, NatsServer } from "./nats_server.ts";

const CLI = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));
const decoder = new TextDecoder();

function command(args: readonly string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", CLI, ...args],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  });
}

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await command(args).output();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

Deno.test("paddock cluster shows the nodes, and drains one", options, async () => {
  await using nats = await NatsServer.start();
  const at = ["--nats", nats.url];
  assertEquals(
    (await run("cluster", ...at)).stdout,
    "Cluster 'default' has no nodes: start one with 'paddock serve --nats URL'\n",
  );
  await using _node = await startNode(nats);
  const shown = await run("cluster", ...at, "--json");
  const node = JSON.parse(shown.stdout);
  assertEquals([node.slots, node.profile.name, node.draining], [2, "serve", false]);
  assertStringIncludes((await run("cluster", ...at)).stdout, `${node.id}  `);
  const wrong = await run("cluster", "drain", "aaaaaaaaaa", ...at);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.stderr, node.id);
  assertEquals((await run("cluster", "drain", node.id, ...at)).code, 0);
  assertMatch((await run("cluster", ...at)).stdout, /draining/);
});

Deno.test(
  "paddock cluster reports a NATS that is not there, and one without JetStream",
  options,
  async () => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr as Deno.NetAddr;
    listener.close();
    for (const args of [["cluster"], ["serve", "--port", "0"]]) {
      const { code, stderr } = await run(...args, "--nats", `nats://127.0.0.1:${port}`);
      assertEquals(code, 125);
      assertStringIncludes(
        stderr,
        `NATS must accept a connection at nats://127.0.0.1:${port}: connection refused`,
      );
    }
    await using server = new Deno.Command(await installNatsServer(), {
      args: ["-a", "127.0.0.1", "-p", `${port}`],
      stdout: "null",
      stderr: "null",
    }).spawn();
    let found = await run("cluster", "--nats", `nats://127.0.0.1:${port}`);
    while (found.stderr.includes("refused")) {
      found = await run(
        "cluster",
        "--nats",
        `nats://127.0.0.1:${port}`,
      );
    }
    assertEquals(found.code, 125);
    assertStringIncludes(found.stderr, "NATS must have JetStream");
    server.kill("SIGKILL");
  },
);

Deno.test("Ctrl-C ends commands that wait for a NATS that says nothing", options, async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `nats://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`;
  for (const args of [["cluster", "--nats"], ["serve", "--nats"], ["serve", "--cluster"]]) {
    const child = command([...args, url]).spawn();
    using _connection = await listener.accept(); // it waits for the first message of NATS
    await delay(500);
    const killedAt = performance.now();
    child.kill("SIGINT");
    assertEquals((await child.output()).code, 130, args.join(" "));
    assertEquals(performance.now() - killedAt < 5_000, true, args.join(" "));
  }
});
