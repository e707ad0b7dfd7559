import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { replyAction } from "../../src/envs/action.ts";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import type { Step } from "../../src/envs/env.ts";
import { EnvError } from "../../src/errors.ts";
import { type TransformFile, transformFile } from "../../src/plugins/transform_file.ts";
import { exactMatch } from "../../src/rewards/text_match.ts";
import { makeChatEnv } from "../../src/rollout/envs/make_chat_env.ts";
import { detectLayers } from "../../src/sandbox/process/layers.ts";
import type { Task } from "../../src/task.ts";
import { tool } from "../../src/tools/tool.ts";
import { ToolTransform } from "../../src/transforms/tool_transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { z } from "zod";

const detected = await detectLayers();
const HOSTILE = new URL("./files/hostile_transform.ts", import.meta.url);
const EXAMPLE = new URL("../../examples/plugins/transform.ts", import.meta.url);
const CALL = '<tool>long\n{"n": 3000}</tool>';

const long = tool({
  name: "long",
  description: "Returns a long text.",
  parameters: z.object({ n: z.number() }),
  run({ n }) {
    if (n < 0) throw new Error("negative");
    return "x".repeat(n);
  },
});

/** Plays replies in the env of the command line and returns its steps. */
async function play(
  file: TransformFile,
  replies: readonly string[],
  rest: Partial<Task> = {},
): Promise<Step[]> {
  await using env = makeChatEnv({
    maxTurns: 8,
    tools: [new ToolTransform({ tools: [long] })],
    extensions: [file.makeTransforms()],
    grader: exactMatch(),
  });
  await env.reset({ id: "1", query: "q", answer: "done", ...rest });
  const steps: Step[] = [];
  for (const reply of replies) steps.push(await env.step(replyAction(reply)));
  return steps;
}

function textsOf(step: Step | undefined): unknown[] {
  return Array.from(step?.history.prompt ?? [], ({ content }) => content);
}

Deno.test("transformFile() changes the query, the results and the reward with examples/plugins/transform.ts", async () => {
  await using file = await transformFile(EXAMPLE, { detected });
  assertEquals(file.name, "frugal");
  const [first, , third] = await play(file, [CALL, '<tool>long\n{"n": 5}</tool>', "done"]);
  const [query, , result] = textsOf(first);
  assertEquals(query, "q Answer briefly.");
  assertEquals(String(result).endsWith("x … (3033 characters)"), true, String(result).slice(-60));
  assertEquals(first?.toolResults[0]?.text.length, 3000);
  assertEquals(textsOf(third).length, 6);
  assertEquals(textsOf(third)[2], result);
  assertEquals([third?.reward, third?.terminated], [0.95, true]);
  assertEquals(third?.rewardParts, { exact_match: 1, cost: -0.05, frugal: 0.95 });
  const failing = '<tool>long\n{"n": -1}</tool>';
  const [once, twice] = await play(file, [failing, failing]);
  assertEquals([once?.terminated, twice?.terminated, twice?.reward], [false, true, 0]);
});

Deno.test("transformFile() gives each hook its input, and nothing changes nothing", async () => {
  await using file = await transformFile(HOSTILE, { detected });
  const inputs = (fields: Record<string, string>) => play(file, [CALL, "done"], { fields });
  const [plain, last] = await inputs({});
  assertEquals(textsOf(plain)[0], "q");
  assertEquals([last?.reward, last?.rewardParts], [1, { exact_match: 1 }]);
  const step =
    "const { task, ...rest } = input; return { results: input.results.map(() => JSON.stringify(rest)) }";
  const [seen] = await inputs({ step });
  const { turn, messages, results, calls } = JSON.parse(String(textsOf(seen)[2]));
  assertEquals([turn, messages.map(({ role }: { role: string }) => role)], [1, ["user", "assistant"]]);
  assertEquals(results.map(({ role, text }: { role: string; text: string }) => [role, text.length]), [[
    "tool",
    3033,
  ]]);
  assertEquals([calls.length, calls[0].tool, calls[0].status, calls[0].text.length], [1, "long", "ok", 3000]);
  const reward = "const { messages, task, ...rest } = input; throw new Error(JSON.stringify(rest))";
  const error = await assertRejects(() => inputs({ reward }), EnvError);
  assertStringIncludes(
    error.message,
    '{"turn":2,"reward":1,"rewardParts":{"exact_match":1},"terminated":true,"truncated":false}',
  );
  const [, unscored] = await inputs({ reward: "return { reward: null, parts: { why: 2 } }" });
  assertEquals([unscored?.reward, unscored?.rewardParts], [null, { exact_match: 1, why: 2, hostile: null }]);
  const [ended] = await play(file, [CALL], { fields: { step: "return { end: true }" } });
  assertEquals([ended?.terminated, ended?.reward], [true, 0]);
});

Deno.test("transformFile() refuses wrong results and names the hook and the file", async () => {
  await using file = await transformFile(HOSTILE, { detected, timeoutMs: 2_000 });
  const wrong: readonly (readonly [hook: string, code: string, reason: string])[] = [
    ["task", "return 'other'", 'it must return nothing or { query }: it returned "other"'],
    ["task", "return { query: 1 }", "it must return nothing or { query }"],
    ["step", "return { results: [] }", "it must return nothing or { results?, end? } with 1 results"],
    ["step", "return { results: ['a', 'b'] }", "with 1 results: it returned"],
    ["step", "return { results: [1] }", "with 1 results"],
    ["step", "return { reward: 1 }", "with 1 results"],
    ["step", "return { end: 'yes' }", "with 1 results"],
    ["step", "return { results: ['x'.repeat(17 * 2 ** 20)] }", "a result must have at most 16777216 bytes"],
    ["step", "Deno.exit(3)", "the transform's process is gone"],
    ["step", "while (true);", "it took more than 2000 ms"],
    ["reward", "return NaN", "'value' of the result must be a finite number"],
    ["reward", "return 'a'", "it must return nothing, a number, or { reward, parts? }"],
    ["reward", "return { reward: 1, parts: { a: '1' } }", "it must return nothing, a number"],
  ];
  for (const [hook, code, reason] of wrong) {
    const error = await assertRejects(
      () => play(file, [CALL, "done"], { fields: { [hook]: code } }),
      EnvError,
    );
    assertStringIncludes(error.message, `Cannot call '${hook}' of transform 'file://`);
    assertStringIncludes(error.message, reason);
  }
  assertEquals((await play(file, ["done"]))[0]?.reward, 1);
});

Deno.test("transformFile() keeps images when it changes the text of a result", async () => {
  await using file = await transformFile(HOSTILE, { detected });
  const { step } = file.makeTransforms();
  const image = { type: "image" as const, data: "AA==", mime_type: "image/png" };
  const answer = {
    step(before: Step): Step {
      const content = [{ type: "text" as const, text: "see" }, image];
      return { ...before, history: { prompt: before.history.prompt.append({ role: "tool", content }) } };
    },
  };
  await using env = new TransformedEnv(new ChatEnv(), [answer, step]);
  await env.reset({ id: "1", query: "q", fields: { step: "return { results: ['look'] }" } });
  const { history } = await env.step(replyAction("draw"));
  assertEquals(history.prompt.last?.content, [{ type: "text", text: "look" }, image]);
});
