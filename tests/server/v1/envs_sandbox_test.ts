import { assertEquals, assertObjectMatch, assertStringIncludes } from "@std/assert";
import { z } from "zod";
import { numberMatch, tool } from "../../../mod.ts";
import { SandboxError } from "../../../src/errors.ts";
import { FakePool, type FakePython, ok } from "../../fake_pool.ts";
import { type Served, served, type TestResponse } from "../served.ts";
import { withPython } from "../with_python.ts";

const graders = new Map([["number_match", () => numberMatch()]]);
const tasks = [{ id: "a", query: "What is 6 times 7?", answer: "42" }, { id: "b", query: "2?", answer: 2 }];

const add = tool({
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
});

/** Counts in the variable `n`. The program `sleep` runs until it is aborted. */
const python: FakePython = (code, globals, { signal }) => {
  globals.set("n", (globals.get("n") ?? 0) + 1);
  if (code !== "sleep") return ok(`${globals.get("n")}\n`);
  const { promise, reject } = Promise.withResolvers<never>();
  signal?.addEventListener("abort", () => reject(signal.reason));
  return promise;
};

const block = (code: string) => `\`\`\`python\n${code}\n\`\`\``;

async function createEnv(server: Served, config: object = {}, headers?: HeadersInit): Promise<string> {
  const { status, body } = await server.send("POST", "/v1/envs", config, headers);
  assertEquals([status, body.id?.length], [201, 32]);
  return `/v1/envs/${body.id}`;
}

function lastMessage({ body }: TestResponse): string {
  return body.observation.messages.at(-1).content;
}

/** Calls the first tool that the block was given. */
const calling: FakePython = async (
  _code,
  _globals,
  { tools = [], signal = new AbortController().signal },
) => {
  const [first] = tools;
  const value = await first?.run({ a: 1, b: 2 }, { signal });
  return ok(`${first?.python?.alias ?? first?.name}: ${(value as { json?: string })?.json}\n`);
};

Deno.test("/v1/envs lets code call the tools of the server", async () => {
  await using server = served({ python: calling, tools: [add] });
  const options = { env: "python", tools: ["add"], toolCallers: ["code"], toolNames: "functions" };
  const path = await createEnv(server, options);
  const { body: { observation } } = await server.send("POST", `${path}/reset`, { task: { query: "q" } });
  assertEquals(observation.tools, undefined);
  assertStringIncludes(observation.messages[0].content, "def add(a: float, b: float) -> Any:");
  const step = await server.send("POST", `${path}/step`, { reply: block("add(1, 2)") });
  assertStringIncludes(lastMessage(step), "add: 3");
  const [call] = step.body.toolResults[0].calls;
  assertObjectMatch(call, {
    caller: "code",
    tool: "add",
    status: "ok",
    arguments: { a: 1, b: 2 },
    result: "3",
  });
  const wrong = await server.send("POST", "/v1/envs", { ...options, env: "tools" });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.body.error.message, "toolCallers: an env of kind 'tools' runs no code");
  assertEquals((await server.send("POST", "/v1/envs", { ...options, toolCallers: [] })).status, 422);
});

Deno.test("/v1/envs runs the tasks of a config in order, with Python and a grader", async () => {
  await using server = served({ python, graders });
  const path = await createEnv(server, {
    tasks,
    grader: "number_match",
    systemPrompt: "Be brief.",
    maxTurns: 4,
  });
  const { body: first } = await server.send("POST", `${path}/reset`, {});
  assertEquals(first.observation, {
    taskId: "a",
    turns: 0,
    messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "What is 6 times 7?" }],
  });
  const ran = await server.send("POST", `${path}/step`, { reply: block("6 * 7") });
  assertEquals(ran.status, 200);
  assertObjectMatch(ran.body, { reward: null, terminated: false, truncated: false });
  assertObjectMatch(ran.body.toolResults[0], { turn: 1, tool: "python", status: "ok", stateKept: true });
  assertEquals(lastMessage(ran), "Code block 1 executed successfully:\n1\n");
  assertEquals(
    lastMessage(await server.send("POST", `${path}/step`, { reply: { content: block("n") } })).at(-2),
    "2",
  );
  const { body: last } = await server.send("POST", `${path}/step`, { reply: "It is 42." });
  assertObjectMatch(last, { reward: 1, rewardParts: { number_match: 1 }, terminated: true });
  assertEquals(server.pool.alive, 0);
  const { body: state } = await server.send("GET", path);
  assertObjectMatch(state, {
    env: "python",
    tasks: 2,
    observation: null,
    episode: { taskId: "a", turns: 3, reward: 1, terminated: true, truncated: false },
  });
  assertEquals((await server.send("POST", `${path}/step`, { reply: "more" })).status, 409);
  const ids = [];
  for (let count = 0; count < 2; count++) {
    ids.push((await server.send("POST", `${path}/reset`, {})).body.observation.taskId);
  }
  assertEquals(ids, ["b", "a"]);
  assertEquals(JSON.stringify(state).includes("answer"), false);
});

Deno.test("/v1/envs truncates an episode at its turn limit and uses the task of a reset", async () => {
  await using server = served({ python });
  const path = await createEnv(server, { maxTurns: 1 });
  assertEquals(
    (await server.send("POST", `${path}/reset`, {})).body.error.message,
    [
      "task: required, since the env has no tasks",
    ][0],
  );
  const query = [{ role: "user", content: "a" }, { role: "assistant", content: "b" }, {
    role: "user",
    content: "c",
  }];
  const { body } = await server.send("POST", `${path}/reset`, { task: { query }, seed: 1 });
  assertEquals(body.observation, { taskId: "task", turns: 0, messages: query });
  const step = await server.send("POST", `${path}/step`, { reply: block("1") });
  assertObjectMatch(step.body, { terminated: false, truncated: true, reward: null });
});

Deno.test("/v1/envs runs only the tools that its config names", async () => {
  const other = { ...add, name: "other" };
  await using server = served({ tools: [add, other] });
  const path = await createEnv(server, { env: "tools", calls: "openai", tools: ["add"] });
  const { body } = await server.send("POST", `${path}/reset`, { task: { query: "1 + 2?" } });
  assertEquals(body.observation.tools.map(({ name }: { name: string }) => name), ["add"]);
  const call = (name: string) =>
    server.send("POST", `${path}/step`, {
      reply: `<tool_call>{"name": "${name}", "arguments": {"a": 1, "b": 2}}</tool_call>`,
    });
  assertStringIncludes(lastMessage(await call("add")), "3");
  assertObjectMatch((await call("other")).body.toolResults[0], { status: "unknown_tool" });
  const tool_calls = [{
    id: "x",
    type: "function",
    function: { name: "add", arguments: '{"a": 3, "b": 4}' },
  }];
  const native = await server.send("POST", `${path}/step`, { reply: { content: null, tool_calls } });
  assertObjectMatch(native.body.observation.messages.at(-1), { content: "7", tool_call_id: "x" });
});

Deno.test("/v1/envs reports unknown tools, graders and options of a config", async () => {
  await using server = served({ graders, tools: [add] });
  const failure = async (config: object) => {
    const { status, body } = await server.send("POST", "/v1/envs", config);
    return [status, body.error.message];
  };
  assertEquals(await failure({ env: "tools", tools: ["rm"] }), [422, "tools must be of add"]);
  assertEquals(await failure({ env: "chat", tools: ["add"] }), [
    422,
    "tools: an env of kind 'chat' has no tools",
  ]);
  assertEquals(await failure({ grader: "toString" }), [422, "grader must be one of number_match"]);
  assertStringIncludes(`${(await failure({ calls: "toString" }))[1]}`, "calls must be one of tag, xml");
  assertStringIncludes(`${(await failure({ dataset: "/etc/passwd" }))[1]}`, "unknown key");
  const statuses = [];
  for (const config of [{ maxTurns: 0 }, { maxTurns: 1e9 }, { timeoutMs: 0 }, { tasks: [{ query: 1 }] }]) {
    statuses.push((await failure(config))[0]);
  }
  assertEquals(statuses, [422, 422, 422, 422]);
  assertEquals(server.envs.list(""), []);
});

Deno.test("/v1/envs reports invalid tasks and replies", async () => {
  await using server = served({ python });
  const path = await createEnv(server);
  const reset = async (query: unknown) => {
    const { status, body } = await server.send("POST", `${path}/reset`, { task: { query } });
    return [status, body.error?.type];
  };
  assertEquals(await reset(""), [422, "invalid"]);
  assertEquals(await reset([]), [422, "invalid"]);
  assertEquals(await reset([{ role: "user", content: 1 }]), [422, "invalid"]);
  assertEquals((await reset("?"))[0], 200);
  const tool_calls = [{ name: 1 }];
  const wrong = await server.send("POST", `${path}/step`, { reply: { content: "", tool_calls } });
  assertEquals([wrong.status, wrong.body.error.type], [422, "invalid"]);
  assertEquals((await server.send("POST", `${path}/step`, { reply: "x".repeat(1 << 21) })).status, 413);
  const reply = block("1\n```\n```python\n".repeat(70));
  const limited = await server.send("POST", `${path}/step`, { reply });
  assertStringIncludes(lastMessage(limited), "were not run: a reply may run 64 blocks");
  assertEquals((await server.send("POST", `${path}/step`, { reply: "still on" })).status, 200);
});

Deno.test("/v1/envs/step:batch returns outcomes in order, each with its own status", async () => {
  await using server = served({ python, graders });
  const paths = await Promise.all([0, 1].map(() => createEnv(server, { tasks, grader: "number_match" })));
  const [a, b] = paths.map((path) => path.split("/").at(-1));
  await server.send("POST", `${paths[0]}/reset`, {});
  const { status, body } = await server.send("POST", "/v1/envs/step:batch", {
    items: [
      { env: a, reply: block("1") },
      { env: b, reply: "not reset" },
      { env: "none", reply: "" },
      { env: a, reply: "42" },
    ],
  });
  assertEquals(status, 200);
  // deno-lint-ignore no-explicit-any
  const outcomes = body.results.map(({ status, step, error }: any) => [status, step?.reward ?? error?.type]);
  assertEquals(outcomes, [[200, undefined], [409, "conflict"], [404, "not_found"], [200, 1]]);
});

Deno.test("a step without a free interpreter changes nothing and can be retried", async () => {
  await using server = served({ python, maxSessions: 1, waitMs: 20 });
  const [first = "", second = ""] = [await createEnv(server), await createEnv(server)];
  for (const path of [first, second]) await server.send("POST", `${path}/reset`, { task: { query: "?" } });
  assertEquals((await server.send("POST", `${first}/step`, { reply: block("1") })).status, 200);
  const full = await server.send("POST", `${second}/step`, { reply: block("1") });
  assertEquals([full.status, full.headers.get("retry-after")], [504, "1"]);
  assertEquals((await server.send("DELETE", first)).status, 204);
  assertEquals(lastMessage(await server.send("POST", `${second}/step`, { reply: block("1") })).at(-2), "1");
});

Deno.test("a failed step ends its episode and reports the reason without host details", async () => {
  const pool = new FakePool(() => Promise.reject(new SandboxError("Cannot read '/home/me/secret'")));
  await using server = served({ pool });
  const path = await createEnv(server);
  await server.send("POST", `${path}/reset`, { task: { query: "?" } });
  const { status, body } = await server.send("POST", `${path}/step`, { reply: block("1") });
  assertEquals([status, body.error], [503, { type: "unavailable", message: "The sandbox failed" }]);
  const { body: state } = await server.send("GET", path);
  assertObjectMatch(state.episode, { truncated: true, failed: "The sandbox failed" });
  assertEquals((await server.send("POST", `${path}/step`, { reply: "more" })).status, 409);
  assertEquals((await server.send("POST", `${path}/reset`, { task: { query: "?" } })).status, 200);
});

Deno.test("a step stops when its client disconnects, returns its interpreter, and the env can be reset", async () => {
  await using server = served({ python });
  const path = await createEnv(server);
  await server.send("POST", `${path}/reset`, { task: { query: "?" } });
  const disconnect = new AbortController();
  const left = server.app.request(`${path}/step`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ reply: block("sleep") }),
    signal: disconnect.signal,
  });
  while (server.pool.ran.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  disconnect.abort();
  assertEquals((await left).status, 503);
  assertEquals([server.pool.alive, server.errors], [0, []]);
  assertEquals((await server.send("POST", `${path}/reset`, { task: { query: "?" } })).status, 200);
  assertEquals((await server.send("POST", `${path}/step`, { reply: block("1") })).status, 200);
});

Deno.test("a repeated step with the same request id runs once", async () => {
  await using server = served({ python });
  const path = await createEnv(server);
  await server.send("POST", `${path}/reset`, { task: { query: "?" } });
  const step = () => server.send("POST", `${path}/step`, { reply: block("1") }, { "x-request-id": "s1" });
  const both = await Promise.all([step(), step()]);
  assertEquals(both.map(({ body }) => body.observation.turns), [1, 1]);
  assertEquals((await step()).body, both[0].body);
  assertEquals(server.pool.ran, ["1"]);
});

Deno.test("an env belongs to its token, and its deletion aborts a step and returns its interpreter", async () => {
  await using server = served({ python, tokens: ["a", "b"] });
  const [mine, theirs] = [{ "x-api-key": "a" }, { "x-api-key": "b" }];
  const path = await createEnv(server, {}, mine);
  assertEquals((await server.send("GET", path, undefined, theirs)).status, 404);
  assertEquals((await server.send("DELETE", path, undefined, theirs)).status, 404);
  assertEquals((await server.send("GET", "/v1/envs", undefined, theirs)).body, { envs: [] });
  await server.send("POST", `${path}/reset`, { task: { query: "?" } }, mine);
  const step = server.send("POST", `${path}/step`, { reply: block("sleep") }, mine);
  while (server.pool.ran.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  assertEquals((await server.send("DELETE", path, undefined, mine)).status, 204);
  assertObjectMatch(await step, { status: 409, body: { error: { message: "The env has ended" } } });
  assertEquals(server.pool.alive, 0);
  assertEquals((await server.send("GET", path, undefined, mine)).status, 404);
});

Deno.test("an idle env ends, and the number of envs is limited", async () => {
  await using server = served({ python, idleMs: 20, maxEnvs: 1 });
  const path = await createEnv(server);
  await server.send("POST", `${path}/reset`, { task: { query: "?" } });
  await server.send("POST", `${path}/step`, { reply: block("1") });
  const { status, headers } = await server.send("POST", "/v1/envs", {});
  assertEquals([status, headers.get("retry-after")], [429, "10"]);
  while (server.pool.alive > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals((await server.send("GET", "/v1/envs")).body, { envs: [] });
  await createEnv(server);
});

Deno.test("/v1/envs runs Python blocks in a sandbox", async () => {
  await withPython(async (server) => {
    const path = await createEnv(server, { tasks, grader: "number_match" });
    await server.send("POST", `${path}/reset`, { seed: 3 });
    await server.send("POST", `${path}/step`, { reply: block("x = 6 * 7") });
    const { body } = await server.send("POST", `${path}/step`, { reply: block("print(x)\n1 / 0") });
    assertStringIncludes(body.observation.messages.at(-1).content, "ZeroDivisionError");
    const { body: last } = await server.send("POST", `${path}/step`, { reply: "42" });
    assertEquals(last.reward, 1);
  }, { graders });
});

Deno.test("/v1/envs runs blocks without a tag and thoughts by its options, and says what did not run", async () => {
  await using server = served({ python, graders });
  const reply = "<think>\n```python\na\n```\n</think>\n```\nb\n```\n```bash\nls\n```";
  const step = async (config: object) => {
    const path = await createEnv(server, { tasks, ...config });
    await server.send("POST", `${path}/reset`, {});
    const { body } = await server.send("POST", `${path}/step`, { reply });
    await server.send("DELETE", path);
    return [body.toolResults.length, body.blocksNotRun.map(({ reason }: { reason: string }) => reason)];
  };
  assertEquals(await step({}), [0, ["thought", "unlabeled", "language"]]);
  assertEquals(await step({ runUnlabeled: true }), [1, ["thought", "language"]]);
  assertEquals(await step({ runUnlabeled: true, runThoughts: true }), [2, ["language"]]);
});
