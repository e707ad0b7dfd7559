import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ChatEnv, type ChatEnvOptions } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import type { Observation } from "../../src/envs/env.ts";
import { History } from "../../src/history.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { rollout } from "../../src/rollout/rollout.ts";
import type { Task } from "../../src/task.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { tinyTokenizer } from "../tiny_tokenizer.ts";

const TASK = { id: "t", query: "q" };

Deno.test("ChatEnv.reset() puts the system prompt before the query at each reset", async () => {
  await using env = new ChatEnv({ systemPrompt: "s" });
  const expected = [{ role: "system", content: "s" }, { role: "user", content: "q" }];
  assertEquals((await env.reset(TASK)).history.prompt.toChats(), expected);
  await env.step(replyAction("a"));
  assertEquals((await env.reset(TASK)).history.prompt.toChats(), expected);
});

Deno.test("ChatEnv.step() appends the reply and does not end", async () => {
  await using env = new ChatEnv();
  await env.reset(TASK);
  const { history, reward, terminated, truncated } = await env.step(replyAction("a"));
  assertEquals(history.prompt.toChats(), [{ role: "user", content: "q" }, {
    role: "assistant",
    content: "a",
  }]);
  assertEquals({ reward, terminated, truncated }, { reward: null, terminated: false, truncated: false });
});

Deno.test("ChatEnv.step() uses 'full' unchanged", async () => {
  await using env = new ChatEnv();
  await env.reset(TASK);
  const full = History.fromChats([{ role: "user", content: "other" }]);
  assertEquals((await env.step({ history: { full } })).history.prompt.toChats(), full.toChats());
});

Deno.test("ChatEnv rejects invalid tasks and actions", async () => {
  const env = new ChatEnv();
  await assertRejects(() => env.step(replyAction("a")), Error, "before the first reset");
  await assertRejects(() => env.reset({ id: "t", query: "" }), TypeError, "task 't' is empty");
  await env.reset(TASK);
  const empty = { history: { response: History.fromChats([]) } };
  await assertRejects(() => env.step(empty), TypeError, "'history.response' has no message");
  await env[Symbol.asyncDispose]();
  await env[Symbol.asyncDispose]();
  await assertRejects(() => env.reset(TASK), Error, "disposed");
});

const tokenizer = await tinyTokenizer();
const QUERY = "I'm the user. I'm going to tell you a little about something.";
const SYSTEM = "I'm system, do what I want.";
const PROMPT = `<|im_start|>system\n${SYSTEM}<|im_end|>\n<|im_start|>user\n${QUERY}<|im_end|>\n` +
  "<|im_start|>assistant\n";
const SAID = "This is the action from the assistant!<|im_end|>";
const task: Task = { id: "t", query: QUERY };
const MESSAGES = [
  { role: "system", content: SYSTEM },
  { role: "user", content: QUERY },
  { role: "assistant", content: "This is the action from the assistant!" },
];

function chatEnv(options: ChatEnvOptions): ChatEnv {
  return new ChatEnv({ tokenizer, systemPrompt: SYSTEM, ...options });
}

Deno.test("ChatEnv in text mode renders the query and appends the response", async () => {
  for (
    const action of [{ text: { response: SAID } }, { text: { full: PROMPT + SAID, response: "ignored" } }]
  ) {
    await using env = chatEnv({ inputMode: "text" });
    const first = await env.reset(task);
    assertEquals(first.text?.prompt, PROMPT);
    assertEquals(first.history.prompt.toChats(), MESSAGES.slice(0, 2));
    assertEquals(first.tokens, undefined);
    const step = await env.step(action);
    assertEquals(step.text?.prompt, PROMPT + SAID);
    assertEquals(step.history.prompt.toChats(), MESSAGES);
    assertEquals([step.terminated, step.truncated, step.reward], [false, false, null]);
  }
});

Deno.test("ChatEnv in tokens mode keeps the sampled ids, however they split the text", async () => {
  const prompt = tokenizer.encode(PROMPT);
  const sampled = [..."hello"].flatMap((letter) => tokenizer.encode(letter)).concat(
    tokenizer.encode("<|im_end|>"),
  );
  for (const action of [{ tokens: { response: sampled } }, { tokens: { full: [...prompt, ...sampled] } }]) {
    await using env = chatEnv({ inputMode: "tokens" });
    assertEquals((await env.reset(task)).tokens?.prompt, prompt);
    const step = await env.step(action);
    assertEquals(step.tokens?.prompt, [...prompt, ...sampled]);
    assertEquals(step.text, undefined);
    assertEquals(step.history.prompt.last, { role: "assistant", content: "hello" });
  }
});

Deno.test("▲ ragged prompts: concurrent envs in tokens mode keep prompts of different lengths", async () => {
  const prompts = await Promise.all(["a", "a much longer question"].map(async (query) => {
    await using env = chatEnv({ inputMode: "tokens" });
    return (await env.reset({ id: query, query })).tokens?.prompt ?? [];
  }));
  assertEquals(prompts.map((ids) => tokenizer.decode(ids).includes("a much longer question")), [false, true]);
});

Deno.test("ChatEnv accepts messages as a response in each mode", async () => {
  for (const inputMode of ["history", "text", "tokens"] as const) {
    await using env = chatEnv({ inputMode });
    await env.reset(task);
    const { history, text, tokens } = await env.step(replyAction("hello"));
    assertEquals(history.prompt.last, { role: "assistant", content: "hello" });
    assertEquals(text?.prompt, inputMode === "text" ? `${PROMPT}hello` : undefined);
    const ids = [...tokenizer.encode(PROMPT), ...tokenizer.encode("hello")];
    assertEquals(tokens?.prompt, inputMode === "tokens" ? ids : undefined);
  }
});

Deno.test("ChatEnv plays complete episodes in each mode", async () => {
  for (const inputMode of ["history", "text", "tokens"] as const) {
    await using env = new TransformedEnv(chatEnv({ inputMode }), [new StepCounter({ maxSteps: 2 })]);
    const { error, messages } = await rollout(env, scriptedPolicy(), { ...task, replies: ["a", "b"] });
    assertEquals(error, undefined);
    assertEquals(messages.map(({ role }) => role), ["system", "user", "assistant", "assistant"]);
  }
});

Deno.test("▲ missing 'full': ChatEnv.step() names the missing key of an action", async () => {
  for (const inputMode of ["history", "text", "tokens"] as const) {
    await using env = chatEnv({ inputMode });
    await env.reset(task);
    const message = `the action must have '${inputMode}.full' or '${inputMode}.response': found 'command'`;
    await assertRejects(() => env.step({ command: "ls" }), TypeError, message);
    for (const key of ["history", "text", "tokens"]) {
      const message = `must have '${key}.full' or '${key}.response': it has none`;
      await assertRejects(() => env.step(JSON.parse(`{"${key}":{}}`)), TypeError, message);
    }
  }
});

Deno.test("ChatEnv.step() rejects an action that changes the prompt, and accepts the next one", async () => {
  await using text = chatEnv({ inputMode: "text" });
  await text.reset(task);
  await assertRejects(
    () => text.step({ text: { full: "x" } }),
    TypeError,
    "'text.full' must start with the prompt",
  );
  assertEquals((await text.step({ text: { response: SAID } })).text?.prompt, PROMPT + SAID);
  await using tokens = chatEnv({ inputMode: "tokens" });
  await tokens.reset(task);
  await assertRejects(
    () => tokens.step({ tokens: { full: [1] } }),
    TypeError,
    "'tokens.full' must start with",
  );
});

Deno.test("ChatEnv.step() rejects ids unknown to the tokenizer, and accepts the next action", async () => {
  await using env = chatEnv({ inputMode: "tokens" });
  const { tokens: { prompt = [] } = {} } = await env.reset(task);
  for (const id of [999_999, -1, 1.5, "1", null]) {
    const message = `as it must be a list of ids of tokenizer 'tiny': id 1 is ${JSON.stringify(id)}`;
    const response = [1, id] as number[];
    await assertRejects(() => env.step({ tokens: { response } }), TypeError, message);
  }
  const unknown = { tokens: { full: [...prompt, 999_999] } };
  await assertRejects(() => env.step(unknown), TypeError, `'tokens.full' as it must be`);
  const text = { tokens: { response: Object("abc") } };
  await assertRejects(() => env.step(text), TypeError, 'current value is "abc"');
  assertEquals((await env.step({ tokens: { response: [1] } })).tokens?.prompt, [...prompt, 1]);
});

Deno.test("ChatEnv renders with the given template and variables", async () => {
  const options = { inputMode: "text", family: "falcon", systemPrompt: undefined } as const;
  await using falcon = chatEnv(options);
  assertEquals((await falcon.reset(task)).text?.prompt, `User: ${QUERY}\n\nAssistant:`);
  const chatTemplate = "{{ mood }}{{ messages[0].content }}";
  await using own = chatEnv({
    ...options,
    chatTemplate,
    templateKwargs: { mood: ":)" },
    tokenizer: undefined,
  });
  assertEquals((await own.reset(task)).text?.prompt, `:)${QUERY}`);
});

Deno.test("ChatEnv uses the given roles", async () => {
  await using env = chatEnv({
    inputMode: "text",
    systemRole: "developer",
    userRole: "human",
    policyRole: "model",
  });
  await env.reset(task);
  const { history } = await env.step({ text: { response: "a<|im_end|>" } });
  assertEquals([...history.prompt].map(({ role }) => role), ["developer", "human", "model"]);
  assertEquals(history.prompt.last?.content, "a");
});

Deno.test("ChatEnv.reset() accepts a list of messages or a History as the query, and puts the system prompt first", async () => {
  const query = [{ role: "user", content: "q" }, { role: "assistant", content: "a" }];
  for (const given of [query, History.fromChats(query), new Set(query)]) {
    await using env = chatEnv({});
    const { history }: Observation = await env.reset({ id: "t", query: given });
    assertEquals(history.prompt.toChats(), [{ role: "system", content: SYSTEM }, ...query]);
  }
});

Deno.test("ChatEnv.reset() reads the query under 'dataKey'", async () => {
  await using env = new ChatEnv({ dataKey: "question" });
  const { history } = await env.reset({ id: "t", query: "other", fields: { question: "q" } });
  assertEquals(history.prompt.toChats(), [{ role: "user", content: "q" }]);
  await assertRejects(
    () => env.reset({ id: "t", query: "other", fields: { prompt: "q" } }),
    TypeError,
    "the task must have a 'question' key: it has id, query, fields, prompt",
  );
});

Deno.test("ChatEnv.reset() rejects a query that is null, missing, empty, or not a conversation", async () => {
  await using env = new ChatEnv();
  const refused: [string, string][] = [
    ['{"id":"t","query":null}', "must be text or messages: it is null"],
    ['{"id":"t"}', "the task must have a 'query' key: it has id"],
    ['{"id":"t","query":""}', "'query' of task 't' is empty"],
    ['{"id":"t","query":[]}', "'query' of task 't' is empty"],
    ['{"id":"t","query":7}', "must be text or messages: it is number"],
    ['{"id":"t","query":{"role":"user"}}', "must be text or messages: it is object"],
    ['{"id":"t","query":[{"role":"user"}]}', "Cannot take message 0"],
    ["null", "it must be given a task: it is given null"],
  ];
  for (const [json, message] of refused) {
    await assertRejects(() => env.reset(JSON.parse(json)), TypeError, message);
  }
  assertEquals((await env.reset(task)).history.prompt.length, 1);
});

Deno.test("ChatEnv rejects an unknown mode, and a mode without its tokenizer", () => {
  const inputMode = JSON.parse('"X"');
  assertThrows(() => new ChatEnv({ inputMode }), RangeError, "Invalid input mode: X");
  assertThrows(() => new ChatEnv({ inputMode: "text" }), TypeError, "You must specify a tokenizer to use");
  assertThrows(() => new ChatEnv({ inputMode: "tokens" }), TypeError, "You must specify a tokenizer to use");
  assertThrows(
    () => new ChatEnv({ inputMode: "tokens", family: "qwen" }),
    TypeError,
    "Cannot create ChatEnv with inputMode 'tokens' as 'tokenizer' is required",
  );
  assertThrows(
    () => new ChatEnv({ inputMode: "text", tokenizer, family: "tokenizer" }),
    TypeError,
    "tokenizer 'tiny' as it has none",
  );
});
