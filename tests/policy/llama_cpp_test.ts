import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { llamaCppPolicy, type LlamaCppPolicyOptions } from "../../src/policy/llama_cpp.ts";
import { checkTokens } from "../../src/rollout/check_tokens.ts";
import { rollout } from "../../src/rollout/rollout.ts";
import { trainingRollout } from "../../src/rollout/training_rollout.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { FakeLlamaCpp, type FakeLlamaCppOptions } from "./fake_llama_cpp.ts";

const chatTemplate = await Deno.readTextFile(
  new URL("../goldens/qwen_like_template.jinja", import.meta.url),
);
const tokenizer = byteTokenizer({ chatTemplate });
const task = { id: "t", query: "hello" };

function fake(text: string, options: Partial<FakeLlamaCppOptions> = {}): FakeLlamaCpp {
  return new FakeLlamaCpp({ tokenizer, sample: () => tokenizer.encode(`${text}<|im_end|>`), ...options });
}

async function train(server: FakeLlamaCpp, options: Omit<LlamaCppPolicyOptions, "url"> = {}) {
  await using env = new ChatEnv({ systemPrompt: "s" });
  const policy = llamaCppPolicy({ url: server.url, backoffMs: 1, ...options });
  return await trainingRollout(env, policy, tokenizer, { task, maxSteps: 1, seed: 7 });
}

/** The sampled ids of a row, with their recorded log-probabilities and the model's. */
function sampledOf({ tokens, response_length, loss_mask, log_probs }: Awaited<ReturnType<typeof train>>) {
  const start = tokens.length - response_length;
  const places = loss_mask.flatMap((isSampled, at) => isSampled === 1 ? [at] : []);
  const ids = places.map((at) => tokens[start + at] ?? -1);
  return {
    text: tokenizer.decode(ids),
    prompt: tokens.slice(0, start),
    logProbs: log_probs === null ? null : places.map((at) => log_probs[at]),
    modelLogProbs: ids.map((id, at) => FakeLlamaCpp.logProbOf(start + at, id)),
  };
}

Deno.test("llamaCppPolicy() sends recorded prompts as ids and records all sampled ids with log-probabilities", async () => {
  await using server = fake("hello");
  const result = await train(server, { model: "m", samplingParams: { n_predict: 50, top_k: 20 } });
  assertEquals(result.errors, []);
  const { text, prompt, logProbs, modelLogProbs } = sampledOf(result);
  assertEquals([text, logProbs], ["hello<|im_end|>", modelLogProbs]);
  const request = server.seen.at(-1);
  assertEquals([request?.path, request?.body], ["/completion", {
    temperature: 1,
    top_k: 20,
    top_p: 1,
    min_p: 0,
    seed: 7,
    n_predict: 50,
    model: "m",
    prompt,
    stream: false,
    return_tokens: true,
    n_probs: 1,
    post_sampling_probs: false,
  }]);
  assertEquals(server.seen.length, 2, "the probe and the reply");
});

Deno.test("llamaCppPolicy() requests the log-probabilities of tokens that end within a character", async () => {
  // the second character repeats a byte, whose listed log-probability fits at three positions
  for (const text of ["a 👍", "\u{10410}é"]) {
    await using server = fake(text);
    const result = await train(server);
    assertEquals(result.errors, []);
    const { logProbs, modelLogProbs } = sampledOf(result);
    assertEquals(logProbs, modelLogProbs, text);
  }
});

Deno.test("llamaCppPolicy() records the tokens of a stop text, with their log-probabilities", async () => {
  await using server = fake("one STOP two");
  const result = await train(server, { samplingParams: { stop: ["STOP"] } });
  assertEquals(result.errors, []);
  assertEquals(result.messages.at(-1)?.content, "one ");
  const { text, logProbs, modelLogProbs } = sampledOf(result);
  assertEquals([text, logProbs], ["one STOP", modelLogProbs]);
});

Deno.test("llamaCppPolicy() records ids without log-probabilities if a missing one cannot be requested", async () => {
  await using server = fake("a 👍", { refusesGrammar: true });
  const result = await train(server);
  const { text, logProbs } = sampledOf(result);
  assertEquals([result.errors, text, logProbs], [[], "a 👍<|im_end|>", null]);
});

Deno.test("llamaCppPolicy() records a reply that the limit cut off as truncated", async () => {
  await using server = fake("hello world");
  const { status, turns, messages } = await train(server, { samplingParams: { n_predict: 5 } });
  assertEquals([status, turns[0]?.finish_reason, messages.at(-1)?.content], ["truncated", "length", "hello"]);
});

Deno.test("llamaCppPolicy() does not record replies whose tokens are not exact", async () => {
  const foreign = byteTokenizer({ chatTemplate, specialTokens: ["<start>", "<|im_end|>", "<|endoftext|>"] });
  const refusals: [Partial<FakeLlamaCppOptions>, string][] = [
    [{ lie: (body) => delete body.tokens }, "found no ids of the reply"],
    [{ lie: (body) => (body.tokens = []) }, "must return"],
    [{ lie: (body) => body.tokens.pop() }, "must return"],
    [{ lie: (body) => body.tokens_evaluated-- }, "ids of the prompt"],
    [{ lie: (body) => (body.content = "other") }, "must decode its ids to its text"],
    [{ tokenizer: foreign }, "must have the tokenizer of the record"],
  ];
  for (const [options, reason] of refusals) {
    await using server = fake("hello", options);
    const error = await assertRejects(() => train(server), TypeError, "Cannot train with policy 'llama.cpp'");
    assertStringIncludes(error.message, reason);
  }
});

Deno.test("llamaCppPolicy() does not record a reply during which the server dropped tokens of the context", async () => {
  await using server = fake("x".repeat(200), { contextSize: 200, shiftsContext: true });
  const { errors: [error] } = await train(server);
  assertEquals(error?.boundary, "tokens");
  assertStringIncludes(error?.message ?? "", "start it without --context-shift");
  await using full = fake("x".repeat(200), { contextSize: 200 });
  const { errors, status } = await train(full);
  assertEquals([errors, status], [[], "truncated"]);
});

Deno.test("llamaCppPolicy() needs ids or text, and evaluates without log-probabilities", async () => {
  await using server = fake("hello");
  const policy = llamaCppPolicy({ url: server.url });
  await using env = new ChatEnv({ inputMode: "tokens", tokenizer });
  const { messages, steps } = await rollout(env, policy, task);
  assertEquals([messages.at(-1)?.content, steps[0]?.finishReason], ["hello", "stop"]);
  assertEquals(server.seen[0]?.body.n_probs, undefined);
  await using plain = new ChatEnv();
  const { error } = await rollout(plain, policy, task);
  assertStringIncludes(error?.message ?? "", "the env must provide text or token ids: found neither");
});

Deno.test("checkTokens() trusts llama.cpp's server, with replies of many kinds", async () => {
  const replies = ["hello", "the world 👍", "漢字 and 🙂🙃", ""];
  await using server = new FakeLlamaCpp({
    tokenizer,
    sample: (_prompt, request) => tokenizer.encode(`${replies[request % replies.length]}<|im_end|>`),
  });
  const report = await checkTokens(llamaCppPolicy({ url: server.url }), tokenizer);
  assertEquals([report.ok, report.failure], [true, null], JSON.stringify(report.chats));
  assertEquals(report.chats.map(({ status }) => status), report.chats.map(() => "ok"));
});
