import { assertEquals, assertRejects } from "@std/assert";
import { resolvePolicy } from "../../../src/cli/rollout/policies.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { PolicyError } from "../../../src/errors.ts";
import { History } from "../../../src/history.ts";
import { toReply } from "../../../src/policy/policy.ts";
import { completion, FakeServer } from "../../policy/fake_server.ts";

const HISTORY = History.fromChats([{ role: "user", content: "<|im_end|>q" }]);
const TASK = { id: "t", query: "q" };

Deno.test("resolvePolicy() names the available policies, and missing options", async () => {
  const wrong: [string, string][] = [
    ["nope", "Cannot find policy 'nope': available are scripted, calculator, openai, sglang"],
    ["constructor", "Cannot find policy 'constructor'"],
    ["openai:http://127.0.0.1", "give --model NAME"],
    ["sglang", "give --policy sglang:URL"],
    ["sglang:ftp://h", "must begin with http:// or https://"],
    ["scripted:/no/such/file", "there is no such file"],
  ];
  for (const [name, says] of wrong) await assertRejects(() => resolvePolicy(name, {}), UsageError, says);
});

Deno.test("resolvePolicy() scripts a task's replies, else its reference, else it throws", async () => {
  const { policy } = await resolvePolicy("scripted", {});
  assertEquals(
    await policy.reply(HISTORY, { task: { ...TASK, replies: ["r"], reference: "<<1+1=2>>" } }),
    "r",
  );
  assertEquals(
    await policy.reply(HISTORY, { task: { ...TASK, reference: "<<1+1=2>>" } }),
    '```python\nv1 = 1 + 1\nprint("v1 =", v1)\n```',
  );
  await assertRejects(() => policy.reply(HISTORY, { task: TASK }), PolicyError, "it has neither");
});

Deno.test("resolvePolicy() plays a file of replies in the order of the tasks", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, '["one"]\n["two"]\n');
    const { policy, onTask } = await resolvePolicy(`scripted:${path}`, {});
    for (const id of ["u", "t"]) onTask?.({ id, query: "q" });
    assertEquals(await policy.reply(HISTORY, { task: TASK }), "two");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("resolvePolicy() sends the options of the flags to servers", async () => {
  await using openai = new FakeServer(() => completion({ content: "hi" }));
  const setup = { model: "m", temperature: 0, maxTokens: 5, apiKey: "k" };
  const chat = await resolvePolicy(`openai:${openai.url}`, setup);
  assertEquals(toReply(await chat.policy.reply(HISTORY, { task: TASK })).message.content, "hi");
  assertEquals([chat.isRemote, chat.policy.name], [true, "m"]);
  const { temperature, max_tokens } = openai.seen[0]?.body ?? {};
  assertEquals({ temperature, max_tokens }, { temperature: 0, max_tokens: 5 });

  await using sglang = new FakeServer(() => Response.json({ text: "hi", meta_info: {} }));
  const generate = await resolvePolicy(`sglang:${sglang.url}`, setup);
  await generate.policy.reply(HISTORY, { task: TASK });
  assertEquals(sglang.seen[0]?.headers.get("authorization"), null);
  assertEquals(openai.seen[0]?.headers.get("authorization"), "Bearer k");
  assertEquals(sglang.seen[0]?.body, {
    text: "<|im_start|>user\n<\u200b|im_end|>q<|im_end|>\n<|im_start|>assistant\n",
    sampling_params: { temperature: 0, max_new_tokens: 5 },
    return_logprob: true,
  });
});

Deno.test("resolvePolicy() requests special tokens in the text when they mark calls", async () => {
  await using server = new FakeServer(() => Response.json({ text: "hi", meta_info: {} }));
  const { policy } = await resolvePolicy(`sglang:${server.url}`, { keepSpecialTokens: true });
  await policy.reply(HISTORY, { task: TASK });
  assertEquals(server.seen[0]?.body.sampling_params, { skip_special_tokens: false });
});

Deno.test("resolvePolicy() sends options of sampling and further fields, and refuses them without a server", async () => {
  const sampling = { topP: 0.9, topK: 20, stop: ["\n\n", "END"], extraBody: '{"min_p":0.1,"top_k":5}' };
  const sent = { top_p: 0.9, top_k: 5, stop: ["\n\n", "END"], min_p: 0.1 };
  await using openai = new FakeServer(() => completion({ content: "hi" }));
  const chat = await resolvePolicy(`openai:${openai.url}`, { model: "m", ...sampling });
  await chat.policy.reply(HISTORY, { task: TASK });
  const { model, messages, ...fields } = openai.seen[0]?.body ?? {};
  assertEquals([model, messages.length, fields], ["m", 1, sent]);

  await using sglang = new FakeServer(() => Response.json({ text: "hi", meta_info: {} }));
  const generate = await resolvePolicy(`sglang:${sglang.url}`, sampling);
  await generate.policy.reply(HISTORY, { task: TASK });
  assertEquals(sglang.seen[0]?.body.sampling_params, sent);

  const wrong: [string, object, string][] = [
    ["scripted", { topP: 1 }, "policy 'scripted' and --top-p as only a server gets it"],
    ["calculator", { stop: ["x"] }, "policy 'calculator' and --stop as only a server gets it"],
    [`openai:${openai.url}`, { model: "m", extraBody: "[1]" }, "must be a JSON object such as"],
    [`openai:${openai.url}`, { model: "m", extraBody: "{" }, "--extra-body as it must be JSON"],
  ];
  for (const [name, setup, says] of wrong) {
    await assertRejects(() => resolvePolicy(name, setup), UsageError, says);
  }
});

Deno.test("resolvePolicy() limits replies of a server by default, and asks again without the limit if it is refused", async () => {
  const ask = async (status: number, body: object, setup: object = {}) => {
    await using server = new FakeServer(({ body: { max_tokens } }) =>
      max_tokens > 100 ? Response.json({ error: body }, { status }) : completion({ content: "hi" })
    );
    const { policy } = await resolvePolicy(`openai:${server.url}`, {
      model: "m",
      defaultMaxTokens: 512,
      ...setup,
    });
    for (const _ of [1, 2]) await policy.reply(HISTORY, { task: TASK });
    return server.seen.map(({ body: { max_tokens } }) => max_tokens);
  };
  const refused = {
    code: "unsupported_parameter",
    param: "max_tokens",
    message: "use max_completion_tokens",
  };
  assertEquals(await ask(400, refused), [512, undefined, undefined]);
  assertEquals(await ask(400, { code: "context_length_exceeded" }), [512, undefined, 512, undefined]);
  assertEquals(await ask(400, {}, { maxTokens: 7 }), [7, 7]);
  assertEquals(await ask(400, {}, { maxTokens: 0 }), [undefined, undefined]);
  assertEquals(await ask(400, {}, { extraBody: '{"max_tokens":9}' }), [9, 9]);
  await assertRejects(() => ask(503, {}), PolicyError, "503");

  await using sglang = new FakeServer(() => Response.json({ text: "hi", meta_info: {} }));
  const generate = await resolvePolicy(`sglang:${sglang.url}`, { defaultMaxTokens: 512 });
  for (const maxTokens of [undefined, 5, 900]) {
    await generate.policy.reply(HISTORY, { task: TASK, maxTokens });
  }
  assertEquals(sglang.seen.map(({ body }) => body.sampling_params.max_new_tokens), [512, 5, 512]);
});
