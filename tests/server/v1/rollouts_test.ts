import { assert, assertEquals, assertObjectMatch, assertStringIncludes } from "@std/assert";
import { numberMatch } from "../../../mod.ts";
import { PolicyError, SandboxError } from "../../../src/errors.ts";
import type { Policy, Reply } from "../../../src/policy/policy.ts";
import type { Grader } from "../../../src/rewards/grader.ts";
import { Budgets } from "../../../src/server/admission/budget.ts";
import type { RolloutOffer, RolloutPolicyOptions } from "../../../src/server/rollouts/rollout_service.ts";
import { HANG_MS } from "../../deadline.ts";
import { byteTokenizer } from "../../byte_tokenizer.ts";
import { ok } from "../../fake_pool.ts";
import { type Served, served } from "../served.ts";
import { type EventReader, readStream, type StreamEvent } from "../tool_stream.ts";

const TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
const TASKS = [{ id: "a", query: "6 times 7?", answer: "42" }, { id: "b", query: "1 plus 1?", answer: "2" }];
const graders = new Map([["number_match", () => numberMatch()]]);

interface OfferOptions extends Partial<Pick<RolloutOffer, "envs" | "tokenizer">> {
  reply?: Policy["reply"];
  /** Called with the options of each policy. */
  onOptions?: (options: RolloutPolicyOptions) => void;
}

function offerOf(
  { reply = () => Promise.resolve("42"), envs = ["chat"], tokenizer, onOptions }: OfferOptions = {},
) {
  const make = (options: RolloutPolicyOptions): Policy => {
    onOptions?.(options);
    return { name: "test", reply };
  };
  return { policies: new Map([["test", make]]), envs, tokenizer };
}

async function start(
  server: Served,
  options: object = {},
  headers: Record<string, string> = {},
): Promise<EventReader> {
  const response = await server.app.request("/v1/rollouts", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ policy: "test", env: "chat", tasks: TASKS, ...options }),
  });
  return await readStream(response);
}

/** Reads all events up to the last one. */
async function readAll(stream: EventReader): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  do events.push(await stream.next()); while (!["end", "error"].includes(events.at(-1)?.name ?? ""));
  return events;
}

/** Replies when the test says so. */
function heldReplies() {
  const held: { release: () => void; weights: unknown }[] = [];
  const reply: Policy["reply"] = (_, { signal }) =>
    new Promise<Reply>((resolve, reject) => {
      const message = { role: "assistant" as const, content: "42" };
      held.push({ release: () => resolve({ message }), weights: undefined });
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  const waitFor = async (count: number) => {
    while (held.length < count) await new Promise((resolve) => setTimeout(resolve, 0));
  };
  return { held, reply, waitFor };
}

Deno.test("/v1/rollouts streams episodes in the order of their ends, and the advantages of each group", async () => {
  const options: RolloutPolicyOptions[] = [];
  await using server = served({ graders, offer: offerOf({ onOptions: (given) => options.push(given) }) });
  const request = {
    grader: "number_match",
    samples: 2,
    concurrency: 1,
    weightVersion: 3,
    model: "m",
    temperature: 0.5,
    maxTokens: 9,
  };
  const events = await readAll(await start(server, request));
  assertEquals(events.map(({ name }) => name), [
    "start",
    ...["episode", "episode", "group"],
    ...["episode", "episode", "group"],
    "end",
  ]);
  assertObjectMatch(events[1]?.data, {
    group: "a",
    trajectory: { task: { id: "a" }, sample: 1, reward: 1, steps: [{ policyVersion: 3 }] },
  });
  assertEquals(events[6]?.data, {
    group: "b",
    episodes: [1, 2].map((sample) => ({ taskId: "b", sample, reward: 0, advantage: 0 })),
  });
  assertEquals(events.at(-1)?.data, { episodes: 4, stopped: false });
  assertEquals(options, [{
    model: "m",
    temperature: 0.5,
    maxTokens: 9,
    concurrency: 1,
    recordsTokens: false,
  }]);
  assertEquals(server.rollouts.list(""), []);
});

Deno.test("a rollout is refused unless the operator allows its policy and its env", async () => {
  await using without = served();
  await using server = served({ offer: offerOf() });
  const send = async (to: Served, body: object) => {
    const { status, body: { error } } = await to.send("POST", "/v1/rollouts", {
      policy: "test",
      tasks: TASKS,
      ...body,
    });
    return [status, error.type, error.message];
  };
  const cases: [Served, object, number, string][] = [
    [without, {}, 403, "policy is refused: the server allows none"],
    [server, { policy: "openai:http://169.254.169.254" }, 403, "policy must be one of test"],
    [server, { env: "python" }, 403, "env must be one of chat"],
    [server, { env: "chat", tokens: true }, 422, "no tokenizer"],
    [server, { env: "chat", resumed: [{}] }, 422, "resumed.0: prompt"],
    [server, { env: "chat", grader: "gsm8k" }, 422, "grader must be one of"],
    [server, { env: "chat", tasks: [] }, 422, "tasks"],
    [server, { env: "chat", url: "http://127.0.0.1" }, 422, "url"],
  ];
  for (const [to, body, expected, text] of cases) {
    const [status, , message] = await send(to, body);
    assertEquals(status, expected, message);
    assertStringIncludes(message, text);
  }
  assertEquals((await without.send("GET", "/v1/rollouts")).body, {
    policies: [],
    envs: [],
    tokens: false,
    rollouts: [],
  });
});

Deno.test("the version of the weights is set while a rollout runs, by its owner", async () => {
  const tokens = ["token of the first owner", "token of the second owner"];
  const [mine = {}, theirs = {}] = tokens.map((token) => ({ authorization: `Bearer ${token}` }));
  const { held, reply, waitFor } = heldReplies();
  await using server = served({ tokens, offer: offerOf({ reply }) });
  const stream = await start(server, { concurrency: 1, weightVersion: 1 }, mine);
  const { data: { id } } = await stream.next();
  await waitFor(1);
  const path = `/v1/rollouts/${id}`;
  assertEquals((await server.send("POST", `${path}/version`, { weightVersion: 2 }, theirs)).status, 404);
  const { status, body } = await server.send("POST", `${path}/version`, { weightVersion: 2 }, mine);
  assertEquals([status, body.weightVersion], [200, 2]);
  assertEquals((await server.send("GET", "/v1/rollouts", undefined, mine)).body.rollouts.length, 1);
  assertEquals((await server.send("GET", "/v1/rollouts", undefined, theirs)).body.rollouts, []);
  assertEquals((await server.send("DELETE", path, undefined, theirs)).status, 404);
  held[0]?.release();
  await waitFor(2);
  held[1]?.release();
  const episodes = (await readAll(stream)).filter(({ name }) => name === "episode");
  assertEquals(episodes.map(({ data }) => data.trajectory.steps[0].policyVersion), [1, 2]);
});

Deno.test("a version is refused for a rollout that began without one", async () => {
  const { reply, waitFor } = heldReplies();
  await using server = served({ offer: offerOf({ reply }) });
  const stream = await start(server);
  const { data: { id } } = await stream.next();
  await waitFor(1);
  const { status, body } = await server.send("POST", `/v1/rollouts/${id}/version`, { weightVersion: 2 });
  assertEquals([status, body.error.type], [409, "conflict"]);
  await stream.cancel();
});

Deno.test("a stopped rollout yields partial rows, which a later one continues", async () => {
  const tokenizer = byteTokenizer({ chatTemplate: TEMPLATE });
  const { held, reply, waitFor } = heldReplies();
  let replies = 0;
  const first: Policy["reply"] = (history, context) =>
    replies++ === 0 ? Promise.resolve("```python\n1\n```") : reply(history, context);
  const offer = offerOf({ reply: first, envs: ["python"], tokenizer });
  await using server = served({ python: () => ok("1\n"), offer });
  const options = { env: "python", tasks: TASKS.slice(0, 1), partial: true, tokens: true, weightVersion: 1 };
  const stream = await start(server, options);
  const { data: { id } } = await stream.next();
  await waitFor(1);
  assertEquals((await server.send("DELETE", `/v1/rollouts/${id}`)).status, 204);
  const [partial, end, ...rest] = await readAll(stream);
  assertEquals([partial?.name, end?.data, rest], ["partial", { episodes: 1, stopped: true }, []]);
  assertEquals([partial?.data.row.status, partial?.data.row.turns.length], ["aborted", 1]);
  const resumed = await start(server, { ...options, weightVersion: 2, resumed: [partial?.data.row] });
  await waitFor(2);
  held[1]?.release();
  const [, { data: { row } } = assertUnreachable()] = await readAll(resumed);
  assertEquals(row.status, "completed");
  assertEquals(row.turns.map((turn: { policy_version: number }) => turn.policy_version), [1, 2]);
  assertEquals(replies, 3);
});

function assertUnreachable(): never {
  throw new Error("an event is missing");
}

Deno.test("a stopped rollout without 'partial' ends without further episodes", async () => {
  const { reply, waitFor } = heldReplies();
  await using server = served({ offer: offerOf({ reply }) });
  const stream = await start(server);
  const { data: { id } } = await stream.next();
  await waitFor(2);
  await server.send("DELETE", `/v1/rollouts/${id}`);
  assertEquals((await readAll(stream)).map(({ data }) => data), [{ episodes: 0, stopped: true }]);
  assertEquals((await server.send("DELETE", `/v1/rollouts/${id}`)).status, 404);
});

Deno.test("a client that disconnects ends its rollout and frees its sessions and memory", async () => {
  const budgets = new Budgets();
  const { reply, waitFor } = heldReplies();
  let replies = 0;
  const first: Policy["reply"] = (history, context) =>
    replies++ < 2 ? Promise.resolve("```python\n1\n```") : reply(history, context);
  await using server = served({ budgets, offer: offerOf({ reply: first, envs: ["python"] }) });
  const stream = await start(server, { env: "python", partial: true });
  await stream.next();
  await waitFor(2);
  assert(budgets.kept.used() > 0);
  assertEquals(server.pool.alive, 2);
  await stream.cancel();
  while (server.rollouts.list("").length > 0) await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals([server.pool.alive, budgets.kept.used(), budgets.waiting.used()], [0, 0, 0]);
});

Deno.test("a rollout waits for a client that does not read", async () => {
  const length = 300_000; // one episode fills the queue of the stream
  let replies = 0;
  const reply = () => Promise.resolve(`${replies++}`.padEnd(length, "x"));
  await using server = served({ offer: offerOf({ reply }) });
  const tasks = Array.from({ length: 100 }, (_, at) => ({ id: `${at}`, query: "?" }));
  const stream = await start(server, { tasks, concurrency: 2, maxWaiting: 3 });
  await stream.next();
  let before = -1;
  while (replies > before) { // until nothing more is played
    before = replies;
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  assert(replies >= 3 && replies <= 10, `${replies} episodes were played ahead`);
  assertEquals((await readAll(stream)).at(-1)?.data, { episodes: 100, stopped: false });
});

Deno.test("a rollout reserves the memory of its waiting episodes, and ends when it has no more", async () => {
  const budgets = new Budgets({ bytes: 400_000 });
  const reply = () => Promise.resolve("x".repeat(60_000));
  await using server = served({ budgets, offer: offerOf({ reply }) });
  const body = { policy: "test", env: "chat", tasks: TASKS, maxWaitingBytes: 300_000 };
  const refused = await server.send("POST", "/v1/rollouts", body);
  assertEquals([refused.status, refused.body.error.type], [413, "too_large"]);
  const stream = await start(server, { samples: 50, concurrency: 8, maxWaitingBytes: 1_000 });
  const events = await readAll(stream);
  await stream.cancel();
  assertEquals(events.at(-1)?.name, "error");
  assertEquals(events.at(-1)?.data.type, "busy");
  assertEquals([budgets.kept.used(), budgets.waiting.used()], [0, 0]);
});

Deno.test("an episode of a rollout fails alone, and its error says nothing about the host", async () => {
  let replies = 0;
  const reply = () => {
    if (replies++ === 0) throw new PolicyError("Cannot get reply as the server is busy");
    return Promise.resolve("```python\n1\n```");
  };
  const python = () => {
    throw new SandboxError("Cannot start /home/operator/deno");
  };
  await using server = served({ python, offer: offerOf({ reply, envs: ["python"] }) });
  const events = await readAll(await start(server, { env: "python", concurrency: 1 }));
  const errors = events.filter(({ name }) => name === "episode").map(({ data }) => data.trajectory.error);
  assertEquals(errors.map(({ boundary, message }) => [boundary, message]), [
    ["policy", "Cannot get reply as the server is busy"],
    ["sandbox", "The sandbox failed"],
  ]);
  assertEquals(events.at(-1)?.data, { episodes: 2, stopped: false });
});

Deno.test(
  "the server's end does not wait for a client that does not read",
  { timeout: HANG_MS },
  async () => {
    const server = served({ offer: offerOf({ reply: () => Promise.resolve("x".repeat(300_000)) }) });
    const tasks = Array.from({ length: 100 }, (_, at) => ({ id: `${at}`, query: "?" }));
    const stream = await start(server, { tasks, maxWaiting: 1 });
    await stream.next();
    while (server.rollouts.list("")[0]?.episodes !== 2) {
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await server[Symbol.asyncDispose]();
    await stream.cancel();
  },
);

Deno.test("the server's end ends its rollouts", async () => {
  const { reply, waitFor } = heldReplies();
  const server = served({ offer: offerOf({ reply }) });
  const stream = await start(server);
  await stream.next();
  await waitFor(2);
  await server[Symbol.asyncDispose]();
  assertEquals((await stream.next()).data, { type: "unavailable", message: "The server is stopping" });
  assertEquals(
    (await server.send("POST", "/v1/rollouts", { policy: "test", env: "chat", tasks: TASKS })).status,
    503,
  );
});

Deno.test("an episode of a rollout that a limit of tokens cut off is graded, or not with 'cutScore'", async () => {
  const message = { role: "assistant" as const, content: "42" };
  const reply = () => Promise.resolve({ message, finishReason: "length" });
  await using server = served({ graders, offer: offerOf({ reply }) });
  const rewardsOf = async (options: object) => {
    const events = await readAll(
      await start(server, { grader: "number_match", tasks: TASKS.slice(0, 1), ...options }),
    );
    return events.filter(({ name }) => name === "episode").map(({ data }) => {
      const { reward, cut, truncated, unscored } = data.trajectory as Record<string, unknown>;
      return [reward, cut, truncated, unscored !== undefined];
    });
  };
  assertEquals(await rewardsOf({}), [[1, "length", true, false]]);
  assertEquals(await rewardsOf({ cutScore: "none" }), [[null, "length", true, true]]);
  const refused = await server.app.request("/v1/rollouts", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ policy: "test", env: "chat", tasks: TASKS, cutScore: "half" }),
  });
  assertEquals(refused.status, 422);
});

Deno.test("/v1/rollouts gives graders large integers with all digits", async () => {
  const seen: unknown[] = [];
  const grader: Grader = {
    name: "seen",
    grade: ({ task: { answer, fields } }) => {
      seen.push({ answer, fields });
      return 1;
    },
  };
  await using server = served({ graders: new Map([["seen", () => grader]]), offer: offerOf() });
  const response = await server.app.request("/v1/rollouts", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"policy":"test","env":"chat","grader":"seen","tasks":[' +
      '{"query":"q","answer":18446744073709551617,"fields":{"seed":[12345678901234567890,7]}}]}',
  });
  const events = await readAll(await readStream(response));
  const expected = { answer: "18446744073709551617", fields: { seed: ["12345678901234567890", 7] } };
  assertEquals(seen, [expected]);
  assertObjectMatch(events[1]?.data, { trajectory: { task: expected, reward: 1 } });
});

const PRICE = { name: "price", parameters: { type: "object", properties: { thing: { type: "string" } } } };
const CALL = '<tool>price\n{"thing": "tea"}</tool>';

/** A model that calls the tool `price` once, and then says what it cost. */
const shopper: Policy["reply"] = (history) => {
  const text = JSON.stringify([...history]);
  return Promise.resolve(text.includes("250") ? "It costs 250." : CALL);
};

Deno.test("/v1/rollouts calls the functions of the client, and sends the next item when one has been worked on", async () => {
  await using server = served({ offer: offerOf({ reply: shopper, envs: ["tools"] }) });
  const functions = { clientTools: [PRICE], clientGrader: {} };
  const stream = await start(server, { env: "tools", ...functions, tasks: TASKS.slice(0, 1) });
  const { id } = (await stream.next()).data as { id: string };
  const post = (path: string, body: unknown) => server.send("POST", `/v1/rollouts/${id}${path}`, body);

  const price = await stream.next();
  assertEquals(price, {
    name: "call",
    data: { callId: "call_1", name: "price", arguments: { thing: "tea" } },
  });
  assertEquals((await post("/calls/call_9", { value: 1 })).status, 404);
  assertEquals((await post("/calls/call_1", { value: 250 })).status, 204);
  assertEquals((await post("/calls/call_1", { value: 250 })).status, 409);

  const grade = await stream.next();
  assertObjectMatch(grade.data as Record<string, unknown>, {
    name: "paddock_grade",
    arguments: { completion: "It costs 250.", answer: "42", task: { id: "a" } },
  });
  assertEquals((await post("/calls/call_2", { value: { score: 0.5, parts: { brief: 1 } } })).status, 204);
  const { data } = await stream.next();
  assertObjectMatch(data as Record<string, unknown>, {
    trajectory: { reward: 0.5, rewardParts: { client: 0.5, brief: 1 } },
  });
  assertEquals((await post("/taken", { items: 1 })).status, 204);
  assertEquals((await stream.next()).name, "group");
  assertEquals((await post("/taken", { items: 2 })).status, 204);
  assertEquals(await stream.next(), { name: "end", data: { episodes: 1, stopped: false } });
  assertEquals((await post("/taken", { items: 3 })).status, 404);
});

Deno.test("an episode has no score if the client's grader fails, returns something else, or does not answer", async () => {
  await using server = served({ offer: offerOf() });
  const answers: readonly (readonly [answer: object | undefined, message: string])[] = [
    [{ error: { type: "ValueError", message: "no idea" } }, "ValueError: no idea"],
    [{ value: "good" }, `it must return a number, null, or { score, parts?, reason? }: it returned "good"`],
    [undefined, "the client did not answer the call of 'paddock_grade' within 20 ms"],
  ];
  for (const [answer, message] of answers) {
    const clientGrader = answer === undefined ? { timeoutMs: 20 } : {};
    const stream = await start(server, { clientGrader, tasks: TASKS.slice(0, 1) });
    const { id } = (await stream.next()).data as { id: string };
    assertEquals((await stream.next()).name, "call");
    if (answer !== undefined) await server.send("POST", `/v1/rollouts/${id}/calls/call_1`, answer);
    else assertEquals((await stream.next()).name, "cancel");
    const { name, data } = await stream.next();
    const { trajectory } = data as {
      trajectory: { reward: unknown; error: { boundary: string; message: string } };
    };
    assertEquals([name, trajectory.reward, trajectory.error.boundary], ["episode", null, "grader"]);
    assertStringIncludes(trajectory.error.message, message);
    await server.send("DELETE", `/v1/rollouts/${id}`);
    await readAll(stream);
  }
});

Deno.test("functions of a rollout's client are refused where they cannot be used", async () => {
  await using server = served({ graders, offer: offerOf({ envs: ["chat", "tools"] }) });
  const wrong: readonly (readonly [options: object, message: string])[] = [
    [{ clientGrader: {}, grader: "number_match" }, "clientGrader: it cannot be used with 'grader'"],
    [{ clientTools: [PRICE] }, "an env of kind 'chat' has no tools"],
    [{ env: "tools", clientTools: [PRICE, PRICE] }, "their names must be unique: 'price' occurs twice"],
    [{ env: "tools", clientTools: [{ ...PRICE, name: "a b" }] }, "must be a Python identifier"],
  ];
  for (const [options, message] of wrong) {
    const { status, body } = await server.send("POST", "/v1/rollouts", {
      policy: "test",
      env: "chat",
      tasks: TASKS,
      ...options,
    });
    assertEquals(status, 422, JSON.stringify(body));
    assertStringIncludes(body.error.message, message);
  }
  const plain = await start(server);
  const { id } = (await plain.next()).data as { id: string };
  assertEquals((await server.send("POST", `/v1/rollouts/${id}/calls/call_1`, { value: 1 })).status, 404);
  await readAll(plain);
});

Deno.test("/v1/rollouts grades an episode that the context of the model cuts off", async () => {
  const reply: Policy["reply"] = (history) => {
    if ([...history].length === 1) return Promise.resolve("It is 42.\n```python\nx\n```");
    return Promise.reject(new PolicyError("the prompt is too long", { fault: "context_overflow" }));
  };
  await using server = served({
    graders,
    python: () => ok("42\n"),
    offer: offerOf({ reply, envs: ["python"] }),
  });
  const events = await readAll(
    await start(server, { env: "python", tasks: [TASKS[0]], grader: "number_match" }),
  );
  const { reward, cut, truncated } = events[1]?.data.trajectory ?? {};
  assertEquals({ reward, cut, truncated }, { reward: 1, cut: "context", truncated: true });
});
