import { assertEquals, assertThrows } from "@std/assert";
import { Budget, Budgets } from "../../../src/server/admission/budget.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import { ok } from "../../fake_pool.ts";
import { served } from "../served.ts";

const options = { unit: "bytes", advice: "raise --x" };

Deno.test("Budget.take() lets a single owner take all", () => {
  const budget = new Budget({ ...options, total: 100 });
  using lease = budget.take("", 60);
  lease.grow(40);
  assertEquals([budget.used(), budget.available("")], [100, 0]);
  assertThrows(() => budget.take("", 1), ServerError, "Cannot take 1 more bytes as you may hold 100 now");
  lease.resize(10);
  assertEquals(budget.available(""), 90);
});

Deno.test("Budget.take() reserves a share for every other owner", () => {
  const budget = new Budget({ ...options, total: 100, owners: 2 });
  using _first = budget.take("a", 75);
  assertEquals(assertThrows(() => budget.take("a", 1), ServerError).code, "busy");
  assertEquals(assertThrows(() => budget.take("a", 76), ServerError).code, "too_large");
  using second = budget.take("b", 25);
  assertEquals(assertThrows(() => second.grow(1), ServerError).code, "busy");
  assertEquals([budget.used("a"), budget.used("b")], [75, 25]);
});

Deno.test("Budget.take() gives back what a lease held, once", () => {
  const budget = new Budget({ ...options, total: 100, owners: 2 });
  const lease = budget.take("a", 50);
  lease[Symbol.dispose]();
  lease[Symbol.dispose]();
  lease.grow(10);
  assertEquals([budget.used(), budget.available("a"), budget.available("b")], [0, 75, 75]);
});

Deno.test("Budget.hold() takes what an owner has already, and leaves no room for others", () => {
  const budget = new Budget({ ...options, total: 100, owners: 2 });
  using lease = budget.hold("a", 120);
  assertEquals([budget.used(), budget.available("a"), budget.available("b")], [120, 0, 0]);
  assertEquals(assertThrows(() => budget.take("b", 1), ServerError).code, "busy");
  lease.resize(10);
  assertEquals([budget.available("a"), budget.available("b")], [65, 75]);
});

Deno.test("Budget.take() leaves the amount that others hold, and no share is reserved for them", () => {
  let held = 30;
  const budget = new Budget({ ...options, total: 100, owners: 2, heldByOthers: () => held });
  assertEquals([budget.used(), budget.used("a"), budget.available("a")], [30, 0, 45]);
  using _lease = budget.take("a", 45);
  assertEquals(budget.available("b"), 25);
  held = 0;
  assertEquals([budget.used(), budget.available("b")], [45, 55]);
});

Deno.test("Budget.take() shares a few places among more owners, and never gives one owner all", () => {
  const budget = new Budget({ ...options, total: 4, owners: 8 });
  const taken = ["a", "b", "c"].map((owner) => {
    let count = 0;
    for (; budget.available(owner) > 0; count++) budget.take(owner, 1);
    return count;
  });
  assertEquals(taken, [2, 1, 1]);
  assertEquals(new Budget({ ...options, total: 1, owners: 3 }).available("a"), 1);
});

Deno.test("Budget.take() changes nothing when it throws", () => {
  const budget = new Budget({ ...options, total: 100, owners: 2 });
  using lease = budget.take("a", 70);
  assertThrows(() => lease.grow(20), ServerError);
  assertEquals([budget.used(), budget.used("a")], [70, 70]);
});

const MINE = { authorization: "Bearer first-token-of-16" };
const THEIRS = { authorization: "Bearer second-token-of-16" };
const TOKENS = { tokens: ["first-token-of-16", "second-token-of-16"] };

Deno.test("BudgetLease.retake() takes the same amount again, unless others have it meanwhile", () => {
  const budget = new Budget({ ...options, total: 100 });
  using lease = budget.take("", 60);
  lease.free();
  assertEquals(budget.used(), 0);
  {
    using _other = budget.take("", 50);
    assertThrows(() => lease.retake(), ServerError);
    assertEquals(budget.used(), 50);
  }
  lease.retake();
  lease.retake();
  assertEquals(budget.used(), 60);
  lease[Symbol.dispose]();
  lease.retake();
  assertEquals(budget.used(), 0);
});

Deno.test("Budget.takeAll() takes amounts of all budgets or of none, and holdAll() also what has no room", () => {
  const [count, bytes] = [1, 100].map((total) => new Budget({ ...options, total }));
  if (!count || !bytes) throw new Error("there are two budgets");
  const used = () => [count.used("a"), bytes.used("a")];
  assertThrows(() => Budget.takeAll("a", [[count, 1], [bytes, 101]]), ServerError);
  assertEquals(used(), [0, 0]);
  using room = Budget.takeAll("a", [[count, 1], [bytes, 80]]);
  assertThrows(() => Budget.takeAll("a", [[bytes, 10], [count, 1]]), ServerError);
  assertEquals(used(), [1, 80]);
  room.free();
  using _held = Budget.holdAll("a", [[count, 2], [bytes, 30]]);
  assertThrows(() => room.retake(), ServerError);
  assertEquals(used(), [2, 30]);
});

Deno.test("one token's requests with an id evict none of another token's responses", async () => {
  let runs = 0;
  await using server = served({
    ...TOKENS,
    maxSessions: 4,
    python: () => ok(`${runs++}`),
    budgets: new Budgets({ bytes: 80_000, owners: 2 }), // room for some 14 responses of one token
  });
  const run = async (id: string, token: HeadersInit) => {
    const headers = { ...token, "x-request-id": id };
    return (await server.send("POST", "/v1/exec:batch", { items: [{ code: "1" }] }, headers)).body;
  };
  const first = await run("1", MINE);
  for (let id = 1; id <= 40; id++) await run(`${id}`, THEIRS);
  const ran = runs;
  assertEquals(await run("1", MINE), first);
  assertEquals(await run("40", THEIRS), {
    results: [{ ...first.results[0], result: { ...first.results[0].result, stdout: "40" } }],
  });
  assertEquals(runs, ran);
  await run("1", THEIRS); // evicted by the token's own later ones
  assertEquals(runs, ran + 1);
});

Deno.test("one token's envs and clients leave room for another token", async () => {
  await using server = served({ ...TOKENS, maxEnvs: 2, budgets: new Budgets({ owners: 2 }) });
  const createEnv = async (token: HeadersInit) => (await server.send("POST", "/v1/envs", {}, token)).status;
  assertEquals([await createEnv(MINE), await createEnv(MINE), await createEnv(THEIRS)], [201, 429, 201]);
});

Deno.test("the conversations of envs take memory, and an env whose conversation finds none ends", async () => {
  const budgets = new Budgets({ bytes: 8_000 });
  await using server = served({ budgets, python: () => ok("x".repeat(4_000)) });
  const { body: { id } } = await server.send("POST", "/v1/envs", { env: "python" });
  const path = `/v1/envs/${id}`;
  const reply = { reply: "```python\n1\n```" };
  await server.send("POST", `${path}/reset`, { task: { query: "?" } });
  const refused = await server.send("POST", `${path}/step`, { reply: "x".repeat(4_000) });
  assertEquals([refused.status, refused.body.error.message.includes("more buffer memory")], [413, true]);
  const ended = await server.send("POST", `${path}/step`, reply);
  assertEquals([ended.status, (await server.send("GET", path)).status], [413, 404]);
  assertEquals(budgets.kept.used(), 0);
});

Deno.test("/metrics shows a token its own figures, and all figures to the operator's token", async () => {
  await using server = served({
    ...TOKENS,
    maxSessions: 4,
    metricsToken: "operator",
    budgets: new Budgets({ owners: 2 }),
  });
  await server.send("POST", "/v1/sessions", {}, THEIRS);
  await server.send("POST", "/v1/exec:batch", { items: [{ code: "1" }] }, THEIRS);
  const read = async (headers: HeadersInit) => {
    const { body } = await server.send("GET", "/metrics", undefined, headers);
    const samples = ["paddock_sessions ", 'paddock_execs_total{status="ok"} ', "paddock_exec_seconds_count "];
    return samples.map((sample) =>
      body.split("\n").find((line: string) => line.startsWith(sample))?.slice(sample.length)
    );
  };
  assertEquals(await read(MINE), ["0", undefined, undefined]);
  assertEquals(await read(THEIRS), ["1", "1", "1"]);
  assertEquals(await read({ authorization: "Bearer operator" }), ["1", "1", "1"]);
  const other = await server.send("GET", "/v1/sessions", undefined, { authorization: "Bearer operator" });
  assertEquals(other.status, 401);
});
