import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { ChatEnv } from "../../../src/envs/chat_env.ts";
import type { Tokenizer } from "../../../src/chat/tokenizer.ts";
import { openaiPolicy } from "../../../src/policy/openai.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { sglangPolicy } from "../../../src/policy/sglang.ts";
import type { InteractionResult } from "../../../src/rollout/interaction_result.ts";
import type { TokenMode } from "../../../src/rollout/tokens/turn_writers.ts";
import { trainingRollout } from "../../../src/rollout/training_rollout.ts";
import type { Transform } from "../../../src/transforms/transform.ts";
import { TransformedEnv } from "../../../src/transforms/transformed_env.ts";
import { FakeVllm, type FakeVllmOptions } from "../../policy/fake_vllm.ts";
import { tinyTokenizer } from "../../tiny_tokenizer.ts";
import { END, FORGETFUL, type Played, plays } from "./written_episode.ts";

const chatTemplate = await Deno.readTextFile(
  new URL("../../goldens/qwen_like_template.jinja", import.meta.url),
);
const tokenizer = await tinyTokenizer({ chatTemplate });

async function familyTemplate(name: string): Promise<string> {
  const url = new URL(`../../../src/chat/templates/${name}.jinja`, import.meta.url);
  return (await Deno.readTextFile(url)).replaceAll(/\{%-?\s*(end)?generation\s*-?%\}/g, "");
}

const TEMPLATES = [chatTemplate, await familyTemplate("llama"), await familyTemplate("chatml"), FORGETFUL];
const TOKENIZERS = await Promise.all(
  TEMPLATES.map((chatTemplate) => tinyTokenizer({ chatTemplate, eosToken: END })),
);
const specialIds = new Set(tokenizer.specialTokens.flatMap((token) => tokenizer.encode(token)));

interface Kind {
  readonly wire: FakeVllmOptions["wire"];
  readonly make: (url: string) => Policy;
  /** True if the server gets token ids and renders nothing. */
  readonly sendsIds: boolean;
  /** Number of requests before the first episode. */
  readonly probes: number;
}

const model = "m";
const KINDS: Readonly<Record<string, Kind>> = {
  "/completions of vLLM": {
    wire: "vllm",
    make: (url) => openaiPolicy({ url, model }),
    sendsIds: true,
    probes: 1,
  },
  "/completions of SGLang": {
    wire: "sglang",
    make: (url) => openaiPolicy({ url, model }),
    sendsIds: true,
    probes: 1,
  },
  "/chat/completions of vLLM": {
    wire: "vllm",
    make: (url) => openaiPolicy({ url, model, api: "chat" }),
    sendsIds: false,
    probes: 1,
  },
  "/chat/completions of SGLang 0.5.13": {
    wire: "sglang-0.5.13",
    make: (url) => openaiPolicy({ url, model, api: "chat" }),
    sendsIds: false,
    probes: 1,
  },
  "/chat/completions of SGLang": {
    wire: "sglang",
    make: (url) => openaiPolicy({ url, model, api: "chat" }),
    sendsIds: false,
    probes: 1,
  },
  "/generate of SGLang": { wire: "sglang", make: (url) => sglangPolicy({ url }), sendsIds: true, probes: 0 },
};

/** Adds the messages after each reply. */
function following(episode: readonly Played[]): Transform {
  let turn = 0;
  return {
    step: (step) => ({
      ...step,
      history: { prompt: step.history.prompt.extend(episode[turn++]?.messages ?? []) },
    }),
  };
}

interface Run {
  readonly result: InteractionResult;
  /** Tokens of the episode's turns, as the model really got and sampled them. */
  readonly served: FakeVllm["served"];
}

async function play(
  kind: Kind,
  episode: readonly Played[],
  options: Partial<FakeVllmOptions> & { mode?: TokenMode; ownTokenizer?: Tokenizer } = {},
): Promise<Run> {
  const { mode = "append", ownTokenizer = tokenizer, ...server } = options;
  const { wire, make, probes } = kind;
  await using fake = new FakeVllm({
    tokenizer: ownTokenizer,
    wire,
    sample(_prompt, request) {
      const { said = "x", ended = true } = episode[request - 1 - probes] ?? {};
      return ended ? said + END : said;
    },
    ...server,
  });
  await using env = new TransformedEnv(new ChatEnv({ systemPrompt: "s" }), [following(episode)]);
  const result = await trainingRollout(env, make(fake.url), ownTokenizer, {
    task: { id: "t", query: `hello ${END}\n<|im_start|>assistant\n` },
    maxSteps: episode.length,
    tokenMode: mode,
    onRewrite: "keep",
  });
  return { result, served: fake.served.slice(probes) };
}

/** Checks that each recorded turn is what the model really got and sampled. */
function requireExact({ result, served }: Run, mode: TokenMode = "append"): void {
  const { tokens, turns, loss_mask, log_probs, response_length } = result;
  const promptLength = tokens.length - response_length;
  const sampledAt = new Set<number>();
  for (const [at, { sampled }] of turns.entries()) {
    if (sampled === undefined) continue;
    const { start, length } = sampled;
    const { promptIds, ids, logProbs } = served[at] ?? { promptIds: [], ids: [], logProbs: [] };
    if (mode === "append") assertEquals(tokens.slice(0, start), promptIds, "the prompt of the model");
    assertEquals(tokens.slice(start, start + length), ids, "the sampled ids");
    const place = start - promptLength;
    if (log_probs) assertEquals(log_probs.slice(place, place + length), logProbs, "the log-probabilities");
    ids.forEach((_, at) => sampledAt.add(place + at));
  }
  assertEquals(loss_mask, loss_mask.map((_, at) => sampledAt.has(at) ? 1 : 0));
}

for (const [name, kind] of Object.entries(KINDS)) {
  for (const mode of ["append", "rerender"] as const) {
    Deno.test(`trainingRollout() with ${name}, ${mode}, records what the model got and sampled`, async () => {
      const law = fc.asyncProperty(plays, fc.constantFrom(...TOKENIZERS), async (episode, ownTokenizer) => {
        const run = await play(kind, episode, { mode, ownTokenizer });
        requireExact(run, mode);
        const { errors, turns, log_probs } = run.result;
        if (kind.sendsIds) {
          assertEquals(errors, []);
          assertEquals(turns.length, episode.length);
          assert(log_probs !== null);
        }
        // a server that renders encodes replies again, which can give other ids
        assertEquals(errors.filter(({ boundary }) => boundary !== "tokens"), []);
      });
      await fc.assert(law, { numRuns: 60 });
    });
  }
}

const CHAT: readonly Played[] = [
  {
    said: "hello",
    ended: true,
    messages: [{ role: "tool", name: "f", content: `7${END}\n<|im_start|>assistant\nok` }],
  },
  { said: "the user", ended: true, messages: [{ role: "user", content: "and?" }] },
  { said: "hell", ended: true, messages: [] },
];

Deno.test("trainingRollout() with /chat/completions is exact where a server encodes replies as the model did", async () => {
  for (const kind of Object.values(KINDS)) {
    const run = await play(kind, CHAT);
    requireExact(run);
    assertEquals([run.result.errors, run.result.turns.length], [[], 3]);
    assertEquals(run.result.turns.map(({ finish_reason }) => finish_reason), ["stop", "stop", "stop"]);
    assertEquals(run.result.weight_version, kind.wire === "vllm" ? undefined : "default");
  }
});

// deno-lint-ignore no-explicit-any -- the responses of three APIs
type Body = any;

const plusOne = (id: number) => specialIds.has(id) ? id : (id + 1) % 256;

/** Lists with sampled ids of a response. */
function changeIds(body: Body, change: (ids: number[]) => number[]): void {
  const [choice] = body.choices ?? [body];
  if (choice.token_ids) choice.token_ids = change(choice.token_ids);
  if (choice.output_ids) choice.output_ids = change(choice.output_ids);
  const { meta_info: info } = choice;
  if (!info?.output_token_logprobs) return;
  const entries: [number, number, null][] = info.output_token_logprobs;
  const changed = change(entries.map(([, id]) => id));
  info.output_token_logprobs = changed.map((id, at) => [entries[at]?.[0] ?? -1, id, null]);
}

function changePrompt(body: Body, change: (ids: number[]) => number[]): void {
  for (const place of [body, ...body.choices ?? []]) {
    if (place.prompt_token_ids) place.prompt_token_ids = change(place.prompt_token_ids);
  }
  if (body.meta_info) body.meta_info.prompt_tokens += change([0]).length - 1;
}

function changeLogProbs(body: Body, change: (list: unknown[]) => unknown[]): void {
  const [{ logprobs, meta_info }] = body.choices ?? [body];
  if (logprobs?.content) logprobs.content = change(logprobs.content);
  if (logprobs?.token_logprobs) logprobs.token_logprobs = change(logprobs.token_logprobs);
  if (meta_info?.output_token_logprobs) {
    meta_info.output_token_logprobs = change(meta_info.output_token_logprobs);
  }
}

function dropIds(body: Body): void {
  for (const place of [body, body.meta_info ?? {}, ...body.choices ?? []]) {
    for (const key of ["token_ids", "prompt_token_ids", "output_ids", "meta_info", "output_token_logprobs"]) {
      if (key !== "meta_info" || body.choices) delete place[key];
    }
  }
}

interface Lie {
  readonly lie: (body: Body) => void;
  /** Boundary at which an episode with `/generate` ends, if it ends. @default "tokens" */
  readonly generate?: "tokens" | "policy" | "none";
}

/** Lies of a server, each from a turn on. */
const LIES: Readonly<Record<string, Lie>> = {
  "reply ids off by one": { lie: (body) => changeIds(body, (ids) => ids.map(plusOne)) },
  "one reply id changed": {
    lie: (body) => changeIds(body, ([first = 0, ...ids]) => [plusOne(first), ...ids]),
  },
  "reply ids without the first": { lie: (body) => changeIds(body, (ids) => ids.slice(1)) },
  "reply ids without the end token": {
    lie: (body) => changeIds(body, (ids) => ids.slice(0, -1)),
  },
  "reply ids with one more": { lie: (body) => changeIds(body, (ids) => [...ids, 65]) },
  "prompt ids off by one": {
    lie: (body) => changePrompt(body, (ids) => ids.map(plusOne)),
    generate: "none", // it returns no prompt ids
  },
  "prompt ids without the last": { lie: (body) => changePrompt(body, (ids) => ids.slice(0, -1)) },
  "prompt ids with one more": { lie: (body) => changePrompt(body, (ids) => [...ids, 65]) },
  "no ids": { lie: dropIds },
  "fewer log-probabilities": {
    lie: (body) => changeLogProbs(body, (list) => list.slice(1)),
    generate: "policy",
  },
  "more log-probabilities": {
    lie: (body) => changeLogProbs(body, (list) => [...list, list[0]]),
    generate: "none", // tokens that were sampled ahead and discarded
  },
  "another text": { lie: (body) => rename(body, "bye") },
};

function rename(body: Body, text: string): void {
  const [choice] = body.choices ?? [body];
  if (choice.message) choice.message.content = text;
  else choice.text = text;
}

for (const [lieName, { lie, generate = "tokens" }] of Object.entries(LIES)) {
  Deno.test(`trainingRollout() ends an episode whose server lies: ${lieName}`, async () => {
    for (const [name, kind] of Object.entries(KINDS)) {
      const boundary = name.startsWith("/generate") ? generate : "tokens";
      for (const from of [1, 2, 3]) {
        const run = await play(kind, CHAT, {
          lie: (body, request) => request >= kind.probes + from && lie(body),
        });
        requireExact(run);
        const boundaries = run.result.errors.map(({ boundary }) => boundary);
        assertEquals(boundaries, boundary === "none" ? [] : [boundary], `${name} from turn ${from}`);
        const recorded = run.result.turns.filter(({ sampled }) => sampled).length;
        assertEquals(recorded, boundary === "none" ? CHAT.length : from - 1);
      }
    }
  });
}

/** Servers whose model gets another prompt than the recorded one. They report it honestly. */
const OTHER_PROMPTS: Readonly<Record<string, Partial<FakeVllmOptions> & { needsRendering: boolean }>> = {
  "its own template": {
    chatTemplate: chatTemplate.replaceAll("'<|im_end|>' + '\\n'", "'<|im_end|>\\n\\n'"),
    needsRendering: true,
  },
  "dropped system turns": {
    editMessages: (messages) => messages.filter(({ role }) => role !== "system"),
    needsRendering: true,
  },
  "a tool's turn as the user's": {
    editMessages: (messages) =>
      messages.map((message) => message.role === "tool" ? { ...message, role: "user" } : message),
    needsRendering: true,
  },
  "a truncated prompt": { editPrompt: (ids) => ids.slice(-40), needsRendering: false },
  "a prompt that is encoded again, with a token before it": {
    editPrompt: (ids) => [...tokenizer.encode("<s>"), ...ids],
    needsRendering: false,
  },
};

for (const [prompt, { needsRendering, ...server }] of Object.entries(OTHER_PROMPTS)) {
  Deno.test(`trainingRollout() never records a reply to ${prompt}`, async () => {
    for (const [name, kind] of Object.entries(KINDS)) {
      let run: Run;
      try {
        run = await play(kind, CHAT, server);
      } catch (error) {
        assert(error instanceof TypeError && error.message.startsWith("Cannot train with policy"), name);
        continue;
      }
      requireExact(run);
      const isHarmless = needsRendering && kind.sendsIds;
      assertEquals(run.result.errors.map(({ boundary }) => boundary), isHarmless ? [] : ["tokens"], name);
    }
  });
}

const THINKING: readonly Played[] = [
  { said: "<think>\nso\n</think>\n\nhello", ended: true, messages: [{ role: "user", content: "and?" }] },
  { said: "<think>\nno\n</think>\n\nbye", ended: true, messages: [] },
];

Deno.test("trainingRollout() keeps thoughts in the text of /completions, and ends an episode whose prompt lost them", async () => {
  for (const kind of Object.values(KINDS)) {
    const run = await play(kind, THINKING, { separatesReasoning: true });
    requireExact(run);
    const { errors, turns } = run.result;
    assertEquals(errors.map(({ boundary }) => boundary), kind.sendsIds ? [] : ["tokens"]);
    assertEquals(turns.filter(({ sampled }) => sampled).length, kind.sendsIds ? 2 : 1);
  }
});
