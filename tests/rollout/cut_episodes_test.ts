import { assertEquals, assertStringIncludes } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import type { Env, Step } from "../../src/envs/env.ts";
import { OwningEnv } from "../../src/envs/owning_env.ts";
import { PolicyError } from "../../src/errors.ts";
import { toOpenaiMessages } from "../../src/policy/openai_messages.ts";
import type { Policy, Reply } from "../../src/policy/policy.ts";
import { exactMatch, numberMatch } from "../../src/rewards/text_match.ts";
import { gradeTrajectory } from "../../src/rollout/grade_trajectory.ts";
import { parseInteraction, toInteractionResult } from "../../src/rollout/interaction_result.ts";
import { rollout, type RolloutOptions } from "../../src/rollout/rollout.ts";
import { rolloutTree } from "../../src/rollout/rollout_tree.ts";
import { trainingRollout } from "../../src/rollout/training_rollout.ts";
import type { Trajectory } from "../../src/rollout/trajectory.ts";
import { parseTrajectory } from "../../src/rollout/trajectory_schema.ts";
import { tool } from "../../src/tools/tool.ts";
import { EndOnAnswer, EndOnFinalReply } from "../../src/transforms/end_episode.ts";
import { GradeEpisode } from "../../src/transforms/grade_episode.ts";
import { IncrementalTokenizer } from "../../src/transforms/incremental_tokenizer.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import { ToolTransform } from "../../src/transforms/tool_transform.ts";
import type { Transform } from "../../src/transforms/transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { FakePool, ok } from "../fake_pool.ts";
import { z } from "zod";

const TASK = { id: "t", query: "q", answer: "18" };
const OVERFLOW = new PolicyError("Cannot get reply as the prompt is too long", { fault: "context_overflow" });
const tokenizer = byteTokenizer();

/** A policy that gives these replies in order; a text that ends in "…" is cut off there. */
function playing(...replies: (string | Reply | Error)[]): Policy {
  let turn = 0;
  return {
    reply(_history, { recordedChat }) {
      const reply = replies[turn++];
      if (reply === undefined || reply instanceof Error) {
        return Promise.reject(reply ?? new Error("no reply"));
      }
      if (typeof reply !== "string") return Promise.resolve(reply);
      const isCut = reply.endsWith("…");
      const content = isCut ? reply.slice(0, -1) : reply;
      const ids = tokenizer.encode(isCut ? content : `${content}<|im_end|>`);
      return Promise.resolve({
        message: { role: "assistant", content },
        finishReason: isCut ? "length" : "stop",
        ...(recordedChat && { tokens: { ids, logProbs: ids.map(() => -0.5) } }),
      });
    },
  };
}

function goOn(step: Step): Step {
  return { ...step, history: { prompt: step.history.prompt.append({ role: "user", content: "go on" }) } };
}

/** A user who says "go on" after each reply. */
const CONTINUE: Transform = { step: (step, { action }) => action?.skip ? step : goOn(step) };

/** A user who says "go on" after the first reply. */
const ONE_MORE: Transform = {
  step: (step, { turn, action }) => turn > 1 || action?.skip ? step : goOn(step),
};

function chatEnv(...transforms: Transform[]): TransformedEnv {
  return new TransformedEnv(new ChatEnv(), [
    ...transforms,
    new EndOnFinalReply(),
    new StepCounter({ maxSteps: 4 }),
    new GradeEpisode({ grader: numberMatch() }),
  ]);
}

async function play(policy: Policy, env: Env = chatEnv(), options: RolloutOptions = {}): Promise<Trajectory> {
  await using _env = env;
  const trajectory = await rollout(env, policy, TASK, options);
  assertEquals(parseTrajectory(JSON.parse(JSON.stringify(trajectory))).cut, trajectory.cut);
  return trajectory;
}

function endOf({ terminated, truncated, cut, reward, error }: Trajectory) {
  return [terminated, truncated, cut, reward, error?.fault];
}

Deno.test("rollout() truncates an episode whose last reply was cut off, and grades it", async () => {
  assertEquals(endOf(await play(playing("The answer is 18…"))), [false, true, "length", 1, undefined]);
  assertEquals(endOf(await play(playing("The answer is…"))), [false, true, "length", 0, undefined]);
  assertEquals(endOf(await play(playing("The answer is 18"))), [true, false, undefined, 1, undefined]);
});

Deno.test("rollout() takes a message that is not complete as cut off, whatever the finish reason", async () => {
  const message = { role: "assistant", content: "18", is_complete: false };
  assertEquals(endOf(await play(playing({ message }))), [false, true, "length", 1, undefined]);
  const { messages } = await play(
    playing({ message: { role: "assistant", content: "x" }, finishReason: "max_tokens" }),
  );
  assertEquals(messages.at(-1)?.is_complete, false);
});

Deno.test("rollout() gives a cut episode no reward with cutScore 'none', and others theirs", async () => {
  const none = { cutScore: "none" } as const;
  const cut = await play(playing("The answer is 18…"), chatEnv(), none);
  assertEquals(endOf(cut), [false, true, "length", null, undefined]);
  assertEquals(cut.rewardParts, { number_match: null });
  assertEquals(cut.unscored, "the episode was cut off by the length of the last reply");
  const full = await play(playing("hm", OVERFLOW), chatEnv(CONTINUE), none);
  assertEquals(endOf(full), [false, true, "context", null, undefined]);
  assertEquals(full.unscored, "the episode was cut off by the context of the model");
  assertEquals(endOf(await play(playing("18"), chatEnv(), none)), [true, false, undefined, 1, undefined]);
  const long = await play(playing("1", "2", "3", "18"), chatEnv(CONTINUE), none);
  assertEquals(endOf(long), [false, true, undefined, 1, undefined], "a limit of turns is no limit of tokens");
});

Deno.test("rollout() goes on after a cut reply that was answered, and counts only the last one", async () => {
  const ended = await play(playing("half…", "18"), chatEnv(ONE_MORE));
  assertEquals(endOf(ended), [true, false, undefined, 1, undefined]);
  assertEquals(ended.messages.map(({ is_complete }) => is_complete ?? true), [true, false, true, true]);
});

Deno.test("rollout() truncates a cut reply that ends its env by an answer or a tool", async () => {
  const answered = new TransformedEnv(new ChatEnv(), [
    new EndOnAnswer(),
    new GradeEpisode({ grader: exactMatch() }),
  ]);
  const policy = playing("<answer>18</answer> and so on…");
  assertEquals((await play(policy, answered)).cut, "length");
  const submit = tool({
    name: "submit",
    description: "Ends.",
    parameters: z.object({}),
    run: () => 1,
    endsEpisode: true,
  });
  const tools = chatEnv(new ToolTransform({ tools: [submit] }));
  const { terminated, truncated, cut, toolResults } = await play(
    playing("<tool>submit\n{}</tool> and so on…"),
    tools,
  );
  assertEquals([terminated, truncated, cut, toolResults.length], [false, true, "length", 1]);
});

Deno.test("rollout() does not run the unclosed block of a cut reply, but those before it", async () => {
  const runs: [string, string[]][] = [
    ["```python\nprint(1)\n", []],
    ["```python\nprint(1)", []],
    ["```python\nprint(1)\n``", []],
    ["~~~python\nx = '''\n", []],
    ["```python\na\n```\nthen\n```python\nprint(1", ["a"]],
    ["```python\na\n```\n", ["a"]],
    ["```python\na\n``` and so", ["a"]],
  ];
  for (const [text, expected] of runs) {
    const pool = new FakePool(() => ok("1\n"));
    const { truncated } = await play(playing(`${text}…`, "18"), chatEnv(new PythonInterpreter({ pool })));
    assertEquals([pool.ran, truncated], [expected, expected.length === 0], JSON.stringify(text));
    const whole = new FakePool(() => ok("1\n"));
    await play(playing(text, "18"), chatEnv(new PythonInterpreter({ pool: whole })));
    assertEquals(
      whole.ran.length,
      Math.max(1, expected.length + Number(text.includes("print(1") && expected.length > 0)),
    );
  }
});

Deno.test("rollout() does not run a native call whose arguments were cut off, and answers it in no later request", async () => {
  const ran: unknown[] = [];
  const parameters = z.object({ text: z.string().optional() });
  const words = tool({ name: "words", description: "Counts.", parameters, run: (given) => ran.push(given) });
  const reply = (...args: (string | Record<string, unknown>)[]): Reply => ({
    message: {
      role: "assistant",
      content: "",
      tool_calls: args.map((args, at) => ({ id: `c${at}`, name: "words", arguments: args })),
    },
    finishReason: "length",
  });
  const env = () => chatEnv(new ToolTransform({ tools: [words] }));
  for (const args of ['{"text": "a b', "", '{"text"', "{"]) {
    assertEquals(endOf(await play(playing(reply(args)), env())), [false, true, "length", 0, undefined], args);
  }
  assertEquals(ran, []);
  const { truncated, toolResults } = await play(playing(reply({ text: "a" }, '{"text": "b'), "18"), env());
  assertEquals([truncated, toolResults.length, ran], [false, 1, [{ text: "a" }]]);
});

Deno.test("rollout() ends an episode whose next prompt exceeds the context, and grades what was said", async () => {
  const graded = await play(playing("The answer is 18", OVERFLOW), chatEnv(CONTINUE));
  assertEquals(endOf(graded), [false, true, "context", 1, undefined]);
  assertEquals([graded.turns, graded.steps[0]?.reward, graded.rewardParts], [1, 1, { number_match: 1 }]);
  assertEquals(graded.messages.map(({ role }) => role), ["user", "assistant", "user"]);
  assertEquals((await play(playing("hm", OVERFLOW), chatEnv(CONTINUE))).reward, 0);
});

Deno.test("rollout() leaves an episode without a reply unscored, with the server's message", async () => {
  const graded: string[] = [];
  const grader = { name: "seen", grade: () => (graded.push("x"), 1) };
  const env = new TransformedEnv(new ChatEnv(), [new EndOnFinalReply(), new GradeEpisode({ grader })]);
  const trajectory = await play(playing(OVERFLOW), env);
  assertEquals(endOf(trajectory), [false, true, "context", null, undefined]);
  assertEquals([trajectory.unscored, trajectory.turns, graded], [OVERFLOW.message, 0, []]);
  assertEquals(await gradeTrajectory(trajectory, grader), trajectory);
});

Deno.test("rollout() releases the interpreter of an episode that the context ends", async () => {
  const pool = new FakePool(() => ok("18\n"));
  const env = chatEnv(new PythonInterpreter({ pool }));
  const { cut, toolResults } = await rollout(env, playing("```python\nprint(18)\n```", OVERFLOW), TASK);
  assertEquals([cut, toolResults.length, pool.alive], ["context", 1, 0]);
  await env[Symbol.asyncDispose]();
});

Deno.test("rollout() grades an env behind others when the context ends it, with the messages of all", async () => {
  const seen: string[] = [];
  const grader = {
    name: "roles",
    grade: (
      { history }: { history: Iterable<{ role: string }> },
    ) => (seen.push([...history].map(({ role }) => role).join()), 0.5),
  };
  const inner = new TransformedEnv(new ChatEnv(), [new GradeEpisode({ grader })]);
  const owning = new OwningEnv(inner, { [Symbol.asyncDispose]: () => Promise.resolve() });
  const { reward } = await play(playing("hm", OVERFLOW), new TransformedEnv(owning, [CONTINUE]));
  assertEquals([reward, seen], [0.5, ["user,assistant,user"]]);
});

Deno.test("rollout() ends an env that cannot be truncated with the rewards so far", async () => {
  const steps: Env = {
    reset: async (task) => await new ChatEnv().reset(task),
    async step() {
      const { reset } = new ChatEnv();
      return {
        ...await reset.call(new ChatEnv(), TASK),
        reward: 0.25,
        terminated: false,
        truncated: false,
        toolResults: [],
      };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  assertEquals(endOf(await play(playing("a", "b", OVERFLOW), steps)), [
    false,
    true,
    "context",
    0.5,
    undefined,
  ]);
});

Deno.test("rollout() records a prompt beyond the context of another model than the policy's as a failure", async () => {
  const user: Transform = { step: () => Promise.reject(OVERFLOW) };
  const { error, cut } = await play(playing("hm"), chatEnv(user));
  assertEquals([error?.boundary, cut], ["policy", undefined]);
});

Deno.test("rolloutTree() scores the cut branches of a tree as their options say", async () => {
  let turn = 0;
  const policy: Policy = {
    reply: () => {
      const content = turn++ === 0 ? "hm" : "18";
      return Promise.resolve({
        message: { role: "assistant", content },
        finishReason: turn === 1 ? "stop" : "length",
      });
    },
  };
  await using env = new TransformedEnv(new ChatEnv(), [
    ONE_MORE,
    new EndOnFinalReply(),
    new GradeEpisode({ grader: numberMatch() }),
  ]);
  const tree = await rolloutTree(env, policy, TASK, { branch: { turn: 2, count: 3 }, cutScore: "none" });
  assertEquals(tree.map(({ cut, reward }) => [cut, reward]), Array(3).fill(["length", null]));
});

Deno.test("trainingRollout() adds no end to the tokens of a reply that was cut off", async () => {
  for (const tokenMode of ["append", "rerender"] as const) {
    await using env = chatEnv(ONE_MORE);
    const options = { task: TASK, family: "qwen", tokenMode };
    const result = await trainingRollout(env, playing("hm", "The answer is 18…"), tokenizer, options);
    assertEquals([result.status, result.cut, result.reward], ["truncated", "length", 1]);
    assertEquals(tokenizer.decode(result.tokens).endsWith("assistant\nThe answer is 18"), true);
    assertEquals([result.loss_mask.at(-1), result.log_probs?.at(-1)], [1, -0.5]);
    assertEquals([result.loss_mask.length, result.log_probs?.length], [
      result.response_length,
      result.response_length,
    ]);
    assertEquals(parseInteraction(JSON.parse(JSON.stringify(result))), result);
  }
});

Deno.test("trainingRollout() ends a cut reply that was answered, outside of the loss mask", async () => {
  await using env = chatEnv(ONE_MORE);
  const result = await trainingRollout(env, playing("half…", "18"), tokenizer, {
    task: TASK,
    family: "qwen",
  });
  const text = tokenizer.decode(result.tokens);
  assertStringIncludes(text, "assistant\nhalf<|im_end|>\n<|im_start|>user\ngo on<|im_end|>\n");
  const sampled = result.tokens.slice(-result.response_length).filter((_id, at) =>
    result.loss_mask[at] === 1
  );
  assertEquals([result.status, tokenizer.decode(sampled)], ["completed", "half18<|im_end|>"]);
});

Deno.test("trainingRollout() records an episode that the context ends with its tokens, as truncated", async () => {
  await using env = chatEnv(ONE_MORE);
  const options = { task: TASK, family: "qwen", cutScore: "none" } as const;
  const result = await trainingRollout(env, playing("hm", OVERFLOW), tokenizer, options);
  assertEquals([result.status, result.cut, result.reward, result.errors], ["truncated", "context", null, []]);
  assertEquals(tokenizer.decode(result.tokens).endsWith("user\ngo on<|im_end|>\n"), true);
});

Deno.test("rollout() with the env's own tokens ends a cut reply at its last sampled token", async () => {
  const env = chatEnv(new IncrementalTokenizer({ tokenizer, family: "qwen" }));
  const ids = tokenizer.encode("half");
  const message = { role: "assistant", content: "half" };
  const { tokens } = await play(playing({ message, tokens: { ids }, finishReason: "length" }), env);
  assertEquals(tokens?.ids.slice(-ids.length), ids);
  assertEquals([tokens?.lossMask.length, tokens?.lossMask.at(-1)], [tokens?.ids.length, 1]);
});

Deno.test("toInteractionResult() keeps what a cut reply said, and a request has it as a message", async () => {
  const tokens = { tokenizer, family: "qwen" };
  const trajectory = await play(playing("half…"), chatEnv(), { tokens });
  assertEquals(toInteractionResult(trajectory).response, "half");
  const { History } = await import("../../src/history.ts");
  assertEquals(toOpenaiMessages(History.fromChats([...trajectory.messages])).at(-1), {
    role: "assistant",
    content: "half",
  });
});
