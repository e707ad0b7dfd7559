import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { FakeVllmOptions } from "../../policy/fake_vllm.ts";
import { tinyTokenizer } from "../../tiny_tokenizer.ts";
import {
  playServed,
  requireExact,
  type ServedEpisode,
  type ServedEpisodeOptions,
  SERVER_KINDS as KINDS,
  type ServerKind,
} from "./served_episode.ts";
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

function play(
  kind: ServerKind,
  episode: readonly Played[],
  options: Partial<ServedEpisodeOptions> = {},
): Promise<ServedEpisode> {
  return playServed(kind, episode, { tokenizer, ...options });
}

for (const [name, kind] of Object.entries(KINDS)) {
  for (const mode of ["append", "rerender"] as const) {
    Deno.test(`trainingRollout() with ${name}, ${mode}, records what the model got and sampled`, async () => {
      const law = fc.asyncProperty(plays, fc.constantFrom(...TOKENIZERS), async (episode, tokenizer) => {
        const run = await play(kind, episode, { mode, tokenizer });
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
      let run: ServedEpisode;
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
