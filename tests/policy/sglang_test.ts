import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { PolicyError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import type { Reply, ReplyContext } from "../../src/policy/policy.ts";
import { sglangPolicy, type SglangPolicyOptions } from "../../src/policy/sglang.ts";
import { FakeServer } from "./fake_server.ts";

const ANSWER = {
  text: "hello<|im_end|>",
  output_ids: [5, 6, 2],
  meta_info: {
    id: "r1",
    finish_reason: { type: "stop", matched: 2 },
    prompt_tokens: 4,
    completion_tokens: 3,
    cached_tokens: 0,
    output_token_logprobs: [[-0.1, 5, "hel"], [-0.2, 6, null], [-0.3, 2, "<|im_end|>"]],
    weight_version: "w3",
  },
};

async function replyOf(
  answer: unknown,
  options: Partial<SglangPolicyOptions> = {},
  context: Partial<ReplyContext> = {},
): Promise<{ reply: Reply; path: string; body: unknown }> {
  await using fake = new FakeServer(() => Response.json(answer));
  const render = (history: History) => `<${history.length}>`;
  const policy = sglangPolicy({ url: fake.url, render, ...options });
  const history = History.fromChats([{ role: "user", content: "q" }]);
  const reply = await policy.reply(history, { task: { id: "t", query: "q" }, ...context });
  if (typeof reply === "string") throw new Error("a reply with tokens was expected");
  return { reply, path: fake.seen[0]?.path ?? "", body: fake.seen[0]?.body };
}

Deno.test("sglangPolicy() returns the text, token ids and log-probabilities of /generate", async () => {
  const { reply, path, body } = await replyOf(ANSWER, {
    samplingParams: { temperature: 1, max_new_tokens: 8 },
  });
  assertEquals({ path, body }, {
    path: "/generate",
    body: { text: "<1>", sampling_params: { temperature: 1, max_new_tokens: 8 }, return_logprob: true },
  });
  assertEquals(reply, {
    message: { role: "assistant", content: "hello" },
    tokens: { ids: [5, 6, 2], logProbs: [-0.1, -0.2, -0.3] },
    finishReason: "stop",
    usage: { promptTokens: 4, replyTokens: 3 },
    weightVersion: "w3",
  });
});

Deno.test("sglangPolicy() prefers token ids to text, and text to rendering", async () => {
  const both = await replyOf(ANSWER, { returnLogProb: false }, { text: "rendered", tokens: [1, 2] });
  assertEquals(both.body, { input_ids: [1, 2], sampling_params: {} });
  const text = await replyOf(ANSWER, { returnLogProb: false }, { text: "rendered" });
  // Exactly the body that slime posts.
  assertEquals(text.body, { text: "rendered", sampling_params: {} });
});

Deno.test("sglangPolicy() removes one end-of-turn text", async () => {
  const { reply } = await replyOf({ ...ANSWER, text: "a<|im_end|><|im_end|>" });
  assertEquals(reply.message.content, "a<|im_end|>");
  const plain = await replyOf({ ...ANSWER, text: "a</s>" }, { endOfTurn: "</s>" });
  assertEquals(plain.reply.message.content, "a");
});

Deno.test("sglangPolicy() returns the finish reason: length, abort, or the text of an older server", async () => {
  const ending = async (finish_reason: unknown) => {
    const { reply } = await replyOf({ text: "x", meta_info: { finish_reason } });
    return [reply.finishReason, reply.message.is_complete];
  };
  assertEquals(await ending({ type: "length", length: 8 }), ["length", false]);
  assertEquals(await ending({ type: "abort", message: "shut down" }), ["abort", undefined]);
  assertEquals(await ending("stop"), ["stop", undefined]);
  assertEquals(await ending(null), [undefined, undefined]);
});

Deno.test("sglangPolicy() returns the stop text", async () => {
  const meta_info = { finish_reason: { type: "stop", matched: "\nUser:" } };
  const { reply } = await replyOf({ text: "x", meta_info });
  assertEquals([reply.finishReason, reply.stopText], ["stop", "\nUser:"]);
});

Deno.test("sglangPolicy() returns the token ids of a server without log-probabilities", async () => {
  const { reply } = await replyOf({ text: "x", output_ids: [9], meta_info: {} });
  assertEquals(reply.tokens, { ids: [9] });
});

Deno.test("sglangPolicy() returns the ids without log-probabilities when one is missing", async () => {
  const { reply } = await replyOf({
    text: "xy",
    meta_info: { output_token_logprobs: [[-0.1, 5, "x"], [null, 6, "y"]] },
  });
  assertEquals(reply.tokens, { ids: [5, 6] });
});

Deno.test("sglangPolicy() drops log-probabilities of discarded tokens", async () => {
  const { meta_info } = ANSWER;
  const ahead = { ...ANSWER, output_ids: [5, 6] };
  assertEquals((await replyOf(ahead)).reply.tokens, { ids: [5, 6], logProbs: [-0.1, -0.2] });
  const without = { ...ANSWER, meta_info: { ...meta_info, output_token_logprobs: [] } };
  assertEquals((await replyOf(without)).reply.tokens, { ids: [5, 6, 2] });
});

Deno.test("sglangPolicy() returns the server's message about an abort", async () => {
  const finish_reason = { type: "abort", message: "Input length 9 exceeds 8", status_code: 400 };
  const { reply } = await replyOf({ ...ANSWER, meta_info: { finish_reason } });
  assertEquals([reply.finishReason, reply.finishMessage], ["abort", "Input length 9 exceeds 8"]);
});

Deno.test("sglangPolicy() rejects a response with unexpected content", async () => {
  const answers: [unknown, string][] = [
    [{ meta_info: {} }, "text: "],
    [{ text: "x" }, "meta_info: "],
    [[ANSWER], "sent a response unlike that of /generate: answer: "],
    [{ text: "x", meta_info: { output_token_logprobs: [["a", 1, null]] } }, "output_token_logprobs.0.0"],
    [{ ...ANSWER, output_ids: [5, 6, 3] }, "output_ids: must equal the ids of"],
  ];
  for (const [answer, says] of answers) {
    const error = await assertRejects(() => replyOf(answer), PolicyError);
    assertEquals(error.fault, "bad_answer");
    assertStringIncludes(error.message, says);
  }
});

Deno.test("sglangPolicy() sends text instead of ids with input 'text'", async () => {
  const { body } = await replyOf(ANSWER, { input: "text", returnLogProb: false }, {
    text: "rendered",
    tokens: [1],
  });
  assertEquals(body, { text: "rendered", sampling_params: {} });
});

const QUESTION = History.fromChats([{ role: "user", content: "q" }]);
const ASKED: ReplyContext = { task: { id: "t", query: "q" }, tokens: [1, 2] };

Deno.test("sglangPolicy() retries failed connections only", async () => {
  const answers: [() => Response, string, string][] = [
    [() => Response.json({ error: { message: "no memory" } }, { status: 500 }), "unavailable", "500"],
    [() => new Response("busy", { status: 503 }), "unavailable", "503 Service Unavailable: busy"],
    [
      () => new Response("<html>oh</html>"),
      "bad_answer",
      "sent a response that is not JSON: found '<html>oh</html>'",
    ],
    [() => new Response('{"text": "hal'), "bad_answer", "sent a response that is not JSON"],
    [() => new Response("", { status: 400 }), "refused", "400"],
  ];
  for (const [answer, fault, says] of answers) {
    await using fake = new FakeServer(answer);
    const policy = sglangPolicy({ url: fake.url, backoffMs: 1 });
    const error = await assertRejects(() => policy.reply(QUESTION, ASKED), PolicyError, says);
    assertEquals([error.fault, fake.seen.length], [fault, 1]);
  }
  const closed = new FakeServer(() => Response.json(ANSWER));
  await closed[Symbol.asyncDispose]();
  const policy = sglangPolicy({ url: closed.url, retries: 2, backoffMs: 1 });
  const error = await assertRejects(() => policy.reply(QUESTION, ASKED), PolicyError, "(3 attempts)");
  assertEquals(error.fault, "unreachable");
});

Deno.test("sglangPolicy() reuses connections and limits concurrent requests", async () => {
  let running = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  const ports = new Set<number>();
  await using fake = new FakeServer(async ({ port }) => {
    ports.add(port);
    most = Math.max(most, ++running);
    if (running < 4 && fake.seen.length < 16) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
    }
    for (const resolve of waiting.splice(0)) resolve();
    running--;
    return Response.json(ANSWER);
  });
  const policy = sglangPolicy({ url: fake.url, concurrency: 4 });
  await Promise.all(Array.from({ length: 16 }, () => policy.reply(QUESTION, ASKED)));
  assertEquals([fake.seen.length, most], [16, 4]);
  for (let turn = 0; turn < 8; turn++) await policy.reply(QUESTION, ASKED);
  assert(ports.size <= 8, `${ports.size} connections for 24 requests`);
});

Deno.test("sglangPolicy() cancels an aborted request on the server by its id", async () => {
  const stop = new AbortController();
  const aborted = Promise.withResolvers<Response>();
  await using fake = new FakeServer(({ path }) => {
    if (path === "/abort_request") {
      aborted.resolve(Response.json(ANSWER));
      return new Response();
    }
    stop.abort(new DOMException("stopped", "AbortError"));
    return aborted.promise;
  });
  const policy = sglangPolicy({ url: fake.url, apiKey: "k" });
  await assertRejects(
    () => policy.reply(QUESTION, { ...ASKED, signal: stop.signal }),
    DOMException,
    "stopped",
  );
  const [generate, abort] = fake.seen;
  assertEquals(abort?.body, { rid: generate?.body.rid });
  assertEquals(abort?.headers.get("authorization"), "Bearer k");
  await assertRejects(
    () => policy.reply(QUESTION, { ...ASKED, signal: stop.signal }),
    DOMException,
    "stopped",
  );
  assertEquals(fake.seen.length, 2, "a request that was never sent is not cancelled");
});

Deno.test("sglangPolicy() throws when there is no prompt and no 'render'", async () => {
  const policy = sglangPolicy({ url: "http://127.0.0.1:1" });
  const history = History.fromChats([{ role: "user", content: "q" }]);
  const ask = () => policy.reply(history, { task: { id: "t", query: "q" } });
  await assertRejects(ask, TypeError, "found neither");
});
