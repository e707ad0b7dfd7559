import { assertEquals } from "@std/assert";
import type { ToolInfo } from "../../src/envs/tool_user_env.ts";
import type { Message } from "../../src/message.ts";
import { type Policy, toReply } from "../../src/policy/policy.ts";
import { sglangPolicy } from "../../src/policy/sglang.ts";
import type { InteractionResult } from "../../src/rollout/interaction_result.ts";
import type { TokenMode } from "../../src/rollout/tokens/turn_writers.ts";
import { trainingRollout } from "../../src/rollout/training_rollout.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { FakeServer, type SeenRequest } from "../policy/fake_server.ts";
import { RecordedEnv } from "../recorded_env.ts";

interface Golden {
  readonly name: string;
  readonly domain: "retail" | "airline";
  readonly llm: readonly { text: string; meta_info: { finish_reason: { type: string } } }[];
  readonly user: readonly string[];
  readonly max_num_steps: number;
  readonly requests_sent: number;
  readonly payload_keys: readonly string[];
  readonly status: string;
  readonly reward: number;
  readonly response: string;
  readonly response_length: number;
  readonly messages: readonly Message[];
  readonly prompt_sha256: string;
  readonly prompt_chars: number;
  readonly prompt_tail: string;
  readonly segments: readonly Segment[];
  readonly info: Readonly<Record<string, unknown>>;
  readonly last_payload_text_sha256: string;
}

interface Segment {
  readonly mask: number;
  readonly n: number;
  readonly text: string;
}

interface Domain {
  readonly wiki: string;
  readonly tools_info: readonly ToolInfo[];
}

interface Replayed {
  readonly result: InteractionResult;
  /** The bodies of the requests. */
  readonly seen: readonly SeenRequest["body"][];
}

const GOLDENS = new URL("../goldens/", import.meta.url);
const [chatTemplate, goldens, domains] = await Promise.all([
  Deno.readTextFile(new URL("qwen_like_template.jinja", GOLDENS)),
  readJson<Golden[]>("slime_asolve.json"),
  readJson<Record<string, Domain>>("tau_bench_tools_info.json"),
]);
const tokenizer = byteTokenizer({ chatTemplate });
const END = "<|im_end|>";

/*
 * What differs from the recorded runs of slime, and why:
 *
 * 1. The line break behind an end token has loss mask 0, and slime's has 1: no model samples it.
 * 2. The end token that closes a reply cut off by `length` has 0, and slime's has 1: it was put there. (Case
 *    "length finish is parsed normally".)
 * 3. The message of such a reply says so, with `is_complete: false`; slime's does not.
 * 4. A request has two keys more: `return_logprob`, which gives the ids and log-probabilities, and with a signal
 *    `rid`, by which it can be aborted. By default it sends `input_ids` instead of `text`.
 * 5. The env is a recording: its observations, reward and reward_info are those of the golden.
 */
function expectedSegments({ segments, llm }: Golden): { mask: number; text: string }[] {
  const expected: { mask: number; text: string }[] = [];
  let turn = 0;
  for (const { mask, text } of segments) {
    if (mask === 0) {
      expected.push({ mask, text: (expected.pop()?.text ?? "") + text });
      continue;
    }
    const isCut = llm[turn++]?.meta_info.finish_reason.type === "length";
    const unsampled = isCut ? `${END}\n` : "\n";
    expected.push({ mask, text: text.slice(0, -unsampled.length) }, { mask: 0, text: unsampled });
  }
  return expected;
}

for (const tokenMode of ["append", "rerender"] as const) {
  for (const source of ["text", "ids"] as const) {
    Deno.test({
      name: `trainingRollout() reproduces ${goldens.length} rollouts of slime, ${tokenMode} from ${source}`,
      fn: async (t) => {
        for (const golden of goldens) {
          await t.step(golden.name, () => reproduces(golden, tokenMode, source));
        }
      },
    });
  }
}

function expectedMessages({ messages, llm }: Golden, wiki: string): Message[] {
  let turn = 0;
  return messages.map((message, at) => {
    if (at === 0) return { ...message, content: wiki };
    if (message.role !== "assistant") return message;
    const isCut = llm[turn++]?.meta_info.finish_reason.type === "length";
    return isCut ? { ...message, is_complete: false } : message;
  });
}

async function reproduces(golden: Golden, tokenMode: TokenMode, source: "text" | "ids"): Promise<void> {
  const { result, seen } = await replay(golden, tokenMode, source);
  const { wiki = "" } = domains[golden.domain] ?? {};
  assertEquals(result.messages, expectedMessages(golden, wiki));
  assertEquals(result.errors, []);
  assertEquals(result.status, golden.status);
  assertEquals(result.reward, golden.reward);
  assertEquals(result.response, golden.response);
  assertEquals(result.response_length, golden.response_length);
  assertEquals(segmentsOf(result), expectedSegments(golden));
  assertEquals(await sha256(result.prompt), golden.prompt_sha256);
  assertEquals([...result.prompt].length, golden.prompt_chars);
  assertEquals(result.prompt.endsWith(golden.prompt_tail), true);
  assertEquals(result.tokens.length, tokenizer.encode(result.prompt).length + golden.response_length);
  assertEquals(result.info, golden.info);
  assertEquals(seen.length, golden.requests_sent);
  const [last] = seen.slice(-1);
  const prompt = source === "text" ? last.text : tokenizer.decode(last.input_ids);
  assertEquals(await sha256(prompt), golden.last_payload_text_sha256);
  const keys = Object.keys(last).filter((key) => key !== "return_logprob");
  assertEquals(
    keys.toSorted(),
    golden.payload_keys.map((key) => key === "text" ? inputKey(source) : key).toSorted(),
  );
  assertEquals(result.log_probs?.length, source === "ids" ? golden.response_length : undefined);
}

async function replay(golden: Golden, tokenMode: TokenMode, source: "text" | "ids"): Promise<Replayed> {
  const { wiki = "", tools_info = [] } = domains[golden.domain] ?? {};
  const [hello = ""] = golden.user;
  const observations = golden.messages.slice(2).filter(({ role }) => role !== "assistant")
    .map(({ content }) => String(content));
  await using env = new RecordedEnv({
    wiki,
    toolsInfo: tools_info,
    hello,
    observations,
    ...expectedResult(golden),
  });
  await using server = new FakeServer((_request, count) => {
    const answer = golden.llm[count - 1];
    if (answer === undefined) return new Response("no more replies", { status: 500 });
    return Response.json(source === "text" ? answer : withIds(answer));
  });
  const samplingParams = { temperature: 0, max_new_tokens: 512, top_p: 0.9, top_k: 50 };
  const sglang = sglangPolicy({ url: server.url, samplingParams, input: source });
  const policy = source === "text" ? textOnly(sglang) : sglang;
  const result = await trainingRollout(env, policy, tokenizer, {
    tokenMode,
    maxSteps: golden.max_num_steps,
  });
  return { result, seen: server.seen.map(({ body }) => body) };
}

/** As slime samples: the prompt is text, and the text of a reply is encoded. By itself the policy refuses to train so. */
function textOnly(policy: Policy): Policy {
  return {
    async reply(history, { recordedChat: _, ...context }) {
      const { message } = toReply(await policy.reply(history, context));
      return { message };
    },
  };
}

/** What the env tells when the episode is done. */
function expectedResult({ reward, info: { task, source: _source, ...ending } }: Golden) {
  return { reward, task, ending };
}

/** The response of a server with log-probabilities: the end token is sampled, but not in the text. */
function withIds({ text, meta_info }: Golden["llm"][number]): object {
  const said = meta_info.finish_reason.type === "length" || text.endsWith(END) ? text : text + END;
  const output_ids = tokenizer.encode(said);
  const output_token_logprobs = output_ids.map((id) => [-0.5, id, null]);
  return { text, output_ids, meta_info: { ...meta_info, output_token_logprobs } };
}

function segmentsOf({ tokens, loss_mask }: InteractionResult): { mask: number; text: string }[] {
  const ids = tokens.slice(tokens.length - loss_mask.length);
  const segments: { mask: number; ids: number[] }[] = [];
  for (const [at, id] of ids.entries()) {
    const mask = loss_mask[at] ?? -1;
    if (segments.at(-1)?.mask === mask) segments.at(-1)?.ids.push(id);
    else segments.push({ mask, ids: [id] });
  }
  return segments.map(({ mask, ids }) => ({ mask, text: tokenizer.decode(ids) }));
}

function inputKey(source: "text" | "ids"): string {
  return source === "text" ? "text" : "input_ids";
}

async function readJson<T>(name: string): Promise<T> {
  return JSON.parse(await Deno.readTextFile(new URL(name, GOLDENS)));
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
}
