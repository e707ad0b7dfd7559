import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Tokenizer } from "../../src/chat/tokenizer.ts";
import { openaiPolicy } from "../../src/policy/openai.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { sglangPolicy } from "../../src/policy/sglang.ts";
import { checkTokens, type TokenReport } from "../../src/rollout/check_tokens.ts";
import type { TokenProblemKind } from "../../src/rollout/tokens/token_problem.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { FakeVllm, type FakeVllmOptions } from "../policy/fake_vllm.ts";
import { tinyTokenizer } from "../tiny_tokenizer.ts";

const chatTemplate = await Deno.readTextFile(
  new URL("../goldens/qwen_like_template.jinja", import.meta.url),
);
const tokenizer = await tinyTokenizer({ chatTemplate });

const END = "<|im_end|>";
const REPLIES = [
  "hello",
  "the world 👍",
  '<tool_call>\n{"name": "search", "arguments": {}}\n</tool_call>',
  "",
];

/** Replies of many kinds, in turn. */
function sample(_prompt: string, request: number): string {
  return `${REPLIES[request % REPLIES.length]}${END}`;
}

type Server = Omit<FakeVllmOptions, "tokenizer" | "sample"> & Partial<FakeVllmOptions>;
type Api = "completions" | "chat" | "generate";

const POLICIES: Readonly<Record<Api, (url: string) => Policy>> = {
  completions: (url) => openaiPolicy({ url, model: "m" }),
  chat: (url) => openaiPolicy({ url, model: "m", api: "chat" }),
  generate: (url) => sglangPolicy({ url }),
};
const APIS = Object.keys(POLICIES) as Api[];

async function check(api: Api, server: Server = {}): Promise<{ report: TokenReport; requests: number }> {
  await using fake = new FakeVllm({
    tokenizer,
    sample,
    wire: api === "generate" ? "sglang" : "vllm",
    ...server,
  });
  const report = await checkTokens(POLICIES[api](fake.url), tokenizer);
  return { report, requests: fake.seen.length };
}

Deno.test("checkTokens() trusts honest servers", async () => {
  const wires: [Api, FakeVllmOptions["wire"]][] = [
    ["completions", "vllm"],
    ["completions", "sglang"],
    ["chat", "vllm"],
    ["chat", "sglang"],
    ["chat", "sglang-0.5.13"],
    ["generate", "sglang"],
  ];
  for (const [api, wire] of wires) {
    const { report, requests } = await check(api, { wire });
    assertEquals([report.ok, report.failure], [true, null], JSON.stringify(report.chats));
    assertEquals(report.chats.map(({ status }) => status), report.chats.map(() => "ok"));
    assertEquals(report.chats.reduce((sum, { replies }) => sum + replies, 0), requests);
    assert(report.chats.every(({ sampledTokens, promptTokens }) => sampledTokens > 0 && promptTokens > 0));
    assertEquals(JSON.parse(JSON.stringify(report)), report, "it is plain data");
  }
});

// deno-lint-ignore no-explicit-any -- each test knows the response that it changes
type Body = any;

const plusOne = (id: number) => (id + 1) % 260;

/** Changes the ids of a reply, and those beside its log-probabilities. */
function changeReply(body: Body, change: (ids: number[]) => number[]): void {
  const { choices: [choice] = [], meta_info: info } = body;
  if (choice?.token_ids) choice.token_ids = change(choice.token_ids);
  if (!info) return;
  body.output_ids = change(body.output_ids);
  const listed = info.output_token_logprobs;
  const ids = change(listed.map(([, id]: number[]) => id));
  info.output_token_logprobs = ids.map((id, at) => [listed[at]?.[0] ?? -1, id, null]);
}

function changePrompt(body: Body, change: (ids: number[]) => number[]): void {
  const { choices: [choice] = [], meta_info: info } = body;
  if (choice?.prompt_token_ids) choice.prompt_token_ids = change(choice.prompt_token_ids);
  if (body.prompt_token_ids) body.prompt_token_ids = change(body.prompt_token_ids);
  if (!info) return;
  const ids = change(info.input_token_logprobs.map(([, id]: number[]) => id));
  info.input_token_logprobs = ids.map((id) => [-0.5, id, null]);
  info.prompt_tokens = ids.length;
}

function dropLogProbs(body: Body): void {
  const [choice] = body.choices ?? [];
  if (choice) choice.logprobs = null;
  else delete body.meta_info.output_token_logprobs;
}

function dropIds(body: Body): void {
  for (const place of [body, ...body.choices ?? []]) {
    for (const key of ["prompt_token_ids", "token_ids", "output_ids"]) delete place[key];
  }
  delete body.meta_info?.output_token_logprobs;
  delete body.meta_info?.input_token_logprobs;
}

function withoutSystem(prompt: number[]): number[] {
  const text = tokenizer.decode(prompt);
  const end = text.startsWith("<|im_start|>system") ? text.indexOf("<|im_start|>", 1) : 0;
  return tokenizer.encode(text.slice(end));
}

const late = (lie: (body: Body) => void) => (body: Body, request: number) => request >= 9 && lie(body);

interface Lie {
  readonly server: Server;
  readonly kinds: readonly TokenProblemKind[];
  /** APIs for which the lie is possible. @default all */
  readonly apis?: readonly Api[];
}

/** Servers whose tokens cannot be trusted. */
const LIES: Readonly<Record<string, Lie>> = {
  "reply ids off by one": {
    server: { lie: (body) => changeReply(body, (ids) => ids.map(plusOne)) },
    kinds: ["reply"],
  },
  "reply ids off by one, late": {
    server: { lie: late((body) => changeReply(body, (ids) => ids.map(plusOne))) },
    kinds: ["reply"],
  },
  "ids of the reply without the first": {
    server: { lie: (body) => changeReply(body, (ids) => ids.slice(1)) },
    kinds: ["reply", "data"],
  },
  "prompt ids off by one": {
    server: { lie: (body) => changePrompt(body, (ids) => ids.map(plusOne)) },
    kinds: ["prompt"],
  },
  "one prompt id changed, late": {
    server: { lie: late((body) => changePrompt(body, (ids) => ids.with(-2, plusOne(ids.at(-2) ?? 0)))) },
    kinds: ["prompt"],
  },
  "a token before the prompt": {
    server: { editPrompt: (ids) => [...tokenizer.encode("<s>"), ...ids] },
    kinds: ["prompt", "data"],
  },
  "a truncated prompt": { server: { editPrompt: (ids) => ids.slice(-40) }, kinds: ["prompt", "data"] },
  "dropped system turns": { server: { editPrompt: withoutSystem }, kinds: ["prompt", "data"] },
  "a prompt that is encoded by another tokenizer": {
    server: { editPrompt: (ids) => byteTokenizer().encode(tokenizer.decode(ids)) },
    kinds: ["prompt", "data"],
  },
  "another template": {
    server: { chatTemplate: chatTemplate.replaceAll("'<|im_end|>' + '\\n'", "'<|im_end|>\\n\\n'") },
    kinds: ["prompt"],
    apis: ["chat"],
  },
  "system turns that are not rendered": {
    server: { editMessages: (messages) => messages.filter(({ role }) => role !== "system") },
    kinds: ["prompt"],
    apis: ["chat"],
  },
  "tool turns as the user's": {
    server: {
      editMessages: (messages) =>
        messages.map((message) => message.role === "tool" ? { ...message, role: "user" } : message),
    },
    kinds: ["prompt"],
    apis: ["chat"],
  },
  "separate reasoning": {
    server: { separatesReasoning: true, sample: () => `<think>\nhm\n</think>\n\nhello${END}` },
    kinds: ["prompt"],
    apis: ["chat"],
  },
  "reasoning that is missing in the text": {
    server: {
      sample: () => `<think>\nhm\n</think>\n\nhello${END}`,
      lie: (body) => {
        const [choice] = body.choices ?? [body];
        const place = choice.message ?? choice;
        for (const key of ["content", "text"]) {
          place[key] = place[key]?.replace(/^<think>[^]*<\/think>\n*/, "");
        }
      },
    },
    kinds: ["reply"],
  },
  "no log-probabilities": { server: { lie: dropLogProbs }, kinds: ["log_probs"] },
  "no log-probabilities, late": { server: { lie: late(dropLogProbs) }, kinds: ["log_probs"] },
  "positive log-probabilities": {
    server: {
      lie: (body) => {
        const [choice] = body.choices ?? [];
        for (const entry of choice?.logprobs?.content ?? []) entry.logprob = 1;
        if (choice?.logprobs?.token_logprobs) choice.logprobs.token_logprobs.fill(1);
        for (const entry of body.meta_info?.output_token_logprobs ?? []) entry[0] = 1;
      },
    },
    kinds: ["log_probs"],
  },
  "no ids": { server: { lie: dropIds }, kinds: ["data"] },
  "only OpenAI's API": { server: { wire: "openai" }, kinds: ["data"], apis: ["completions", "chat"] },
};

for (const [name, { server, kinds, apis = APIS }] of Object.entries(LIES)) {
  Deno.test(`checkTokens() reports a server with ${name}`, async () => {
    for (const api of apis) {
      const { report } = await check(api, server);
      assertEquals(report.ok, false, api);
      const problems = report.chats.flatMap(({ problem }) => problem ?? []);
      assert(problems.length > 0, api);
      for (const { kind, message } of problems) assert(kinds.includes(kind), `${api}: ${kind}: ${message}`);
    }
  });
}

Deno.test("checkTokens() reports the first position that differs, both ids, and the text around it", async () => {
  const prompt = await check("generate", { lie: (body) => changePrompt(body, (ids) => ids.with(3, 7)) });
  const { problem } = prompt.report.chats[0] ?? {};
  assertEquals([problem?.kind, problem?.reply, problem?.position, problem?.serverId], ["prompt", 1, 3, 7]);
  assertEquals(problem?.expectedText?.startsWith("<|im_start|>"), true);
  assertEquals(problem?.expectedText === problem?.serverText, false);
  const ids = tokenizer.encode(`a hello${END}`);
  const reply = await check("completions", {
    sample: () => ids,
    lie: (body) => changeReply(body, (ids) => ids.with(2, 70)),
  });
  const { problem: inReply } = reply.report.chats[0] ?? {};
  assertEquals([inReply?.kind, inReply?.reply, inReply?.position], ["reply", 1, 2]);
  assertEquals([inReply?.expectedId, inReply?.serverId], [ids[2], 70]);
});

Deno.test("checkTokens() names the chats in which control tokens change the prompt", async () => {
  const { report } = await check("chat", {
    editMessages: (messages) =>
      messages.map((message) => ({ ...message, content: String(message.content).replaceAll("\u200b", "") })),
  });
  const failed = report.chats.flatMap(({ chat, status }) => status === "failed" ? [chat] : []);
  assert(failed.includes("control tokens") && failed.includes("control tokens of tools"), failed.join());
  assert(!failed.includes("question") && !failed.includes("turns"), failed.join());
});

Deno.test("checkTokens() ends at the first request when the server is unreachable, refuses it, or has no ids", async () => {
  const policy = sglangPolicy({ url: "http://127.0.0.1:1", retries: 0 });
  const unreachable = await checkTokens(policy, tokenizer);
  assertEquals([unreachable.ok, unreachable.chats.length], [false, 1]);
  assertStringIncludes(unreachable.failure ?? "", "http://127.0.0.1:1/generate");
  const other = await check("completions", { wire: "openai" });
  assertEquals([other.report.chats.length, other.requests], [1, 1]);
  assertStringIncludes(other.report.failure ?? "", "vLLM 0.10.2");
});

Deno.test("checkTokens() skips chats that the template rejects, and fails if it rejects all", async () => {
  const rejecting = (condition: string): Tokenizer => ({
    ...tokenizer,
    chatTemplate:
      `{% for m in messages %}{% if ${condition} %}{{ raise_exception('no such role') }}{% endif %}` +
      "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
  });
  await using server = new FakeVllm({ tokenizer, sample, wire: "sglang" });
  const policy = sglangPolicy({ url: server.url });
  const some = await checkTokens(policy, rejecting("m.role == 'tool'"));
  const skipped = some.chats.flatMap(({ chat, status }) => status === "skipped" ? [chat] : []);
  assertEquals([some.ok, skipped], [true, ["tools", "thoughts", "control tokens of tools"]]);
  assertStringIncludes(some.chats.find(({ chat }) => chat === "tools")?.reason ?? "", "no such role");
  const none = await checkTokens(policy, rejecting("true"));
  assertEquals([none.ok, none.chats.every(({ status }) => status === "skipped")], [false, true]);
  assertStringIncludes(none.failure ?? "", "rejects all chats");
});

Deno.test("checkTokens() rejects when it is aborted, and reports each chat before", async () => {
  const stop = new AbortController();
  const names: string[] = [];
  await using server = new FakeVllm({ tokenizer, sample });
  const onStart = ({ name, number }: { name: string; number: number }) => {
    names.push(name);
    if (number === 3) stop.abort(new DOMException("stop", "AbortError"));
  };
  const checked: string[] = [];
  const onChat = ({ chat }: { chat: string }) => void checked.push(chat);
  const policy = openaiPolicy({ url: server.url, model: "m" });
  await assertRejects(
    () => checkTokens(policy, tokenizer, { onStart, onChat, signal: stop.signal }),
    DOMException,
    "stop",
  );
  assertEquals([names, checked], [["question", "turns", "tools"], ["question", "turns"]]);
});

Deno.test("checkTokens() refuses a token mode that the template does not allow", async () => {
  const policy = scriptedPolicy({ replies: () => ["a"] });
  const options = { family: "dialogpt", onRewrite: "error" } as const;
  await assertRejects(() => checkTokens(policy, tokenizer, options), TypeError, "dialogpt");
});

Deno.test("checkTokens() skips chats that the server cannot hold, and fails if it holds none", async () => {
  const holding = async (maxTokens: number) => {
    await using server = new FakeVllm({
      tokenizer,
      sample,
      wire: "vllm",
      refuse: (promptIds) =>
        promptIds.length <= maxTokens ? undefined : Response.json({
          error: {
            code: 400,
            message: "request exceeds the available context size",
            type: "exceed_context_size_error",
          },
        }, { status: 400 }),
    });
    return await checkTokens(POLICIES.completions(server.url), tokenizer);
  };
  const some = await holding(2_000);
  const skipped = some.chats.filter(({ status }) => status === "skipped");
  assertEquals([some.ok, skipped.map(({ chat }) => chat)], [true, ["long"]]);
  assertEquals(skipped[0]?.skippedBy, "context");
  assertStringIncludes(skipped[0]?.reason ?? "", "exceeds the available context size");
  const none = await holding(0);
  assertEquals([none.ok, none.chats.every(({ status }) => status === "skipped")], [false, true]);
  assertStringIncludes(none.failure ?? "", "the context of the model must hold a chat");
});
