import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { Serving } from "../../bench/serving.ts";
import { options, print, startNode } from "./cluster.ts";
import { NatsServer } from "./nats_server.ts";

/** Milliseconds within which a lost call must be reported. */
const REPORT_MS = 2_000;
const TOKENS = ["first-token-of-16", "second-token-of-16"] as const;

interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** Sends a request to a gateway. */
async function send(
  { url }: Serving,
  method: string,
  path: string,
  { body, token = TOKENS[0] }: { body?: unknown; token?: string } = {},
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

/** Runs a program in a session, and returns its value. */
async function exec(gateway: Serving, id: string, code: string): Promise<unknown> {
  const { status, body } = await send(gateway, "POST", `/v1/sessions/${id}/exec`, { body: { code } });
  return status === 200 && body.status === "ok" ? body.value : [status, body];
}

async function open(gateway: Serving, body: object = {}): Promise<string> {
  const answer = await send(gateway, "POST", "/v1/sessions", { body });
  assertEquals(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

async function startGateway(nats: NatsServer): Promise<Serving> {
  return await Serving.start("--cluster", nats.url, "--token", ...TOKENS);
}

/** Starts NATS, nodes and two gateways, which wait until the nodes are ready. */
async function startCluster(stack: AsyncDisposableStack, nodes: number): Promise<{
  nats: NatsServer;
  nodes: Serving[];
  gateways: [Serving, Serving];
}> {
  const nats = stack.use(await NatsServer.start());
  const started: Serving[] = [];
  for (let at = 0; at < nodes; at++) started.push(stack.use(await startNode(nats)));
  const gateways: [Serving, Serving] = [
    stack.use(await startGateway(nats)),
    stack.use(await startGateway(nats)),
  ];
  return { nats, nodes: started, gateways };
}

Deno.test("a session of one gateway is used at another one, by its owner alone", options, async (t) => {
  await using stack = new AsyncDisposableStack();
  const { gateways: [one, two] } = await startCluster(stack, 2);
  const limits = { timeoutMs: 5_000 };
  const id = await open(one, { seed: 7, limits, metadata: { task: "a" } });
  await t.step("each gateway sees what the other one has done", async () => {
    await exec(one, id, "seen = []");
    for (let at = 0; at < 40; at++) {
      assertEquals(await exec(at % 2 ? one : two, id, `seen.append(${at}); len(seen)`), `${at + 1}`);
    }
    const file = { files: { "a.txt": btoa("of one") } };
    assertEquals((await send(one, "POST", `/v1/sessions/${id}/files`, { body: file })).status, 200);
    assertEquals(await exec(two, id, "open('a.txt').read()"), "'of one'");
  });
  await t.step("the other gateway knows its settings", async () => {
    const { body } = await send(two, "GET", `/v1/sessions/${id}`);
    assertEquals([body.id, body.limits, body.metadata], [id, limits, { task: "a" }]);
    const late = await send(two, "POST", `/v1/sessions/${id}/exec`, {
      body: { code: "1", timeoutMs: 5_001 },
    });
    assertEquals([late.status, late.body.error.type], [422, "invalid"]);
  });
  await t.step("another owner cannot find it", async () => {
    const body = { code: "seen" };
    const answer = await send(two, "POST", `/v1/sessions/${id}/exec`, { body, token: TOKENS[1] });
    assertEquals([answer.status, answer.body.error.type], [404, "not_found"]);
  });
  await t.step("concurrent calls of both gateways run one after the other", async () => {
    await exec(one, id, "n = 0");
    const values = await Promise.all(
      Array.from({ length: 30 }, (_, at) => exec(at % 2 ? one : two, id, "n += 1; n")),
    );
    assertEquals(values.map(Number).toSorted((a, b) => a - b), Array.from({ length: 30 }, (_, at) => at + 1));
  });
  await t.step("a reset at one gateway has its seed at the other one", async () => {
    const numbers = [];
    for (const gateway of [one, two]) {
      await send(gateway, "POST", `/v1/sessions/${id}/reset`, { body: { seed: 3 } });
      numbers.push(await exec(gateway === one ? two : one, id, "__import__('random').random()"));
    }
    assertEquals(numbers[0], numbers[1]);
  });
  await t.step("a copy is found at the other gateway, too", async () => {
    await exec(one, id, "kept = 5");
    const { body } = await send(one, "POST", `/v1/sessions/${id}/fork`, { body: { count: 1 } });
    const copy = body.sessions[0].id;
    assertEquals(await exec(two, copy, "kept"), "5");
    assertEquals((await send(two, "DELETE", `/v1/sessions/${copy}`)).status, 204);
  });
  await t.step("its end at one gateway ends it at both", async () => {
    await exec(two, id, "1");
    assertEquals((await send(one, "DELETE", `/v1/sessions/${id}`)).status, 204);
    assertEquals((await send(one, "GET", `/v1/sessions/${id}`)).status, 404);
    const answer = await send(two, "POST", `/v1/sessions/${id}/exec`, { body: { code: "1" } });
    assertEquals([answer.status, answer.body.error.type], [409, "conflict"]);
  });
});

Deno.test("sessions go on at another gateway when theirs stops or is killed", options, async () => {
  await using stack = new AsyncDisposableStack();
  const { nats, gateways: [one, two] } = await startCluster(stack, 2);
  const id = await open(one);
  assertEquals(await exec(one, id, "x = 1"), undefined);
  one.child.kill("SIGKILL");
  await one.child.status;
  assertEquals(await exec(two, id, "x += 1; x"), "2");
  await delay(12_000); // the node has missed the first gateway
  assertEquals(await exec(two, id, "x += 1; x"), "3");
  two.child.kill("SIGTERM");
  assertEquals((await two.child.status).code, 0);
  await using three = await startGateway(nats);
  assertEquals(await exec(three, id, "x += 1; x"), "4");
  assertEquals((await send(three, "DELETE", `/v1/sessions/${id}`)).status, 204);
});

Deno.test(
  "kill -9 of a node: a session with checkpointEvery continues at both gateways as one session",
  options,
  async () => {
    await using stack = new AsyncDisposableStack();
    const nats = stack.use(await NatsServer.start());
    const node = stack.use(await startNode(nats));
    const one = stack.use(await startGateway(nats));
    const id = await open(one, { checkpointEvery: "exec" });
    await exec(one, id, "n = 0");
    stack.use(await startNode(nats));
    const two = stack.use(await startGateway(nats));
    for (let at = 1; at <= 10; at++) assertEquals(await exec(at % 2 ? one : two, id, "n += 1; n"), `${at}`);
    const killedAt = performance.now();
    node.child.kill("SIGKILL");
    const lost = await Promise.all(
      [one, two].map((gateway) => send(gateway, "POST", `/v1/sessions/${id}/exec`, { body: { code: "n" } })),
    );
    const reportedMs = performance.now() - killedAt;
    for (const { status, body } of lost) {
      // A call that its node has received is reported as lost. One after it continues.
      assert(status === 503 || status === 200 && body.value === "10", JSON.stringify(body));
    }
    assert(lost.every(({ status }) => status === 200) || reportedMs < REPORT_MS, `after ${reportedMs} ms`);
    const values = await Promise.all(
      Array.from({ length: 20 }, (_, at) => exec(at % 2 ? one : two, id, "n += 1; n")),
    );
    assertEquals(
      values.map(Number).toSorted((a, b) => a - b),
      Array.from({ length: 20 }, (_, at) => at + 11),
    );
    const three = stack.use(await startGateway(nats));
    assertEquals(await exec(three, id, "n"), "30");
    await print(`kill -9 of a node behind two gateways: reported after ${Math.round(reportedMs)} ms`);
    const { body } = await send(three, "GET", `/v1/sessions/${id}`);
    assertEquals(body.checkpointEvery, "exec");
  },
);
