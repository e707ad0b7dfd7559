import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { PolicyError } from "../../src/errors.ts";
import type { Policy, Reply } from "../../src/policy/policy.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { sglangPolicy } from "../../src/policy/sglang.ts";
import { exactMatch } from "../../src/rewards/text_match.ts";
import type { InteractionResult } from "../../src/rollout/interaction_result.ts";
import { trainingRollout, type TrainingRolloutOptions } from "../../src/rollout/training_rollout.ts";
import { EndOnFinalReply } from "../../src/transforms/end_episode.ts";
import { GradeEpisode } from "../../src/transforms/grade_episode.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { FakeServer } from "../policy/fake_server.ts";
import { RecordedEnv, type Recording } from "../recorded_env.ts";

const tokenizer = byteTokenizer();
const END = "<|im_end|>";
const CALL = '<tool_call>\n{"name": "search", "arguments": {"q": "a"}}\n</tool_call>';
const STOP = "thanks ###STOP###";

/** A policy that samples these texts, ids and all; a reply given as it is is given on. */
function sampling(...replies: (string | Reply | Error)[]): Policy & { prompts: string[] } {
  const prompts: string[] = [];
  let turn = 0;
  return {
    prompts,
    name: "sampling",
    reply(_history, { text = "" }) {
      prompts.push(text);
      const reply = replies[turn++];
      if (reply === undefined) return Promise.reject(new PolicyError("there is no further reply"));
      if (reply instanceof Error) return Promise.reject(reply);
      if (typeof reply !== "string") return Promise.resolve(reply);
      const ids = tokenizer.encode(reply + END);
      const tokens = { ids, logProbs: ids.map(() => -0.25) };
      return Promise.resolve({
        message: { role: "assistant", content: reply },
        tokens,
        finishReason: "stop",
      });
    },
  };
}

async function play(
  recording: Recording,
  policy: Policy,
  options: TrainingRolloutOptions = {},
): Promise<{ result: InteractionResult; env: RecordedEnv }> {
  await using env = new RecordedEnv(recording);
  return { result: await trainingRollout(env, policy, tokenizer, { family: "qwen", ...options }), env };
}

function consistent(result: InteractionResult): void {
  const { tokens, loss_mask, response_length, log_probs, prompt } = result;
  assertEquals(loss_mask.length, response_length);
  assertEquals(tokens.length, tokenizer.encode(prompt).length + response_length);
  if (log_probs !== null) assertEquals(log_probs.length, response_length);
  assertEquals(JSON.parse(JSON.stringify(result)), result, "it is one JSON line");
}

Deno.test("trainingRollout() plays to the end and returns reward, parts, messages, tokens and info", async () => {
  const recording = { observations: ["found", STOP], reward: 1, rewardParts: { database: 1, outputs: null } };
  const { result, env } = await play(recording, sampling(CALL, "It is a."));
  consistent(result);
  assertEquals(result.status, "completed");
  assertEquals([result.reward, result.reward_parts], [1, { database: 1, outputs: null }]);
  assertEquals(result.response, `${CALL}It is a.`);
  assertEquals(result.messages.slice(2), [
    { role: "assistant", content: CALL },
    { role: "tool", name: "search", content: "found" },
    { role: "assistant", content: "It is a." },
    { role: "user", content: STOP },
  ]);
  assertEquals(env.actions, [
    { name: "search", kwargs: { q: "a" } },
    { name: "respond", kwargs: { content: "It is a." } },
  ]);
  assertEquals(result.info, { task: { index: 0 }, source: "user" });
  const sampled = result.turns.map(({ sampled: { start = 0, length = 0 } = {} }) =>
    tokenizer.decode(result.tokens.slice(start, start + length))
  );
  assertEquals(sampled, [CALL + END, `It is a.${END}`]);
  assertEquals(result.tool_calls.map(({ tool, status }) => [tool, status]), [["search", "ok"]]);
  assertEquals(result.task_id, "recorded/test/0");
});

Deno.test("trainingRollout() asks for one call per reply in each prompt", async () => {
  const policy = sampling(CALL, "bye");
  const { result } = await play({ observations: ["found", STOP] }, policy);
  assertStringIncludes(result.prompt, "you are allowed to call one or no function");
  assert(policy.prompts.every((prompt) => prompt.startsWith(result.prompt)));
  const other = await play({ observations: [STOP] }, sampling("x"), { editPrompt: (prompt) => `!${prompt}` });
  assert(other.result.prompt.startsWith("!<|im_start|>"));
});

Deno.test("trainingRollout() with no steps is truncated after the prompt", async () => {
  const { result } = await play({ observations: [] }, sampling(), { maxSteps: 0 });
  consistent(result);
  assertEquals([result.status, result.response, result.response_length], ["truncated", "", 0]);
  assertEquals([result.reward, result.errors], [null, []]);
});

Deno.test("trainingRollout() is truncated when no steps are left", async () => {
  const { result } = await play({ observations: ["a", "b"] }, sampling(CALL, CALL), { maxSteps: 2 });
  consistent(result);
  assertEquals([result.status, result.reward, result.turns.length], ["truncated", 0, 2]);
  assert(tokenizer.decode(result.tokens).endsWith(`</tool_response>${END}\n`), "no header of a further turn");
});

Deno.test("trainingRollout() leaves out a reply that the server aborted", async () => {
  const aborted: Reply = { message: { role: "assistant", content: "hal" }, finishReason: "abort" };
  const { result } = await play({ observations: ["found"] }, sampling(CALL, aborted));
  consistent(result);
  assertEquals(result.status, "aborted");
  assertEquals(result.response, CALL);
  assertEquals(result.errors.map(({ boundary, fault }) => [boundary, fault]), [["policy", "aborted"]]);
});

Deno.test("trainingRollout() gives no reward for an episode that ends before its env is done", async () => {
  const aborted: Reply = { message: { role: "assistant", content: "hal" }, finishReason: "abort" };
  const failures: (Reply | Error)[][] = [[aborted], [new PolicyError("down")]];
  for (const [failure = aborted] of failures) {
    for (const replies of [[failure], [CALL, failure], [CALL, CALL, failure]]) {
      const { result } = await play({ observations: ["a", "b", "c"] }, sampling(...replies));
      assertEquals([result.status, result.reward], ["aborted", null], `after ${replies.length - 1} steps`);
    }
  }
});

Deno.test("trainingRollout() keeps a reply that was cut off, and masks the end token that was not sampled", async () => {
  const cut: Reply = {
    message: { role: "assistant", content: "<tool_call>\n{", is_complete: false },
    tokens: { ids: tokenizer.encode("<tool_call>\n{") },
    finishReason: "length",
  };
  const { result, env } = await play({ observations: [STOP] }, sampling(cut));
  consistent(result);
  assertEquals(env.actions, [{ name: "respond", kwargs: { content: "<tool_call>\n{" } }]);
  const masked = result.tokens.slice(-result.response_length).filter((_id, at) => result.loss_mask[at] === 1);
  assertEquals(tokenizer.decode(masked), "<tool_call>\n{");
  assertEquals(result.turns[0]?.finish_reason, "length");
  assertEquals(result.log_probs, null);
});

Deno.test("trainingRollout() runs the first of several calls and records the others", async () => {
  const nope = CALL.replace("search", "nope");
  const bad = "<tool_call>\n{oops}\n</tool_call>";
  const { result, env } = await play(
    { observations: ["one", STOP] },
    sampling([nope, CALL, CALL, bad].join("\n"), "x"),
  );
  assertEquals(env.actions.map(({ name }) => name), ["search", "respond"]);
  assertEquals(result.tool_calls.map(({ call, tool, status }) => [call, tool, status]), [
    [2, "search", "ok"],
    [1, "nope", "unknown_tool"],
    [3, "search", "refused"],
    [4, "?", "bad_arguments"],
  ]);
});

Deno.test("trainingRollout() leaves out a reply that makes the parser throw", async () => {
  const toolCalls = {
    parse: () => {
      throw new Error("no grammar");
    },
    faultText: () => "",
    render: () => [],
  };
  const { result } = await play({ observations: [STOP] }, sampling("x"), { toolCalls });
  consistent(result);
  assertEquals([result.status, result.response, result.response_length], ["aborted", "", 0]);
  assertEquals(result.messages.map(({ role }) => role), ["system", "user"]);
  assertEquals(result.errors.map(({ boundary }) => boundary), ["parser"]);
  assertEquals(result.turns.map(({ sampled }) => sampled), [undefined]);
});

Deno.test("trainingRollout() keeps the reply at which the env failed", async () => {
  const { result } = await play(
    { observations: ["found", new Error("the user is gone")] },
    sampling(CALL, "x"),
  );
  consistent(result);
  assertEquals([result.status, result.response], ["aborted", `${CALL}x`]);
  assertEquals(result.messages.at(-1), { role: "assistant", content: "x" });
  assert(tokenizer.decode(result.tokens).endsWith(`x${END}\n`));
  assertEquals(result.errors.map(({ boundary, message }) => [boundary, message]), [[
    "env",
    "the user is gone",
  ]]);
});

Deno.test("trainingRollout() ends an episode whose server and tokenizer do not match", async () => {
  const wrong: Reply = {
    message: { role: "assistant", content: "x" },
    tokens: { ids: tokenizer.encode("yy") },
  };
  const { result } = await play({ observations: ["found"] }, sampling(CALL, wrong));
  consistent(result);
  assertEquals([result.status, result.response], ["aborted", CALL]);
  assertEquals(result.errors.map(({ boundary }) => boundary), ["tokens"]);
  assertEquals(result.turns.map(({ sampled }) => sampled !== undefined), [true, false]);
});

Deno.test("trainingRollout() records an unknown task as an error of the episode", async () => {
  await using env = new RecordedEnv({ observations: [] });
  env.reset = () => Promise.reject(new RangeError("Cannot reset as task 9 is out of range"));
  const result = await trainingRollout(env, sampling(), tokenizer, { taskIndex: 9 });
  consistent(result);
  assertEquals([result.status, result.prompt, result.tokens], ["aborted", "", []]);
  assertStringIncludes(result.errors[0]?.message ?? "", "out of range");
});

Deno.test("trainingRollout() returns a partial result when it is stopped, and resumes from it", async () => {
  const observations = ["one", "two", STOP];
  const stop = new AbortController();
  const whole = await play({ observations, reward: 1 }, sampling(CALL, `${CALL} `, "x"));
  const first = sampling(CALL);
  const stopping: Policy = {
    reply: async (history, context) => {
      if (history.length > 2) stop.abort();
      context.signal?.throwIfAborted();
      return await first.reply(history, context);
    },
  };
  const part = await play({ observations, reward: 1 }, stopping, { signal: stop.signal });
  consistent(part.result);
  assertEquals([part.result.status, part.result.response, part.result.errors], ["aborted", CALL, []]);
  const saved = JSON.parse(JSON.stringify(part.result));
  const rest = sampling(`${CALL} `, "x");
  const { result } = await play({ observations, reward: 1 }, rest, { resume: saved });
  assertEquals(rest.prompts.length, 2, "what was sampled is not sampled again");
  const { timings: _one, turns: _two, tool_calls: _three, ...resumed } = result;
  const { timings: _four, turns: _five, tool_calls: _six, ...expected } = whole.result;
  assertEquals(resumed, expected);
});

Deno.test("trainingRollout() resumes from a reply whose stop text the server cut off", async () => {
  const reply = {
    message: { role: "assistant", content: "x" },
    tokens: { ids: tokenizer.encode("x STOP") },
    finishReason: "stop",
    stopText: " STOP",
  };
  const { result: saved } = await play({ observations: ["one"] }, sampling(reply), { maxSteps: 1 });
  const { result } = await play({ observations: ["one", STOP] }, sampling("y"), { resume: saved });
  assertEquals([result.status, result.errors, result.turns[0]?.stop_text], ["completed", [], " STOP"]);
  assertStringIncludes(tokenizer.decode(result.tokens), "x STOP<|im_end|>");
});

Deno.test("trainingRollout() does not resume if the env responds differently", async () => {
  const { result: saved } = await play({ observations: ["one"] }, sampling(CALL), { maxSteps: 1 });
  const { result } = await play({ observations: ["other", STOP] }, sampling("x"), { resume: saved });
  assertEquals(result.errors.map(({ boundary }) => boundary), ["env"]);
  assertStringIncludes(result.errors[0]?.message ?? "", 'message 3 is tool "other", it was tool "one"');
});

Deno.test("trainingRollout() resumes an episode whose env failed, with the reply at the failure", async () => {
  const failing = ["one", new Error("down")];
  const { result: saved } = await play({ observations: failing }, sampling(CALL, "x"));
  const resume = { ...saved, weight_version: "7" };
  const { result } = await play({ observations: ["one", STOP] }, sampling(), { resume });
  consistent(result);
  assertEquals(result.weight_version, "7");
  assertEquals([result.status, result.response], ["completed", `${CALL}x`]);
});

Deno.test("trainingRollout() plays any env, with reward null if it is not scored", async () => {
  const task = { id: "sum", query: "2 + 2?", answer: "4", replies: ["4"] };
  const chat = () =>
    new TransformedEnv(new ChatEnv({ systemPrompt: "Say one number." }), [new EndOnFinalReply()]);
  await using env = chat();
  const unscored = await trainingRollout(env, scriptedPolicy(), tokenizer, { task, family: "chatml" });
  consistent(unscored);
  assertEquals([unscored.status, unscored.reward, unscored.response], ["completed", null, "4"]);
  await using graded = chat().append(new GradeEpisode({ grader: exactMatch() }));
  const scored = await trainingRollout(graded, scriptedPolicy(), tokenizer, { task, family: "chatml" });
  assertEquals(scored.reward, 1);
  assertEquals(tokenizer.decode(scored.tokens.slice(-scored.response_length)), `4${END}\n`);
  assertEquals(scored.loss_mask, [1, 1, 0]);
  await assertRejects(() => trainingRollout(env, scriptedPolicy(), tokenizer), TypeError, "'task'");
});

Deno.test("trainingRollout() rejects invalid options before anything starts", async () => {
  await using env = new RecordedEnv({ observations: [] });
  const go = (options: TrainingRolloutOptions) => () => trainingRollout(env, sampling(), tokenizer, options);
  await assertRejects(go({ maxSteps: -1 }), RangeError, "'maxSteps' must be >= 0: current value is -1");
  await assertRejects(go({ tokenMode: "other" as "append" }), RangeError, "'append' or 'rerender'");
  await assertRejects(go({ family: "nope" }), RangeError, "'nope'");
});

Deno.test("trainingRollout() tells the server to stop sampling when it is stopped", async () => {
  const stop = new AbortController();
  const released = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  await using server = new FakeServer(async ({ path }) => {
    if (path === "/abort_request") {
      aborted.resolve();
      released.resolve();
      return new Response();
    }
    stop.abort();
    await released.promise;
    return Response.json({});
  });
  const policy = sglangPolicy({ url: server.url });
  const { result } = await play({ observations: [] }, policy, { signal: stop.signal });
  await aborted.promise;
  assertEquals([result.status, result.errors], ["aborted", []]);
  const [generate, abort] = server.seen;
  assertEquals([generate?.path, abort?.path], ["/generate", "/abort_request"]);
  assertEquals(abort?.body, { rid: generate?.body.rid });
});

Deno.test("trainingRollout() reports a server that gives no response, or an incomplete one", async () => {
  const answers: [() => Response, string][] = [
    [
      () => new Response("out of memory", { status: 500 }),
      "answered 500 Internal Server Error: out of memory",
    ],
    [() => new Response("<html></html>"), "sent a response that is not JSON: found '<html></html>'"],
    [() => new Response('{"text": "hal'), 'sent a response that is not JSON: found \'{"text": "hal\''],
    [() => Response.json({ text: "no more" }), "sent a response unlike that of /generate: meta_info"],
  ];
  for (const [answer, says] of answers) {
    await using server = new FakeServer(answer);
    const { result } = await play({ observations: [] }, sglangPolicy({ url: server.url }));
    consistent(result);
    assertEquals([result.status, result.response_length, server.seen.length], ["aborted", 0, 1]);
    assertEquals(result.errors[0]?.boundary, "policy");
    assertStringIncludes(result.errors[0]?.message ?? "", says);
  }
});
