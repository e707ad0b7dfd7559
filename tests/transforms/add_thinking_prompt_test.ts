import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import type { Step } from "../../src/envs/env.ts";
import { messageText } from "../../src/message.ts";
import {
  AddThinkingPrompt,
  type AddThinkingPromptOptions,
} from "../../src/transforms/add_thinking_prompt.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

const USUAL = "But wait, let me think about this more carefully...";
const WRONG = "<think>2+2=5</think>\n<answer>5</answer>";

/** Ends each episode with reward 1 if the reply contains the right answer, else 0. */
const graded: Transform = {
  step: (step) => {
    const right = step.history.prompt.toChats().some(({ content }) =>
      `${content}`.includes("<answer>4</answer>")
    );
    return { ...step, reward: right ? 1 : 0.1, rewardParts: { right: right ? 1 : 0 }, terminated: true };
  },
};

const isWrong = (step: Step) => step.reward !== 1;

async function after(
  reply: string,
  options: Partial<AddThinkingPromptOptions> = {},
  seed?: number,
): Promise<Step> {
  const thinking = new AddThinkingPrompt({ cond: isWrong, ...options });
  await using env = new TransformedEnv(new ChatEnv({ systemPrompt: "s" }), [graded, thinking]);
  await env.reset({ id: "t", query: "q" }, { seed });
  return await env.step(replyAction(reply));
}

function last({ history }: Step): string {
  return history.prompt.last === undefined ? "" : messageText(history.prompt.last);
}

for (const editLastTurn of [true, false]) {
  for (const zeroReward of [true, false]) {
    for (const undoDone of [true, false]) {
      for (const randomPrompt of [true, false]) {
        const options = { editLastTurn, zeroReward, undoDone, randomPrompt };
        Deno.test(`AddThinkingPrompt after a wrong answer, with ${JSON.stringify(options)}`, async () => {
          const step = await after(WRONG, options);
          assertEquals(step.history.prompt.length, editLastTurn ? 3 : 4);
          assertEquals(step.reward, zeroReward ? 0 : 0.1);
          assertEquals(step.terminated, !undoDone);
          assertEquals(last(step).endsWith(USUAL), !randomPrompt);
          assertEquals(
            step.history.prompt.slice(2).toChats().map(messageText).join().includes("<answer>"),
            !editLastTurn,
          );
        });
        Deno.test(`AddThinkingPrompt after a right answer, with ${JSON.stringify(options)}`, async () => {
          const { history, reward, terminated } = await after("<answer>4</answer>", options);
          assertEquals({ length: history.prompt.length, reward, terminated }, {
            length: 3,
            reward: 1,
            terminated: true,
          });
        });
      }
    }
  }
}

Deno.test("AddThinkingPrompt replaces the last answer with its sentence", async () => {
  assertEquals(last(await after(WRONG)), `<think>2+2=5</think>\n${USUAL}`);
  assertEquals(
    last(await after("<answer>1</answer> no: <answer>5\n</answer>\n")),
    `<answer>1</answer> no: \n${USUAL}`,
  );
  assertEquals(last(await after("<answer>5</answer>")), USUAL);
  assertEquals(last(await after("it is 5")), `it is 5\n\n${USUAL}`);
});

Deno.test("AddThinkingPrompt thinking prompt: <|im_end|> case, cut with the answer before it", async () => {
  assertEquals(last(await after(`${WRONG}<|im_end|>`)), `<think>2+2=5</think>\n${USUAL}`);
  assertEquals(last(await after(`${WRONG}\n<|im_end|>\n`)), `<think>2+2=5</think>\n\n${USUAL}`);
  assertEquals(last(await after("it is 5<|im_end|>")), `it is 5\n\n${USUAL}`);
});

Deno.test("AddThinkingPrompt uses the given sentence and role", async () => {
  const { history } = await after(WRONG, { role: "user", editLastTurn: false });
  assertEquals(history.prompt.last, {
    role: "user",
    content: "But wait, think about this more carefully...",
  });
  const options = { role: "user", editLastTurn: false, egocentric: true };
  assertEquals(last(await after(WRONG, options)), USUAL);
  assertEquals(
    last(await after(WRONG, { prompt: "Again!", randomPrompt: true })),
    "<think>2+2=5</think>\nAgain!",
  );
});

Deno.test("AddThinkingPrompt sets the reward to 0 when it edits and keeps it when it appends", async () => {
  assertEquals((await after(WRONG)).reward, 0);
  assertEquals((await after(WRONG, { editLastTurn: false })).reward, 0.1);
});

Deno.test("AddThinkingPrompt picks one of six sentences by the episode's seed", async () => {
  const own = new Set<string>();
  const others = new Set<string>();
  for (let seed = 0; seed < 60; seed++) {
    const random = { randomPrompt: true, editLastTurn: false };
    own.add(last(await after(WRONG, random, seed)));
    others.add(last(await after(WRONG, { ...random, role: "user" }, seed)));
    assertEquals(last(await after(WRONG, random, seed)), last(await after(WRONG, random, seed)));
  }
  assertEquals({ own: own.size, others: others.size, both: own.union(others).size }, {
    own: 6,
    others: 6,
    both: 12,
  });
  assert(!own.has(USUAL));
});

Deno.test("AddThinkingPrompt edits the assistant's last message, also before tool messages and with content parts", async () => {
  const tool: Transform = {
    step: (step) => ({
      ...step,
      history: { prompt: step.history.prompt.append({ role: "tool", content: "r" }) },
    }),
  };
  const thinking = new AddThinkingPrompt({ cond: () => true });
  await using env = new TransformedEnv(new ChatEnv(), [tool, thinking]);
  await env.reset({ id: "t", query: "q" });
  const image = { type: "image", url: "a.png" } as const;
  const { history: { prompt } } = await env.reset({ id: "t", query: "q" });
  const content = [{ type: "text", text: WRONG } as const, image];
  const { history } = await env.step({ history: { full: prompt.append({ role: "assistant", content }) } });
  assertEquals(history.prompt.toChats().slice(1), [
    { role: "assistant", content: [{ type: "text", text: `<think>2+2=5</think>\n${USUAL}` }, image] },
    { role: "tool", content: "r" },
  ]);
});

Deno.test("AddThinkingPrompt lets a policy continue, but not beyond a limit", async () => {
  const thinking = new AddThinkingPrompt({ cond: isWrong });
  await using env = new TransformedEnv(new ChatEnv(), [graded, thinking, new StepCounter({ maxSteps: 2 })]);
  await env.reset({ id: "t", query: "q" });
  assertEquals((await env.step(replyAction(WRONG))).terminated, false);
  const { reward, terminated } = await env.step(replyAction("<answer>4</answer>"));
  assertEquals({ reward, terminated }, { reward: 1, terminated: true });
  await env.reset({ id: "t", query: "q" });
  await env.step(replyAction(WRONG));
  assertEquals((await env.step(replyAction(WRONG))).truncated, true);
});

Deno.test("AddThinkingPrompt keeps a truncation and a missing reward", async () => {
  const limit = new StepCounter({ maxSteps: 1 });
  await using env = new TransformedEnv(new ChatEnv(), [limit, new AddThinkingPrompt({ cond: () => true })]);
  await env.reset({ id: "t", query: "q" });
  const { reward, truncated } = await env.step(replyAction("a"));
  assertEquals({ reward, truncated }, { reward: null, truncated: true });
});

Deno.test("AddThinkingPrompt refuses to edit with another role than the assistant", () => {
  const make = () => new AddThinkingPrompt({ cond: () => true, role: "user" });
  assertThrows(make, TypeError, "can only be used with role='assistant'");
  assertNotEquals(new AddThinkingPrompt({ cond: () => true, role: "user", editLastTurn: false }), null);
});
