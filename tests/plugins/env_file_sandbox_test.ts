import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { replyAction } from "../../src/envs/action.ts";
import { isBranchingEnv } from "../../src/envs/branching_env.ts";
import type { Env } from "../../src/envs/env.ts";
import { SandboxError } from "../../src/errors.ts";
import { messageText } from "../../src/message.ts";
import { type EnvFile, envFile } from "../../src/plugins/env_file.ts";
import { pythonEnvFile } from "../../src/plugins/python/python_env.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { fileEnv } from "../../src/rollout/envs/file_env.ts";
import { rollout } from "../../src/rollout/rollout.ts";
import type { Trajectory } from "../../src/rollout/trajectory.ts";
import { SandboxPool } from "../../src/sandbox/pool.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";
import type { Task } from "../../src/task.ts";
import { TempFolder } from "../temp_folder.ts";

/** The same env in both languages: guess a number, with a tool that is told of guesses, and rewards of steps. */
const GUESS_PY = `
system = "Guess a number."
guesses: list[int] = []

def reset(task, query, level, seed=None):
    guesses.clear()
    return f"{query} (level {level}, seed {seed})"

def spy(below: int) -> bool:
    """Says whether the number is below another one."""
    guesses.append(below)
    return SECRET < below

tools = [spy]
SECRET = 5

def step(reply: str, answer: str, turn: int):
    if reply == answer:
        return None
    if reply == "stop":
        return {"message": "Bye.", "done": True, "reward": -1}
    if reply == "fail":
        raise ValueError("no idea")
    return {"message": f"Not {reply}.", "reward": -0.25, "closeness": 0.5}

def reward(completion, answer):
    return {"score": float(completion == answer), "spied": len(guesses)}
`;
const GUESS_TS = `
import { defineEnv } from "@paddock/paddock/envs";
const SECRET = 5;
export default defineEnv({
  system: "Guess a number.",
  reset({ task, seed }, { state }) {
    state.guesses = [];
    return \`\${task.query} (level \${task.fields?.level}, seed \${seed})\`;
  },
  tools: [{
    name: "spy",
    description: "Says whether the number is below another one.",
    parameters: { type: "object", properties: { below: { type: "integer" } }, required: ["below"] },
    run({ below }, { state }) {
      (state.guesses as unknown[]).push(below);
      return SECRET < Number(below);
    },
  }],
  step({ reply, task }) {
    if (reply === task.answer) return null;
    if (reply === "stop") return { message: "Bye.", done: true, reward: -1 };
    if (reply === "fail") throw new Error("no idea");
    return { message: \`Not \${reply}.\`, reward: -0.25, parts: { closeness: 0.5 } };
  },
  reward: ({ completion, answer }, { state }) => ({
    score: completion === answer ? 1 : 0,
    parts: { spied: (state.guesses as unknown[]).length },
  }),
});
`;

/** An env in a file of a language. */
class Setup implements AsyncDisposable {
  private constructor(
    readonly path: string,
    readonly file: EnvFile,
    readonly stack: AsyncDisposableStack,
  ) {}

  static async of(name: string, text: string): Promise<Setup> {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await TempFolder.of({ [name]: text }));
    const path = join(folder.path, name);
    if (name.endsWith(".ts")) {
      const file = stack.use(await envFile(path));
      return new Setup(path, file, stack.move());
    }
    const profile = await loadProfile("python");
    const pool = stack.use(new SandboxPool({ profile, size: 2, resetMode: "rewind" }));
    return new Setup(path, await pythonEnvFile(path, { pool }), stack.move());
  }

  async play(replies: readonly string[], task: Partial<Task> = {}, seed?: number): Promise<Trajectory> {
    await using env = fileEnv(this.file, { maxTurns: 6 });
    const whole = { id: "1", query: "Guess", answer: "5", fields: { level: 2 }, replies, ...task };
    return await rollout(env, scriptedPolicy(), whole, { seed });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stack[Symbol.asyncDispose]();
  }
}

const SPY = '<tool>spy\n{"below": 7}</tool>';

for (const [name, text] of [["guess.py", GUESS_PY], ["guess.ts", GUESS_TS]] as const) {
  Deno.test(`an env in ${name} starts, answers, runs tools and rewards, each episode with its own state`, async () => {
    await using setup = await Setup.of(name, text);
    assertEquals(setup.file.description.name, "guess");
    const replies = [SPY, "3", SPY, "5"];
    for (const _ of [1, 2]) {
      const { messages, reward, rewardParts, turns, terminated, error } = await setup.play(replies, {}, 3);
      assertEquals(error, undefined);
      assertEquals(messages.filter(({ role }) => role !== "assistant").map(messageText), [
        "Guess a number.",
        "Guess (level 2, seed 3)",
        messageText(messages.find(({ role }) => role === "tool") ?? { role: "", content: "" }),
        "Not 3.",
        messageText(messages.findLast(({ role }) => role === "tool") ?? { role: "", content: "" }),
      ]);
      assertStringIncludes(messages.map(messageText).join("\n"), "true");
      assertEquals([reward, turns, terminated], [0.75, 4, true]);
      assertEquals(rewardParts?.guess, 1);
      assertEquals(rewardParts?.spied, 2);
    }
  });

  Deno.test(`an env in ${name} ends an episode with a message and a reward`, async () => {
    await using setup = await Setup.of(name, text);
    const { messages, reward, terminated } = await setup.play(["stop"]);
    assertEquals([messages.map(messageText).at(-1), reward, terminated], ["Bye.", -1, true]);
  });

  Deno.test(`an env in ${name} that throws fails its episode alone, and the error names the file`, async () => {
    await using setup = await Setup.of(name, text);
    const { error, reward } = await setup.play(["fail"]);
    assertEquals([error?.boundary, reward], ["env", null]);
    assertStringIncludes(error?.message ?? "", "no idea");
    assertStringIncludes(error?.message ?? "", setup.path);
    if (name.endsWith(".py")) assertStringIncludes(error?.message ?? "", "line 23)");
    assertEquals((await setup.play(["5"])).reward, 1);
  });

  Deno.test(`copies of an episode of an env in ${name} continue with its state, each with its own`, async () => {
    await using setup = await Setup.of(name, text);
    await using env = fileEnv(setup.file);
    await env.reset({ id: "1", query: "q", answer: "5", fields: { level: 1 } });
    await env.step(replyAction(SPY));
    if (!isBranchingEnv(env)) throw new Error("no checkpoints");
    const state = await env.checkpoint();
    const spied = async (env: Env, calls: number) => {
      for (let call = 0; call < calls; call++) await env.step(replyAction(SPY));
      const { rewardParts } = await env.step(replyAction("5"));
      return rewardParts?.spied;
    };
    assertEquals(await spied(env, 0), 1, "the original ends");
    for (const calls of [2, 0]) {
      await using copy = await state.copy();
      assertEquals(await spied(copy, calls), 1 + calls);
    }
  });
}

Deno.test("an env in a file runs Python blocks in the pool of the model", async () => {
  await using setup = await Setup.of(
    "e.py",
    "python = True\ndef reward(completion): return float(completion == '6')",
  );
  await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1 });
  await using env = fileEnv(setup.file, { pool });
  const replies = ["```python\nprint(2 * 3)\n```", "6"];
  const { reward, messages } = await rollout(env, scriptedPolicy(), { id: "1", query: "q", replies });
  assertEquals(reward, 1);
  assertStringIncludes(messages.map(messageText).join("\n"), "6");
});

Deno.test("pythonEnvFile() names what is wrong with a file", async () => {
  const wrong: Readonly<Record<string, string>> = {
    "x = 1": "it must define one of reset(), step(), reward() and a list 'tools': found no function",
    "def setup(task): pass": "the function that starts an episode must be called 'reset': found 'setup'",
    "reward = 1": "'reward' must be a function: found 1",
    "system = 3\ndef reward(completion): return 1":
      "'system' must be the text of the system message: found 3",
    "python = 1\ndef reward(completion): return 1": "'python' must be True if code blocks of replies run",
    "tools = [print]": "'tools' must be a list of functions",
  };
  for (const [text, message] of Object.entries(wrong)) {
    await assertRejects(() => Setup.of("e.py", text), SandboxError, message);
  }
});

Deno.test("pythonEnvFile() refuses wrong results of reset() and step() with their line", async () => {
  await using setup = await Setup.of(
    "e.py",
    "\ndef reset(query): return eval(query)\ndef step(reply): return eval(reply)\n",
  );
  const cases: readonly (readonly [query: string, reply: string, message: string])[] = [
    ["3", "", "reset() must return None, the text of the query, or a list of messages"],
    ["[]", "", "it returned [], a value of type list ("],
    ["None", "[1]", "step() must return None to end the episode"],
    ["None", "{'done': False}", "must have 'message', or 'done' that is True: it has neither"],
    [
      "None",
      "{'message': 'x', 'reward': 'y'}",
      "'reward' of the dict that step() returns must be a number or None",
    ],
  ];
  for (const [query, reply, message] of cases) {
    const { error } = await setup.play([reply], { query });
    assertStringIncludes(error?.message ?? "", message);
    assertStringIncludes(error?.message ?? "", `e.py, line ${query === "None" ? 3 : 2})`);
  }
});

Deno.test("envFile() names what is wrong with a file", async () => {
  const wrong: Readonly<Record<string, string>> = {
    "export const x = 1;": "the file must have a default export that is an object",
    "export default {};": "the default export must have a function 'reset', 'step' or 'reward', or 'tools'",
    "export default { step: 1 };": "'step' of the default export must be a function",
    "export default { tools: [{ name: 'x' }] };":
      "each of 'tools' must be { name, description, parameters, run }",
  };
  for (const [text, message] of Object.entries(wrong)) {
    await assertRejects(() => Setup.of("e.ts", text), SandboxError, message);
  }
  await using setup = await Setup.of("e.ts", "export default { step: () => 3 };");
  const { error } = await setup.play(["x"]);
  assertEquals(error?.boundary, "env");
  assertStringIncludes(error?.message ?? "", "it must return nothing to end the episode");
});
