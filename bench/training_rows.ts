import type { Tokenizer } from "../src/chat/tokenizer.ts";
import { History } from "../src/history.ts";
import { sglangPolicy } from "../src/policy/sglang.ts";
import { EpisodeWriter } from "../src/rollout/tokens/episode_writer.ts";
import { TokenFormat } from "../src/rollout/tokens/token_format.ts";
import { median, ratePerSecond, timings } from "./measure.ts";
import type { Row } from "./row.ts";

const END = "<|im_end|>";
const TASK = { id: "bench", query: "q" };
/** Typical lengths of a reply and of a tool result. */
const REPLY = "word ".repeat(40);
const TOOL_RESULT = "found ".repeat(60);

/** A tokenizer with one token per character, so that the code around a tokenizer is measured. */
const CHARACTERS: Tokenizer = {
  name: "characters",
  eosToken: END,
  specialTokens: ["<|im_start|>", END],
  encode: (text) => Array.from(text, (character) => character.codePointAt(0) ?? 0),
  decode: (ids) => ids.map((id) => String.fromCodePoint(id)).join(""),
};

/** Measures token writing by the length of an episode, and concurrent calls to a server. */
export async function trainingRows(setup: { readonly effort: number }): Promise<Row[]> {
  return [...await tokenRows(setup.effort), ...await callRows(setup.effort)];
}

async function tokenRows(effort: number): Promise<Row[]> {
  const format = new TokenFormat({ tokenizer: CHARACTERS, family: "qwen" });
  const rows: Row[] = [];
  const rates = new Map<number, number>();
  for (const turns of [1, 10, 50]) {
    let tokens = 0;
    const runs = Math.ceil(200 / turns) * effort;
    const times = await timings(() => Promise.resolve(tokens = writtenTokens(turns, format)), {
      runs,
      warmup: Math.ceil(runs / 4),
    });
    const rate = tokens / (median(times) / 1_000);
    rates.set(turns, rate);
    const what = `tokens through append mode, ${turns} turn${turns === 1 ? "" : "s"}`;
    rows.push({ what, value: rate, unit: "/s" });
  }
  const ratio = (rates.get(50) ?? NaN) / (rates.get(10) ?? NaN);
  return [...rows, { what: "the same, 50 turns against 10", value: ratio, unit: "×", bound: 0.7 }];
}

/** Writes an episode of `turns` turns, and returns its number of tokens. */
function writtenTokens(turns: number, format: TokenFormat): number {
  const writer = new EpisodeWriter({ tokenizer: CHARACTERS, format });
  let history = History.fromChats([{ role: "user", content: "Find it." }]);
  writer.start({ task: TASK, history: { prompt: history } });
  const ids = CHARACTERS.encode(REPLY + END);
  const message = { role: "assistant", content: REPLY };
  for (let turn = 0; turn < turns; turn++) {
    void writer.prompt; // as a policy is given it
    writer.reply({ message, tokens: { ids } });
    history = history.append(message).append({ role: "tool", name: "f", content: TOOL_RESULT });
    writer.step(history);
  }
  return writer.tokens().ids.length;
}

const IN_FLIGHT = 64;
const ANSWER_MS = 20;

async function callRows(effort: number): Promise<Row[]> {
  let running = 0;
  let most = 0;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
    running--;
    return Response.json({ text: "x", output_ids: [120], meta_info: { finish_reason: { type: "stop" } } });
  });
  const policy = sglangPolicy({ url: `http://127.0.0.1:${server.addr.port}`, concurrency: IN_FLIGHT });
  const history = History.fromChats([{ role: "user", content: "q" }]);
  const tokens = CHARACTERS.encode(TOOL_RESULT);
  const call = () => policy.reply(history, { task: TASK, tokens });
  const rate = (lanes: number) => ratePerSecond(call, { lanes, ms: 1_000 * effort });
  const one = await rate(1);
  const many = await rate(2 * IN_FLIGHT);
  const what = `calls of ${ANSWER_MS} ms to a server of SGLang's kind`;
  return [
    { what: `${what}, one at a time`, value: one, unit: "/s" },
    { what: `${what}, ${2 * IN_FLIGHT} wanted at once`, value: many, unit: "/s" },
    { what: "maximum of calls in flight", value: most, unit: "calls", bound: IN_FLIGHT },
    { what: "many calls against one", value: many / one, unit: "×", bound: 15 },
  ];
}
