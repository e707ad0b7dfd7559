import { assertEquals } from "@std/assert";
import { tinyTokenizer } from "../tiny_tokenizer.ts";
import { FakeVllm, type FakeVllmOptions } from "./fake_vllm.ts";

const chatTemplate = await Deno.readTextFile(
  new URL("../goldens/qwen_like_template.jinja", import.meta.url),
);
const tokenizer = await tinyTokenizer({ chatTemplate });
const PROMPT =
  "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nhello<|im_end|>\n" +
  "<|im_start|>assistant\n";

// deno-lint-ignore no-explicit-any -- the tests read the fields of several wire formats
async function post(path: string, body: object, options: Partial<FakeVllmOptions> = {}): Promise<any> {
  await using server = new FakeVllm({ tokenizer, sample: () => "hello<|im_end|>", ...options });
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  return await response.json();
}

const CHAT = "/v1/chat/completions";
const messages = [{ role: "user", content: "hello" }];

Deno.test("FakeVllm renders a chat with its template and returns the ids under the names of each server", async () => {
  const ids = tokenizer.encode("hello<|im_end|>");
  const promptIds = tokenizer.encode(PROMPT);
  const vllm = await post(CHAT, { messages, return_token_ids: true, logprobs: true });
  assertEquals([vllm.prompt_token_ids, vllm.choices[0].token_ids], [promptIds, ids]);
  assertEquals([vllm.choices[0].message.content, vllm.choices[0].logprobs.content.length], ["hello", 2]);
  const old = { messages, logprobs: true, return_meta_info: true, return_prompt_token_ids: true };
  const { choices: [sglang] } = await post(CHAT, old, { wire: "sglang-0.5.13" });
  assertEquals(sglang.prompt_token_ids, promptIds);
  assertEquals(sglang.meta_info.output_token_logprobs.map(([, id]: [number, number]) => id), ids);
  const { choices: [plain] } = await post(CHAT, { ...old, return_token_ids: true }, { wire: "openai" });
  assertEquals([plain.prompt_token_ids, plain.token_ids, plain.meta_info], [undefined, undefined, undefined]);
});

Deno.test("FakeVllm samples from ids in /v1/completions and /generate", async () => {
  const prompt = tokenizer.encode(PROMPT);
  const completion = { prompt, max_tokens: 1, return_token_ids: true, logprobs: 1 };
  const { choices: [choice], usage } = await post("/v1/completions", completion);
  assertEquals([choice.prompt_token_ids, choice.token_ids.length, choice.text], [prompt, 1, "hello"]);
  assertEquals([choice.finish_reason, choice.logprobs.token_logprobs.length], ["length", 1]);
  assertEquals(usage.completion_tokens, 1);
  const generated = await post("/generate", { input_ids: prompt, return_logprob: true });
  assertEquals(generated.output_ids, tokenizer.encode("hello<|im_end|>"));
  assertEquals(generated.meta_info.prompt_tokens, prompt.length);
});

Deno.test("FakeVllm separates thoughts and calls, and changes its response", async () => {
  const call = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>';
  const { choices: [choice] } = await post(CHAT, { messages }, {
    sample: () => `<think>\nso\n</think>\n\nwell\n${call}<|im_end|>`,
    separatesReasoning: true,
    parsesCalls: true,
    lie: (response) => response.choices[0].finish_reason = "other",
  });
  const { content, reasoning_content, tool_calls } = choice.message;
  assertEquals([content, reasoning_content, choice.finish_reason], ["well", "so", "other"]);
  assertEquals(tool_calls[0].function, { name: "f", arguments: '{"a":1}' });
});
