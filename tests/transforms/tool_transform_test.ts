import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { z } from "zod";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import { ToolError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { hostTool } from "../../src/sandbox/host_tool.ts";
import { openaiCalls } from "../../src/tools/parsers/openai_calls.ts";
import { RateLimiter } from "../../src/tools/rate_limiter.ts";
import { stopTool, tool, type ToolContext } from "../../src/tools/tool.ts";
import { ToolParts } from "../../src/tools/tool_result.ts";
import { xmlCalls } from "../../src/tools/parsers/xml_calls.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { ToolTransform } from "../../src/transforms/tool_transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { FakePool, ok } from "../fake_pool.ts";
import { answersTo, anyTool, stepWithTools } from "../tools/play_tools.ts";

const add = tool({
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number().default(1) }),
  run: ({ a, b }) => ({ result: a + b }),
});
const echo = anyTool("echo", (args) => args);
const kaput = anyTool("kaput", () => {
  throw new ToolError("try a smaller number");
});

/** A tool that never ends and records when its signal is aborted. */
function endless(timeoutMs?: number) {
  const aborted = Promise.withResolvers<unknown>();
  const never = { ...anyTool("never", wait), ...(timeoutMs !== undefined && { timeoutMs }) };
  function wait(_args: unknown, { signal }: ToolContext): Promise<void> {
    signal.addEventListener("abort", () => aborted.resolve(signal.reason));
    return new Promise(() => {});
  }
  return { never, aborted: aborted.promise };
}

Deno.test("ToolTransform runs simple tools and writes results as JSON by default", async () => {
  const reply = 'so\n<tool>add\n{"a": 1, "b": 2}</tool>';
  assertEquals(await answersTo(reply, [add]), ['Tool add executed successfully:\n{"result":3}']);
  assertEquals(await answersTo(reply, [add], { resultStyle: "python-repr" }), [
    "Tool add executed successfully:\n{'result': 3}",
  ]);
});

Deno.test("ToolTransform: schema validation of simple tools, by zod and by JSON Schema", async () => {
  const parameters = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const plain = { ...echo, parameters };
  assertEquals(
    await answersTo('<tool>add\n{"a": "x"}</tool><tool>echo\n{}</tool><tool>echo\n{"n": 1.5}</tool>', [
      add,
      plain,
    ]),
    [
      "Tool add failed:\nTool arguments are not valid: a: must be a number: found a string",
      'Tool echo failed:\nTool arguments are not valid: Instance does not have required property "n"',
      'Tool echo failed:\nTool arguments are not valid: n: Instance type "number" is invalid. Expected "integer"',
    ],
  );
  assertEquals(await answersTo('<tool>add\n{"a": 4}</tool>', [add]), [
    'Tool add executed successfully:\n{"result":5}',
  ]);
});

Deno.test("ToolTransform reports a schema that cannot be checked, and the episode continues", async () => {
  const loop = { ...echo, name: "loop", parameters: { $ref: "#" } };
  const pattern = { ...echo, name: "pattern", parameters: { properties: { a: { pattern: "[\\w-.]" } } } };
  const { toolResults, history } = await stepWithTools(
    '<tool>loop\n{"a":"b"}</tool><tool>pattern\n{"a":"b"}</tool><tool>add\n{"a":1}</tool>',
    [loop, pattern, add],
  );
  assertEquals(toolResults.map(({ status }) => status), ["error", "ok", "ok"]);
  assertStringIncludes(JSON.stringify(history), "the schema of 'loop' cannot be checked: Maximum call stack");
});

Deno.test("ToolTransform refuses arguments that are nested too deep", async () => {
  const deep = (levels: number) => `<tool>echo\n{"a":${"[".repeat(levels)}${"]".repeat(levels)}}</tool>`;
  assertEquals(await answersTo(deep(100), [echo]), [
    "Tool echo failed:\nTool arguments are not valid: arguments must not be nested more than 64 deep",
  ]);
  const [text] = await answersTo(deep(100_000), [echo]);
  assertStringIncludes(String(text), "Failed to parse tool arguments: Too deeply nested");
});

Deno.test("ToolTransform: trimmed names, `</tool>` inside strings, empty body = {}", async () => {
  assertEquals(
    await answersTo('<tool> add \n{"a":1}</tool><tool>echo\n{"s":"</tool>"}\n</tool><tool>echo\n</tool>', [
      add,
      echo,
    ]),
    [
      'Tool add executed successfully:\n{"result":2}',
      'Tool echo executed successfully:\n{"s":"</tool>"}',
      "Tool echo executed successfully:\n{}",
    ],
  );
});

Deno.test("ToolTransform: not found / parse / failed texts of simple tools", async () => {
  const { history, toolResults } = await stepWithTools(
    "<tool>nope\n{}</tool><tool>add\ninvalid json</tool><tool>kaput\n{}</tool><tool>add\n[1]</tool>",
    [add, kaput],
  );
  assertEquals(history.prompt.toChats().slice(2).map(({ content }) => content), [
    "Tool nope failed:\nTool nope not found",
    "Tool add failed:\nFailed to parse tool arguments: Expecting value: line 1 column 1 (char 0)",
    "Tool kaput failed:\nTool execution failed: try a smaller number",
    "Tool add failed:\nFailed to parse tool arguments: they must be a JSON object and are a list",
  ]);
  assertEquals(toolResults.map(({ tool, call, callId, status }) => [tool, call, callId, status]), [
    ["nope", 1, "call-1-1", "unknown_tool"],
    ["add", 2, "call-1-2", "bad_arguments"],
    ["kaput", 3, "call-1-3", "error"],
    ["add", 4, "call-1-4", "bad_arguments"],
  ]);
});

Deno.test("ToolTransform: real timeouts below a second, per transform and per tool, abort and abandon", async () => {
  const ofTransform = endless();
  assertEquals(await answersTo("<tool>never\n</tool>", [ofTransform.never], { timeoutMs: 20 }), [
    "Tool never failed:\nTool execution timed out after 0.02 seconds",
  ]);
  assertStringIncludes(String(await ofTransform.aborted), "longer than 20 ms");
  const ofTool = endless(10);
  const { toolResults } = await stepWithTools('<tool>never\n</tool><tool>add\n{"a":1}</tool>', [
    ofTool.never,
    add,
  ]);
  assertEquals(toolResults.map(({ status }) => status), ["timeout", "ok"]);
  await ofTool.aborted;
});

Deno.test("ToolTransform: parallel calls, results in call order", async () => {
  const started: string[] = [];
  const both = Promise.withResolvers<void>();
  const meet = anyTool("meet", async ({ name, last }) => {
    started.push(String(name));
    if (started.length === 2) both.resolve();
    await both.promise; // hangs unless the other one runs at the same time
    if (last) await Promise.resolve();
    return name;
  });
  assertEquals(
    await answersTo('<tool>meet\n{"name":"a","last":true}</tool><tool>meet\n{"name":"b"}</tool>', [meet]),
    ["Tool meet executed successfully:\na", "Tool meet executed successfully:\nb"],
  );
});

Deno.test("ToolTransform rethrows a cancellation at once", async () => {
  const { never, aborted } = endless();
  const stop = new AbortController();
  const step = stepWithTools("<tool>never\n</tool>", [never], { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assertRejects(() => step, Error, "enough");
  await Promise.race([aborted, Promise.resolve()]);
});

Deno.test("ToolTransform reads only assistant messages, also before other tools' messages, each once", async () => {
  const ran: unknown[] = [];
  const note = anyTool("note", (args) => (ran.push(args), "noted"));
  await using env = new TransformedEnv(new ChatEnv(), [
    new PythonInterpreter({ pool: new FakePool(() => ok('<tool>note\n{"from":"python"}</tool>')) }),
    new ToolTransform({ tools: [note] }),
  ]);
  await env.reset({ id: "t", query: '<tool>note\n{"from":"query"}</tool>' });
  const { history } = await env.step(
    replyAction('```python\n1\n```\n<tool>note\n{"from":"assistant"}</tool>'),
  );
  assertEquals(history.prompt.toChats().map(({ role }) => role), ["user", "assistant", "tool", "tool"]);
  await env.step({ history: { response: History.fromChats([{ role: "user", content: "go on" }]) } });
  assertEquals(ran, [{ from: "assistant" }]);
});

Deno.test("ToolTransform does not change a skipped step", async () => {
  const ran: unknown[] = [];
  const note = anyTool("note", (args) => ran.push(args));
  await using env = new TransformedEnv(new ChatEnv(), [new ToolTransform({ tools: [note] })]);
  await env.reset({
    id: "t",
    query: History.fromChats([{ role: "assistant", content: "<tool>note\n</tool>" }]),
  });
  assertEquals((await env.step({ skip: true })).tools?.length, 1);
  assertEquals(ran, []);
});

Deno.test("ToolTransform offers its tools in each observation and accepts host tools", async () => {
  const host = hostTool({
    name: "double",
    description: "Doubles.",
    parameters: z.object({ n: z.number() }),
    run: ({ n }, { signal }) => signal.aborted ? 0 : 2 * n,
  });
  await using env = new TransformedEnv(new ChatEnv(), [new ToolTransform({ tools: [add, host] })]);
  const { tools } = await env.reset({ id: "t", query: "q" });
  assertEquals(tools?.map(({ name }) => name), ["add", "double"]);
  assertEquals(tools?.[1]?.parameters, {
    type: "object",
    properties: { n: { type: "number" } },
    required: ["n"],
  });
  const step = await env.step(replyAction('<tool>double\n{"n": 21}</tool>'));
  assertEquals(step.history.prompt.last?.content, "Tool double executed successfully:\n42");
  assertEquals(step.tools, tools ?? []);
});

Deno.test("ToolTransform: duplicate tool names and names that cannot be called are refused", () => {
  assertThrows(() => new ToolTransform({ tools: [add, { ...add }] }), TypeError, "'add' occurs twice");
  assertThrows(
    () => new ToolTransform({ tools: [{ ...add, name: "a b" }] }),
    TypeError,
    "current value is 'a b'",
  );
  assertThrows(() => new ToolTransform({ tools: [], timeoutMs: 0 }), RangeError, "current value is 0");
  assertThrows(
    () => new ToolTransform({ tools: [], maxResultCharacters: 0 }),
    RangeError,
    "current value is 0",
  );
});

Deno.test("ToolTransform answers native calls by their ids with any parser", async () => {
  const { toolResults, history } = await nativeStep([
    { id: "c1", name: "add", arguments: { a: 1 } },
    { id: "c2", name: "add", arguments: "{broken" },
    { id: "c3", name: "nope", arguments: {} },
  ]);
  assertEquals(history.prompt.toChats().slice(2), [
    { role: "tool", tool_call_id: "c1", name: "add", content: '{"result":2}' },
    {
      role: "tool",
      tool_call_id: "c2",
      name: "add",
      content:
        "failed to parse the arguments of 'add': Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    },
    { role: "tool", tool_call_id: "c3", name: "nope", content: "unknown tool: 'nope'" },
  ]);
  assertEquals(toolResults.map(({ callId }) => callId), ["c1", "c2", "c3"]);
});

async function nativeStep(
  calls: { id: string; name: string; arguments: Record<string, unknown> | string }[],
) {
  await using env = new TransformedEnv(new ChatEnv(), [new ToolTransform({ tools: [add] })]);
  await env.reset({ id: "t", query: "q" });
  const message = { role: "assistant", content: "", tool_calls: calls };
  return await env.step({ history: { response: History.fromChats([message]) } });
}

Deno.test("ToolTransform leaves calls to the transform that offers them", async () => {
  await using env = new TransformedEnv(new ChatEnv(), [
    new ToolTransform({ tools: [add] }),
    new ToolTransform({ tools: [echo] }),
  ]);
  await env.reset({ id: "t", query: "q" });
  const { history } = await env.step(
    replyAction('<tool>echo\n{}</tool><tool>nope\n</tool><tool>add\n{"a":1}</tool>'),
  );
  assertEquals(history.prompt.toChats().slice(2).map(({ content }) => content), [
    "Tool nope failed:\nTool nope not found",
    'Tool add executed successfully:\n{"result":2}',
    "Tool echo executed successfully:\n{}",
  ]);
});

Deno.test("ToolTransform terminates when the stop tool is called", async () => {
  const { terminated, history } = await stepWithTools('<tool>stop\n{"reason":"done"}</tool>', [stopTool()]);
  assertEquals([terminated, history.prompt.last?.content], [
    true,
    "Tool stop executed successfully:\n[stop] done",
  ]);
  assertEquals((await stepWithTools('<tool>stop\n{"reason":1}</tool>', [stopTool()])).terminated, false);
});

Deno.test("ToolTransform truncates long results and marks them", async () => {
  const long = anyTool("long", () => "ab😀".repeat(10));
  const { history, toolResults } = await stepWithTools("<tool>long\n</tool>", [long], {
    maxResultCharacters: 7,
  });
  assertEquals(history.prompt.last?.content, "Tool long executed successfully:\nab😀ab\n... [truncated]");
  assertEquals([toolResults[0]?.truncated, toolResults[0]?.text.length], [true, 40]);
});

Deno.test("ToolTransform: registry tools in order, stop_on_error, `_state`, `error` key = failure", async () => {
  const parser = xmlCalls();
  const count = anyTool("count", ({ _state }) => {
    const state = _state as { n?: number };
    return { n: state.n = (state.n ?? 0) + 1 };
  });
  const soft = anyTool("soft", () => ({ error: "soft" }));
  const call = (name: string) => `<tool name="${name}">{}</tool>`;
  const [all] = await answersTo(call("count") + call("soft") + call("count"), [count, soft], {
    parser,
    passState: true,
    stopOnError: true,
  });
  assertEquals(
    all,
    '<tool_results>\nTool count (call 1) succeeded:\n  Result: {\n  "n": 1\n}\nTool soft (call 2) failed:\n  Error: soft\n</tool_results>',
  );
  const { toolResults } = await stepWithTools(call("soft") + call("count"), [count, soft], {
    parser,
    stopOnError: true,
  });
  assertEquals(toolResults.map(({ status }) => status), ["error", "refused"]);
  const kept = await answersTo(call("soft"), [soft], { parser: xmlCalls({ errorKeyFails: false }) });
  assertStringIncludes(String(kept), "Tool soft (call 1) succeeded");
});

Deno.test("ToolTransform starts each episode with an empty state", async () => {
  const seen: number[] = [];
  const look = anyTool("look", (_args, { state }) => {
    seen.push(Object.keys(state).length);
    state[`key${seen.length}`] = true;
  });
  await using env = new TransformedEnv(new ChatEnv(), [new ToolTransform({ tools: [look] })]);
  for (const _episode of [1, 2]) {
    await env.reset({ id: "t", query: "q" });
    await env.step(replyAction("<tool>look\n</tool>"));
    await env.step(replyAction("<tool>look\n</tool>"));
  }
  assertEquals(seen, [0, 1, 0, 1]);
});

Deno.test("ToolTransform applies rate limits", async () => {
  let running = 0;
  let most = 0;
  const busy = anyTool("busy", async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running--;
  });
  const reply = "<tool>busy\n</tool>".repeat(5);
  const limiter = new RateLimiter({ maxConcurrent: 2 });
  await stepWithTools(reply, [busy], { rateLimits: { busy: limiter } });
  assertEquals(most, 2);
  const strict = new RateLimiter({ ratePerSecond: 0.001, burst: 2, maxWaitMs: 1 });
  const { toolResults } = await stepWithTools(reply, [busy], { rateLimits: strict });
  assertEquals(toolResults.map(({ status }) => status), ["ok", "ok", "refused", "refused", "refused"]);
});

Deno.test("ToolTransform passes content parts through and reports a result that is not JSON as a failure", async () => {
  const image = { type: "image", data: "AAAA", mime_type: "image/png" } as const;
  const parts = anyTool("parts", () => new ToolParts([{ type: "text", text: "see" }, image]));
  const text = anyTool(
    "text",
    () => new ToolParts([{ type: "text", text: "a" }, { type: "text", text: "b" }]),
  );
  const circle: unknown[] = [];
  circle.push(circle);
  const odd = anyTool("odd", () => circle);
  const { history, toolResults } = await stepWithTools(
    "<tool>parts\n</tool><tool>text\n</tool><tool>odd\n</tool>",
    [parts, text, odd],
  );
  const [first, second, third] = history.prompt.toChats().slice(2).map(({ content }) => content);
  assertEquals(first, [
    { type: "text", text: "Tool parts executed successfully:\n" },
    { type: "text", text: "see" },
    image,
  ]);
  assertEquals(second, "Tool text executed successfully:\na\nb");
  assertStringIncludes(String(third), "Tool odd failed:\nTool execution failed: its result must be JSON");
  assertEquals(toolResults.map(({ status, text }) => [status, text.split(":")[0]]), [
    ["ok", "see\n[image image/png 3 bytes]"],
    ["ok", "a\nb"],
    ["error", "Tool execution failed"],
  ]);
});

Deno.test("ToolTransform handles any value that a tool throws", async () => {
  const thrown: unknown[] = [undefined, null, { toString: null }, Symbol("s"), new Error("")];
  const throwing = thrown.map((it, at) =>
    anyTool(`t${at}`, () => {
      throw it;
    })
  );
  const reply = throwing.map(({ name }) => `<tool_call>{"name":"${name}"}</tool_call>`).join("");
  const { toolResults } = await stepWithTools(reply, throwing, { parser: openaiCalls() });
  assertEquals(toolResults.map(({ status }) => status), thrown.map(() => "error"));
});

Deno.test("async pool: tool messages of many envs land in the right env", async () => {
  const sleepy = anyTool("sleepy", async ({ n }) => {
    await new Promise((resolve) => setTimeout(resolve, 20 - Number(n)));
    return n;
  });
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, n) => answersTo(`<tool>sleepy\n{"n":${n}}</tool>`, [sleepy])),
  );
  assertEquals(
    answers,
    Array.from({ length: 16 }, (_, n) => [`Tool sleepy executed successfully:\n${n}`]),
  );
  assert(answers.length === 16);
});

Deno.test("ToolTransform refuses calls beyond maxCalls", async () => {
  const { toolResults, history } = await stepWithTools("<tool>echo\n</tool>".repeat(5), [echo], {
    maxCalls: 3,
  });
  assertEquals(toolResults.map(({ status }) => status), ["ok", "ok", "ok", "refused"]);
  assertEquals(
    history.prompt.last?.content,
    "Tool echo failed:\nTool was not executed: a message may make 3 calls: calls 4 to 5 were not run",
  );
});

Deno.test("ToolTransform drops results beyond maxTotalCharacters, and the model is told so", async () => {
  const { toolResults } = await stepWithTools("<tool>long\n</tool>".repeat(3), [
    anyTool("long", () => "x".repeat(400)),
  ], { maxTotalCharacters: 1000 });
  assertEquals(toolResults.map(({ status, value }) => [status, value?.toString().length]), [
    ["ok", 400],
    ["ok", 400],
    ["error", undefined],
  ]);
  assertStringIncludes(
    toolResults[2]?.text ?? "",
    "the results of a message may have 1000 characters together",
  );
});

Deno.test("ToolTransform answers a reply with 100,000 calls by at most 129 messages", async () => {
  const { history } = await stepWithTools("<tool>echo\n</tool>".repeat(100_000), [echo]);
  assertEquals(history.prompt.length, 2 + 129);
  assertStringIncludes(String(history.prompt.last?.content), "calls 129 to 1000 were not run");
});

Deno.test("ToolTransform does not let a tool change the conversation", async () => {
  const grow = anyTool("grow", ({ list }) => (list as number[]).push(9));
  await using env = new TransformedEnv(new ChatEnv(), [new ToolTransform({ tools: [grow] })]);
  await env.reset({ id: "t", query: "q" });
  const calls = [{ id: "1", name: "grow", arguments: { list: [1] } }];
  const response = History.fromChats([{ role: "assistant", content: "", tool_calls: calls }]);
  const { history } = await env.step({ history: { response } });
  assertEquals(history.prompt.toChats()[1]?.tool_calls, calls);
});

Deno.test("ToolTransform reports an unknown tool before unreadable arguments", async () => {
  assertEquals(await answersTo("<tool>nope\n{oops</tool>", [add]), [
    "Tool nope failed:\nTool nope not found",
  ]);
  const parser = openaiCalls();
  assertEquals(await answersTo("<tool_call>{oops}</tool_call>", [add], { parser }), [
    "failed to parse the call: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
  ]);
});

Deno.test("ToolTransform gives a text that is not JSON to a registry tool with a parameter `raw`", async () => {
  const note = tool({
    name: "note",
    description: "Keeps a text.",
    parameters: z.object({ raw: z.string() }),
    run: ({ raw }) => raw.toUpperCase(),
  });
  const reply = '<tool name="note">buy milk</tool><tool name="echo">buy milk</tool>';
  const { toolResults } = await stepWithTools(reply, [note, echo], { parser: xmlCalls() });
  assertEquals(toolResults.map(({ status }) => status), ["ok", "bad_arguments"]);
});

Deno.test("ToolTransform records calls in thoughts, and runs those outside of them", async () => {
  const drafted = '<thinking><tool>add\n{"a": 1, "b": 2}</tool></thinking>';
  const pool = new FakePool(() => ok("1\n"));
  await using env = new TransformedEnv(new ChatEnv(), [
    new ToolTransform({ tools: [add] }),
    new ToolTransform({ tools: [echo] }),
    new PythonInterpreter({ pool }),
  ]);
  await env.reset({ id: "1", query: "q" });
  const both = await env.step(replyAction(`${drafted}\n<tool>echo\n{}</tool>\n\`\`\`bash\nls\n\`\`\``));
  assertEquals(both.toolResults.map(({ tool }) => tool), ["echo"]);
  assertEquals(both.blocksNotRun, [
    { reason: "thought_call", tag: "", count: 1 },
    { reason: "language", tag: "bash", count: 1 },
  ]);
  const none = await env.step(replyAction(`${drafted}\nThe sum is 3.`));
  assertEquals(none.toolResults, []);
  assertEquals(none.blocksNotRun, [{ reason: "thought_call", tag: "", count: 1 }]);
});
