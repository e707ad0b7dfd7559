import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { JournalFolder } from "../../../src/gateway/state/session_journal.ts";
import { TempFolder } from "../../temp_folder.ts";
import { PaddockClient } from "../../../mod/client.ts";
import { type Opened, OTHER_TOKEN, TOKEN } from "../open_gateway.ts";
import { GatewayWithSandboxes, type OpenedSandbox } from "./with_sandboxes.ts";

Deno.test("a session's key opens the session's own sandbox by /v1, and nothing else of its owner", async () => {
  await using served = await GatewayWithSandboxes.start();
  const { test } = served;
  const [own, other] = [await served.open(), await served.open()];
  assertEquals(await served.run(own.sandbox.id, "6 * 7", own.key), "42");
  const { id } = own.sandbox;
  const files = { "note.txt": btoa("hi") };
  const written = await test.send(`/v1/sessions/${id}/files`, { files }, { key: own.key });
  assertEquals(written.status, 200);
  assertEquals((await test.send(`/v1/sessions/${id}`, undefined, { key: own.key })).status, 200);
  const refused: readonly [method: string, path: string, body: unknown, status: number][] = [
    ["POST", `/v1/sessions/${other.sandbox.id}/exec`, { code: "1" }, 404],
    ["GET", `/v1/sessions/${other.sandbox.id}`, undefined, 404],
    ["POST", `/v1/sessions/${id}%2e/exec`, { code: "1" }, 404],
    ["DELETE", `/v1/sessions/${id}`, undefined, 403],
    ["POST", `/v1/sessions/${id}/fork`, { count: 1 }, 403],
    ["POST", `/v1/sessions/${id}/checkpoint`, {}, 403],
    ["GET", "/v1/sessions", undefined, 403],
    ["POST", "/v1/sessions", {}, 403],
    ["POST", "/v1/exec", { code: "1" }, 403],
    ["POST", "/v1/grade", { grader: "number_match", completion: "1" }, 403],
    ["GET", "/metrics", undefined, 403],
    ["POST", "/mcp", {}, 403],
    ["POST", `/v1/gateway/sessions/${own.id}/reward`, { reward: 1 }, 403],
    ["POST", `/v1/gateway/sessions/${own.id}/fork`, {}, 403],
    ["GET", "/v1/gateway/rows", undefined, 403],
  ];
  for (const [method, path, body, status] of refused) {
    for (const key of [own.key, own.sandbox.e2b_api_key]) {
      const response = await test.send(path, body, { key, method });
      assertEquals([response.status, method, path], [status, method, path]);
      await response.body?.cancel();
    }
  }
  assertEquals(await served.run(id, "1", OTHER_TOKEN), 404, "another owner");
  assertEquals(await served.run(id, "open('note.txt').read()", TOKEN), "'hi'", "the owner");
});

Deno.test("E2B's routes give a session's key the session's sandbox, which only the session ends", async () => {
  await using served = await GatewayWithSandboxes.start();
  const { test } = served;
  const [own, other] = [await served.open(), await served.open()];
  const key = own.sandbox.e2b_api_key;
  assertMatch(key, /^e2b_[0-9a-f]{48}$/);
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const auth = { authorization: "", "x-api-key": key, ...headers };
    const response = await test.send(path, body, { method, headers: auth });
    const text = await response.text();
    return {
      status: response.status,
      body: path !== "/execute" && /^[{[]/.test(text) ? JSON.parse(text) : text,
    };
  };
  const made = await send("POST", "/v2/sandboxes", {
    templateID: "base",
    timeout: 1,
    envVars: { WHO: "ada" },
  });
  assertEquals([made.status, made.body.sandboxID], [201, own.sandbox.e2b_id]);
  const named = { "e2b-sandbox-id": own.sandbox.e2b_id };
  const code = "import os; os.environ['WHO'], os.getcwd()";
  const executed = await send("POST", "/execute", { code }, named);
  assertStringIncludes(JSON.stringify(executed.body), "('ada', '/home/user')");
  assertEquals(
    (await send("GET", "/sandboxes")).body.map(({ sandboxID }: { sandboxID: string }) => sandboxID),
    [
      own.sandbox.e2b_id,
    ],
  );
  const path = `/sandboxes/${own.sandbox.e2b_id}`;
  assertEquals((await send("POST", `${path}/timeout`, { timeout: 1 })).status, 204);
  assertEquals((await send("POST", `${path}/connect`, { timeout: 1 })).status, 200);
  assertEquals((await send("DELETE", path)).status, 204, "what the agent left is graded later");
  assertEquals((await send("GET", "/health", undefined, named)).status, 204);
  const foreign = { "e2b-sandbox-id": other.sandbox.e2b_id };
  for (
    const [method, target, headers, status] of [
      ["GET", `/sandboxes/${other.sandbox.e2b_id}`, {}, 404],
      ["DELETE", `/sandboxes/${other.sandbox.e2b_id}`, {}, 404],
      ["GET", "/health", foreign, 404],
      ["POST", `${path}/pause`, {}, 403],
      ["POST", `${path}/fork`, {}, 403],
      ["POST", `${path}/snapshots`, {}, 403],
      ["GET", "/snapshots", {}, 403],
    ] as const
  ) {
    assertEquals([(await send(method, target, undefined, headers)).status, target], [status, target]);
  }
  await served.ask(own);
  assertEquals((await served.reward(own, { reward: 1 })).status, 200);
  while ((await send("GET", path)).status !== 401) await new Promise((resolve) => setTimeout(resolve, 10));
  assertEquals(await served.run(other.sandbox.id, "1", other.key), "1");
});

Deno.test("tests grade what the agent left, in an interpreter that the agent did not touch", async () => {
  await using served = await GatewayWithSandboxes.start();
  const TESTS = "import solution, data\nassert solution.add(2, 3) == data.SUM";
  const files = { "data.py": btoa("SUM = 5") };
  const play = async (program: string, tests: object = { code: TESTS, files }) => {
    const opened = await served.open();
    await served.ask(opened);
    await served.run(opened.sandbox.id, program, opened.key);
    const response = await served.reward(opened, { tests });
    const { reward, reward_parts, status, output, error } = await response.json();
    if (response.status !== 200) {
      await served.test.send(`/v1/gateway/sessions/${opened.id}`, undefined, { method: "DELETE" });
      return [response.status, error.message];
    }
    return [status, reward, reward_parts, output];
  };
  const write = (text: string) => `open("solution.py", "w").write(${JSON.stringify(text)})`;
  assertEquals(await play(write("def add(a, b): return a + b")), ["completed", 1, { tests: 1 }, ""]);
  const [, wrong, , output] = await play(write("def add(a, b): return a - b"));
  assertEquals(wrong, 0);
  assertStringIncludes(String(output), "AssertionError");
  const [, missing, , reason] = await play("x = 1");
  assertEquals(missing, 0);
  assertStringIncludes(String(reason), "No module named 'solution'");
  const cheat = `import builtins, sys, types
builtins.__import__ = lambda *_: types.SimpleNamespace(add=lambda *_: 5, SUM=5)
sys.modules["solution"] = sys.modules["data"] = types.SimpleNamespace(add=lambda *_: 5, SUM=5)`;
  const [, cheated] = await play(cheat);
  assertEquals(cheated, 0, "the interpreter of the agent is not that of the tests");
  assertEquals((await play("x = 1", { code: "0.25" }))[1], 0.25);
  const [status, message] = await play("x = 1", { code: "assert (" });
  assertEquals(status, 422);
  assertStringIncludes(String(message), "SyntaxError");
});

Deno.test("a grader reads a file that the agent left, as its reply or as its program", async () => {
  await using served = await GatewayWithSandboxes.start(() => "See the file.");
  const graded = async (
    grader: string,
    { file, text, task }: { file: string; text: string; task: object },
  ) => {
    const opened = await served.open({ task: { id: "t", ...task } });
    await served.ask(opened);
    await served.run(opened.sandbox.id, `open("${file}", "w").write(${JSON.stringify(text)})`, opened.key);
    const ended = await (await served.reward(opened, { grader, file })).json();
    return ended.reward;
  };
  const answer = { answer: "42" };
  assertEquals(await graded("number_match", { file: "answer.txt", text: "It is 42.", task: answer }), 1);
  assertEquals(await graded("number_match", { file: "answer.txt", text: "It is 41.", task: answer }), 0);
  const tests = { fields: { tests: ["assert add(2, 3) == 5"] } };
  const program = 'FENCE = "```"\ndef add(a, b):\n    return a + b\n';
  assertEquals(await graded("hidden_tests", { file: "solution.py", text: program, task: tests }), 1);
  const [row] = served.test.rows;
  assertEquals(row?.messages.at(-1)?.content, "See the file.", "the row has what the model said");
  const opened = await served.open();
  await served.ask(opened);
  assertEquals((await served.reward(opened, { grader: "number_match", file: "none.txt" })).status, 404);
  const state = await (await served.test.send(`/v1/gateway/sessions/${opened.id}`)).json();
  assertEquals(state.status, "open", "a grade that could not be made ends nothing");
  await served.test.send(`/v1/gateway/sessions/${opened.id}`, undefined, { method: "DELETE" });
});

Deno.test("a fork copies the sandbox and the turns, and a deleted or aborted session ends its sandbox", async () => {
  await using served = await GatewayWithSandboxes.start();
  const { test } = served;
  const opened = await served.open();
  await served.ask(opened);
  await served.run(opened.sandbox.id, "x = 41", opened.key);
  const forked = await (await test.send(`/v1/gateway/sessions/${opened.id}/fork`, { count: 2 })).json();
  const [one, other] = forked.sessions;
  assertEquals(await served.run(one.sandbox.id, "x + 1", one.key), "42");
  assertEquals(await served.run(other.sandbox.id, "x", one.key), 404);
  await served.run(one.sandbox.id, "x = 0", one.key);
  assertEquals(await served.run(other.sandbox.id, "x", other.key), "41");
  for (const { id } of [one, other]) {
    await test.send(`/v1/gateway/sessions/${id}`, undefined, { method: "DELETE" });
  }
  const idle = await served.open({ idle_seconds: 1 });
  await served.ask(idle);
  const busy = served.run(idle.sandbox.id, "import time; time.sleep(1.5); 7", idle.key);
  assertEquals(await busy, "7", "a session whose sandbox is used is not idle");
  const path = `/v1/gateway/sessions/${idle.id}`;
  while ((await (await test.send(path)).json()).status === "open") {
    await new Promise((r) => setTimeout(r, 50));
  }
  while ((await served.run(idle.sandbox.id, "1", TOKEN)) !== 404) await new Promise((r) => setTimeout(r, 50));
  assertEquals(test.rows.at(-1)?.status, "aborted");
});

Deno.test("a session whose sandbox a kill of the server has lost ends with rows that say so, and no grader pays", async () => {
  await using folder = await TempFolder.of();
  const start = async () => {
    await using stack = new AsyncDisposableStack();
    const journals = stack.use(await JournalFolder.open(folder.path));
    const served = stack.use(await GatewayWithSandboxes.start(() => "42", { journals }));
    await served.test.gateway.restore({ onError: (error) => assert(false, String(error)) });
    const parts = stack.move();
    return { served, [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose]() };
  };
  let ids: { lost: OpenedSandbox; finished: OpenedSandbox; plain: Opened };
  {
    await using first = await start();
    ids = {
      lost: await first.served.open({ task: { id: "t", answer: "42" } }),
      finished: await first.served.open(),
      plain: await first.served.test.open(),
    };
    for (const opened of Object.values(ids)) await first.served.ask(opened);
    assertEquals((await first.served.reward(ids.finished, { reward: 0.5 })).status, 200);
  }
  const { lost, finished, plain } = ids;
  await using second = await start();
  const { test } = second.served;
  const facts = async (id: string) =>
    (await test.rowsOf(id)).map(({ status, reward, errors, info }) => [
      status,
      reward,
      errors[0]?.message.slice(0, 12),
      info.sandbox_lost,
    ]);
  assertEquals(await facts(lost.id), [["aborted", null, "sandbox lost", true]]);
  assertEquals(await facts(finished.id), [["completed", 0.5, undefined, undefined]]);
  assertEquals(test.rows.map(({ info }) => info.session), [lost.id], "its rows are written once");
  const chat = { model: "m", messages: [{ role: "user", content: "And now?" }] };
  const refused = await test.send("/v1/chat/completions", chat, { key: lost.key });
  assertEquals(refused.status, 400);
  assertStringIncludes((await refused.json()).error.message, "sandbox lost");
  assertEquals(
    await second.served.run(lost.sandbox.id, "1", lost.key),
    401,
    "its key opens no other sandbox",
  );
  for (const body of [{ grader: "number_match" }, { tests: { code: "1" } }, { reward: 1 }]) {
    assertEquals((await second.served.reward(lost, body)).status, 409);
  }
  assertEquals((await test.send(`/v1/gateway/sessions/${lost.id}/fork`, {})).status, 409);
  await second.served.ask(plain);
  assertEquals((await second.served.reward(plain, { reward: 1 })).status, 200, "it has no sandbox");
});

Deno.test("no grader pays for a session whose sandbox has ended, and the rows say so", async () => {
  await using served = await GatewayWithSandboxes.start(() => "42");
  const opened = await served.open({ task: { id: "t", answer: "42" } });
  await served.ask(opened);
  await served.test.send(`/v1/sessions/${opened.sandbox.id}`, undefined, { method: "DELETE" });
  for (const body of [{ grader: "number_match" }, { tests: { code: "1" } }]) {
    const response = await served.reward(opened, body);
    assertEquals(response.status, 409);
    assertStringIncludes((await response.json()).error.message, "lost its sandbox");
  }
  assertEquals((await served.reward(opened, { reward: 0 })).status, 200, "the owner may still decide");
  assertEquals((await served.test.rowsOf(opened.id)).map(({ info }) => info.sandbox_lost), [true]);
});

Deno.test("a gateway refuses a sandbox of another profile, and one that it does not have", async () => {
  await using served = await GatewayWithSandboxes.start();
  const send = async (sandbox: object) => {
    const response = await served.test.send("/v1/gateway/sessions", { task: { id: "t" }, sandbox });
    return [response.status, (await response.json()).error.message];
  };
  const [status, message] = await send({ profile: "serve" });
  assertEquals(status, 422);
  assertStringIncludes(message, "that of the server, 'tools'");
  assertEquals((await send({ image: "x" }))[0], 422);
});

Deno.test("PaddockClient.gateway opens a session with a sandbox, which its key leases, and tests what is in it", async () => {
  await using served = await GatewayWithSandboxes.start();
  const send = (input: Request | URL | string) => served.test.fetch(new Request(input));
  await using owner = new PaddockClient({ url: "http://localhost", token: TOKEN, fetch: send });
  const session = await owner.gateway.open({ task: { id: "t" }, sandbox: { seed: 3 } });
  const { id = "", e2bApiKey } = session.sandbox ?? {};
  assertMatch(String(e2bApiKey), /^e2b_/);
  const agent = new PaddockClient({ url: "http://localhost", token: session.key, fetch: send });
  const lease = agent.attach(id);
  await lease.session.writeFile("solution.py", "def add(a, b): return a + b");
  assertEquals((await lease.session.exec("import solution; solution.add(1, 2)")).status, "ok");
  await served.ask(session);
  const tests = { code: "import solution, data\nsolution.add(1, data.X) / 4", files: { "data.py": "X = 2" } };
  const ended = await session.test(tests);
  assertEquals([ended.status, ended.reward, ended.output], ["completed", 0.75, ""]);
});
