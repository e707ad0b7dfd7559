import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { PolicyError, type PolicyFault } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { type PolicyFile, policyFile } from "../../src/plugins/policy_file.ts";
import type { Reply, ReplyContext } from "../../src/policy/policy.ts";
import { detectLayers } from "../../src/sandbox/process/layers.ts";

const detected = await detectLayers();
const HOSTILE = new URL("./files/hostile_policy.ts", import.meta.url);

async function reply(policy: PolicyFile, code: string, rest: Partial<ReplyContext> = {}): Promise<Reply> {
  const history = History.fromChats([
    { role: "assistant", content: "before", reasoning_content: "secret" },
    { role: "user", content: code },
  ]);
  return await policy.reply(history, { task: { id: "1", query: "q" }, ...rest }) as Reply;
}

Deno.test("policyFile() gives a file the conversation and the context, and returns its text", async () => {
  const options = { model: "m", temperature: 0.5, maxTokens: 9, detected };
  await using policy = await policyFile(HOSTILE, options);
  assertEquals(policy.name, "hostile_policy");
  const code = "return JSON.stringify(input)";
  const recordedChat = { messages: [{ role: "user", content: "q" }], tools: [] };
  const { message } = await reply(policy, code, {
    tokens: [1, 2],
    seed: 7,
    maxTokens: 3,
    recordedChat: () => recordedChat,
    tools: [{ name: "add", description: "", parameters: {} }],
  });
  assertEquals(message.role, "assistant");
  assertEquals(JSON.parse(String(message.content)), {
    messages: [{ role: "assistant", content: "before" }, { role: "user", content: code }],
    task: { id: "1", query: "q" },
    tools: [{ name: "add", description: "", parameters: {} }],
    tokens: [1, 2],
    recordedChat,
    model: "m",
    temperature: 0.5,
    maxTokens: 3,
    seed: 7,
  });
});

Deno.test("policyFile() returns tokens, tool calls and the reason why sampling ended", async () => {
  await using policy = await policyFile(HOSTILE, { detected });
  const full: Reply = {
    message: {
      role: "assistant",
      content: "x",
      reasoning_content: "y",
      tool_calls: [{ id: "c", name: "add", arguments: { a: 1 } }],
    },
    tokens: { ids: [5, 6], logProbs: [-0.5, -1] },
    promptIds: Array.from({ length: 150_000 }, (_, id) => id),
    finishReason: "stop",
    stopId: 6,
    usage: { promptTokens: 150_000, replyTokens: 2 },
    weightVersion: "3",
  };
  const code = `return { ...${
    JSON.stringify({ ...full, promptIds: [] })
  }, promptIds: [...Array(150_000).keys()] }`;
  assertEquals(await reply(policy, code), full);
});

Deno.test("policyFile() refuses wrong replies with the fault and the file", async () => {
  await using policy = await policyFile(HOSTILE, { detected, timeoutMs: 3_000 });
  const message = "message: { role: 'assistant', content: 'x' }";
  const wrong: Readonly<Record<string, readonly [fault: PolicyFault, reason: string]>> = {
    "return 1": ["bad_answer", "it must return a string or { message: { role: 'assistant', content, … }"],
    "return { message: { role: 'system', content: 'x' } }": ["bad_answer", "it must return"],
    "return { message: { role: 'assistant', content: [] } }": ["bad_answer", "it must return"],
    [`return { ${message}, reward: 1 }`]: ["bad_answer", "it must return"],
    [`return { ${message}, tokens: { ids: [1], logProbs: [] } }`]: ["bad_answer", "it must return"],
    [`return { ${message}, tokens: { ids: [-1] } }`]: ["bad_answer", "it must return"],
    [`return { ${message}, tokens: { ids: [1.5] } }`]: ["bad_answer", "it must return"],
    "": ["unavailable", "'reply' must return a value: it returned undefined"],
    "throw new Error('no model')": ["unavailable", "hostile_policy.ts': no model"],
    "Deno.exit(3)": ["unavailable", "the policy's process is gone: the process ended with code 3"],
    "return 'x'.repeat(33 * 2 ** 20)": ["unavailable", "a result must have at most 33554432 bytes"],
    "while (true);": ["timeout", "it took more than 3000 ms"],
  };
  for (const [code, [fault, reason]] of Object.entries(wrong)) {
    const error = await assertRejects(() => reply(policy, code), PolicyError);
    assertStringIncludes(error.message, "Cannot call 'reply' of policy 'file://");
    assertStringIncludes(error.message, reason);
    assertEquals(error.fault, fault, code);
  }
  assertEquals((await reply(policy, "return 'alive'")).message.content, "alive");
});
