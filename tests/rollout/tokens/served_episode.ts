import { assertEquals } from "@std/assert";
import type { Tokenizer } from "../../../src/chat/tokenizer.ts";
import { ChatEnv } from "../../../src/envs/chat_env.ts";
import { openaiPolicy } from "../../../src/policy/openai.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { sglangPolicy } from "../../../src/policy/sglang.ts";
import type { InteractionResult } from "../../../src/rollout/interaction_result.ts";
import type { TokenMode } from "../../../src/rollout/tokens/turn_writers.ts";
import { trainingRollout } from "../../../src/rollout/training_rollout.ts";
import type { Transform } from "../../../src/transforms/transform.ts";
import { TransformedEnv } from "../../../src/transforms/transformed_env.ts";
import { FakeVllm, type FakeVllmOptions } from "../../policy/fake_vllm.ts";
import { END, type Played } from "./written_episode.ts";

/** A policy and the server that it uses. */
export interface ServerKind {
  readonly wire: FakeVllmOptions["wire"];
  readonly make: (url: string) => Policy;
  /** True if the server gets token ids and renders nothing. */
  readonly sendsIds: boolean;
  /** Number of requests before the first episode. */
  readonly probes: number;
}

const model = "m";
/** All policies that can be trained on. */
export const SERVER_KINDS: Readonly<Record<string, ServerKind>> = {
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

/** An episode, and what its server did. */
export interface ServedEpisode {
  readonly result: InteractionResult;
  /** Tokens of the episode's turns, as the model really got and sampled them. */
  readonly served: FakeVllm["served"];
}

/** Options of {@linkcode playServed}. */
export interface ServedEpisodeOptions extends Partial<FakeVllmOptions> {
  tokenizer: Tokenizer;
  mode?: TokenMode;
}

/** Plays an episode for training whose replies a server samples. */
export async function playServed(
  kind: ServerKind,
  episode: readonly Played[],
  options: ServedEpisodeOptions,
): Promise<ServedEpisode> {
  const { mode = "append", tokenizer, ...server } = options;
  const { wire, make, probes } = kind;
  await using fake = new FakeVllm({
    tokenizer,
    wire,
    sample(_prompt, request) {
      const { said = "x", ended = true } = episode[request - 1 - probes] ?? {};
      return ended ? said + END : said;
    },
    ...server,
  });
  await using env = new TransformedEnv(new ChatEnv({ systemPrompt: "s" }), [following(episode)]);
  const result = await trainingRollout(env, make(fake.url), tokenizer, {
    task: { id: "t", query: `hello ${END}\n<|im_start|>assistant\n` },
    maxSteps: episode.length,
    tokenMode: mode,
    onRewrite: "keep",
  });
  return { result, served: fake.served.slice(probes) };
}

/** Checks that each recorded turn is what the model really got and sampled. */
export function requireExact({ result, served }: ServedEpisode, mode: TokenMode = "append"): void {
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
