import { assertEquals, assertObjectMatch, assertStringIncludes } from "@std/assert";
import { exactMatch, messageText } from "../../../mod.ts";
import { PaddockClient } from "../../../mod/client.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { byteTokenizer } from "../../byte_tokenizer.ts";
import { served } from "../served.ts";
import { answerCall, readStream, type StreamEvent } from "../tool_stream.ts";
import { withPython } from "../with_python.ts";

const block = (code: string) => `\`\`\`python\n${code}\n\`\`\``;
const PROGRAM = block(`
counts = llm_query_batched([f"count: {part}" for part in context])
FINAL(sum(map(int, counts)) * 2 ** 60 + 1)`);
const task = { id: "t", query: "How long?", answer: String(6n * 2n ** 60n + 1n) };
const fields = { context: ["abc", "de", "f"] };
const graders = new Map([["exact_match", () => exactMatch()]]);

Deno.test("/v1/envs lets the client answer the questions of code in a streamed step", async () => {
  await withPython(async (server) => {
    const created = await server.send("POST", "/v1/envs", { env: "rlm", grader: "exact_match" });
    const path = `/v1/envs/${created.body.id}`;
    const reset = await server.send("POST", `${path}/reset`, { task: { ...task, fields } });
    assertStringIncludes(reset.body.observation.messages[0].content, "a list of 3 items of 6 characters");

    const plain = await server.send("POST", `${path}/step`, { reply: PROGRAM });
    assertEquals(plain.status, 422);
    assertStringIncludes(plain.body.error.message, "is stepped at /v1/envs/{id}/stream");

    const stream = await readStream(
      await server.app.request(`${path}/stream`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ reply: PROGRAM }),
      }),
    );
    let event = await stream.next();
    const prompts: string[] = [];
    for (; event.name === "call"; event = await stream.next()) {
      const { callId, name, arguments: { prompt } } = event.data;
      prompts.push(`${name}: ${prompt}`);
      const { status } = await answerCall(server, path, { callId, value: String(prompt.length - 7) });
      assertEquals(status, 204);
    }
    assertEquals(prompts, ["count: abc", "count: de", "count: f"].map((prompt) => `llm_query: ${prompt}`));
    assertEquals(event.name, "step");
    assertObjectMatch(event.data, {
      reward: 1,
      terminated: true,
      finalAnswer: task.answer,
      finalValue: task.answer,
    });
    assertEquals((await answerCall(server, path, { callId: "call_1", value: "3" })).status, 409);
  }, { graders });
});

Deno.test("/v1/envs raises a wrong or missing answer in the code that asks", async () => {
  await withPython(async (server) => {
    const { body: { id } } = await server.send("POST", "/v1/envs", { env: "rlm" });
    const path = `/v1/envs/${id}`;
    await server.send("POST", `${path}/reset`, { task: { ...task, fields } });
    const reply = block(
      "for prompt in 'ab':\n  try:\n    llm_query(prompt)\n  except Exception as error:\n    print(error)",
    );
    const stream = await readStream(
      await server.app.request(`${path}/stream`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ reply }),
      }),
    );
    await answerCall(server, path, { callId: (await stream.next()).data.callId, value: 7 });
    const error = { message: "the model is tired" };
    await answerCall(server, path, { callId: (await stream.next()).data.callId, error });
    const { data: { observation, terminated } } = await stream.next();
    assertEquals(terminated, false);
    const shown = observation.messages.at(-1).content;
    assertStringIncludes(shown, "the client's answer to the question must be a text");
    assertStringIncludes(shown, "the model is tired");
  });
});

Deno.test("/v1/envs and /v1/rollouts refuse what an env of kind 'rlm' does not have", async () => {
  await using server = served({ offer: { policies: new Map([["test", () => policy()]]), envs: ["rlm"] } });
  for (const options of [{ tools: ["add"] }, { toolCallers: ["code"] }, { runUnlabeled: true }]) {
    const { status, body } = await server.send("POST", "/v1/envs", { env: "rlm", ...options });
    assertEquals(status, 422);
    assertStringIncludes(body.error.message, `${Object.keys(options)[0]}: an env of kind 'rlm'`);
  }
  const rollout = { env: "rlm", policy: "test", tasks: [{ ...task, fields }] };
  const { status, body } = await server.send("POST", "/v1/rollouts", { ...rollout, partial: true });
  assertEquals(status, 422);
  assertStringIncludes(body.error.message, "partial: an episode of kind 'rlm' cannot be continued");
  const chat = await server.send("POST", "/v1/envs", { env: "chat" });
  const answered = await answerCall(server, `/v1/envs/${chat.body.id}`, { callId: "call_1", value: "" });
  assertStringIncludes(answered.body.error.message, "The code of an env of kind 'chat' asks nothing");
});

const tokenizer = byteTokenizer();

/** Asks about each part of the context, and counts the characters of a question. */
function policy(): Policy {
  return {
    name: "counter",
    reply: (history, { tokens = [] }) => {
      const last = messageText([...history].at(-1) ?? { role: "user", content: "" });
      const text = last.startsWith("count: ") ? String(last.length - 7) : PROGRAM;
      const ids = [...tokenizer.encode(text), ...tokenizer.encode("<|im_end|>")];
      return Promise.resolve({
        message: { role: "assistant", content: text },
        tokens: { ids, logProbs: ids.map(() => -1) },
        promptIds: [...tokens],
        finishReason: "stop",
      });
    },
  };
}

Deno.test("PaddockClient.rollout() yields the questions of code as items of their own", async () => {
  const offer = { policies: new Map([["test", () => policy()]]), envs: ["rlm" as const] };
  await withPython(async (server) => {
    const fetch = async (request: Request) => await server.app.fetch(request);
    await using client = new PaddockClient({ url: "http://localhost", fetch });
    const options = {
      policy: "test",
      env: "rlm",
      tasks: [{ ...task, fields }],
      grader: "exact_match",
    } as const;
    const items = await Array.fromAsync(client.rollout(options));
    const [episode, ...asked] = items.flatMap((item) => item.kind === "episode" ? [item.trajectory] : []);
    assertEquals([episode?.reward, episode?.info?.final_value], [1, task.answer]);
    assertEquals(asked.map((question) => question?.parent?.id), [1, 2, 3].map(() => episode?.id));
    assertEquals(items.at(-1)?.kind, "group");
  }, { graders, offer });
});

Deno.test("/v1/rollouts plays recursive language models, whose questions are rows with a parent", async () => {
  const offer = { policies: new Map([["test", () => policy()]]), envs: ["rlm" as const], tokenizer };
  await withPython(async (server) => {
    const stream = await readStream(
      await server.app.request("/v1/rollouts", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          policy: "test",
          env: "rlm",
          tasks: [{ ...task, fields }],
          grader: "exact_match",
          samples: 2,
          concurrency: 1,
          tokens: true,
          weightVersion: 3,
        }),
      }),
    );
    const events: StreamEvent[] = [];
    do events.push(await stream.next()); while (!["end", "error"].includes(events.at(-1)?.name ?? ""));
    const one = ["episode", "episode", "episode", "episode"];
    assertEquals(events.map(({ name }) => name), ["start", ...one, ...one, "group", "end"]);
    const [episode, ...asked] = events.slice(1, 5).map(({ data }) => data.row);
    assertObjectMatch(episode, { task_id: "t", reward: 1, info: { final_answer: task.answer } });
    for (const [at, row] of asked.entries()) {
      assertEquals(row.parent, { id: episode.id, turn: 1, call: at + 1 });
      assertEquals([row.reward, row.turns[0].policy_version], [1, 3]);
      assertEquals(row.loss_mask.length, row.response_length);
    }
    assertEquals(events.at(-2)?.data.episodes.length, 2);
    assertEquals(events.at(-1)?.data.episodes, 2);
  }, { graders, offer });
});
