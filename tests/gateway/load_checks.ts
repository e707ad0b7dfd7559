/**
 * Plays 1,000 sessions of 8 turns at once, and checks every row. It prints the CPU time of a turn, with that of the
 * client and the model server, which are in the same process, the latency with one turn open, and the memory of a session.
 */
import { assertEquals } from "@std/assert";
import { cpuUsage } from "node:process";
import { TokenFormat } from "../../src/rollout/tokens/token_format.ts";
import { requireExact } from "./exact_rows.ts";
import { TestGateway } from "./open_gateway.ts";
import { call, tokenizer } from "./scripted_model.ts";

const [SESSIONS, TURNS] = [1_000, 8];
const TOOL = {
  type: "function",
  function: { name: "add", description: "Adds.", parameters: { type: "object" } },
};
const SYSTEM = { role: "system", content: "You are a careful assistant. ".repeat(40) };

function sample(prompt: string): string {
  const turn = prompt.split("<|im_start|>assistant").length - 1;
  const task = /CASE-\d+/.exec(prompt)?.[0] ?? "?";
  return turn < TURNS
    ? `I look at ${task}.\n${call("add", `{"b": ${turn},  "a":1.0}`)}`
    : `Done with ${task}.`;
}

async function play(test: TestGateway, at: number): Promise<{ id: string; times: readonly number[] }> {
  const { key, id } = await test.open({ task: { id: `t${at}` } });
  const messages: object[] = [SYSTEM, { role: "user", content: `CASE-${at} Please add.` }];
  const times: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const start = performance.now();
    const response = await test.send("/v1/chat/completions", { model: "m", messages, tools: [TOOL] }, {
      key,
    });
    const { choices: [{ message }] } = await response.json();
    times.push(performance.now() - start);
    messages.push(message);
    for (const { id } of message.tool_calls ?? []) {
      messages.push({ role: "tool", tool_call_id: id, content: `result ${turn} `.repeat(20) });
    }
  }
  return { id, times };
}

async function reward(test: TestGateway, { id, at }: { id: string; at: number }): Promise<void> {
  await test.send(`/v1/gateway/sessions/${id}/reward`, { reward: at % 2 });
}

/** Returns the bytes of the heap after garbage collection. */
function heapBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return Deno.memoryUsage().heapUsed;
}

/** A model server in this process, without HTTP, so that the time is that of the gateway. */
function sampler(sampled: { prompt: readonly number[]; ids: readonly number[] }[]) {
  return {
    name: "m",
    sample(
      { tokens = [], text = "" }: { tokens?: readonly number[] | undefined; text?: string | undefined },
    ) {
      const content = sample(text);
      const ids = tokenizer.encode(`${content}<|im_end|>`);
      sampled.push({ prompt: tokens, ids });
      const logProbs = ids.map(() => -0.25);
      const message = { role: "assistant", content };
      return Promise.resolve({ message, tokens: { ids, logProbs }, promptIds: tokens, finishReason: "stop" });
    },
  };
}

Deno.test("1,000 sessions with 8 turns each have right rows only", async () => {
  const sampled: { prompt: readonly number[]; ids: readonly number[] }[] = [];
  const format = new TokenFormat({ tokenizer, family: "qwen" });
  await using test = new TestGateway(() => "", { sampler: sampler(sampled), format, bytes: 4 * 1024 ** 3 });
  for (let at = 0; at < 20; at++) await play(test, SESSIONS + at); // compiles the code
  const { times } = await play(test, SESSIONS + 50);
  const msAlone = times.toSorted((one, other) => one - other)[TURNS / 2];
  sampled.length = 0;
  const [heap, cpu, before] = [heapBytes(), cpuUsage(), test.rows.length];
  const played = await Promise.all(Array.from({ length: SESSIONS }, (_, at) => play(test, at)));
  const { user, system } = cpuUsage(cpu);
  const cpuMs = (user + system) / 1000 / (SESSIONS * TURNS);
  const bytes = (heapBytes() - heap) / SESSIONS;
  await Promise.all(played.map(({ id }, at) => reward(test, { id, at })));
  const rows = test.rows.slice(before);
  assertEquals([rows.length, sampled.length], [SESSIONS, SESSIONS * TURNS]);
  for (const row of rows) {
    const at = Number(row.task_id.slice(1));
    assertEquals([row.status, row.reward, row.turns.length], ["completed", at % 2, TURNS]);
  }
  requireExact(rows, sampled.map((turn) => ({ ...turn, text: "", body: undefined })));
  // deno-lint-ignore no-console -- the figures of this task
  console.log({ cpuMsPerTurn: cpuMs, msAlone, heapBytesPerSession: bytes });
});
