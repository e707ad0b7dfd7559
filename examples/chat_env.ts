// deno-lint-ignore-file no-console -- an example shows what it does
/** Plays one chat episode whose reply runs Python, with a scripted policy in place of a model. */
import {
  ChatEnv,
  EndOnFinalReply,
  GradeEpisode,
  loadProfile,
  messageText,
  numberMatch,
  type Policy,
  PythonInterpreter,
  rollout,
  SandboxPool,
  StepCounter,
  TransformedEnv,
} from "@paddock/paddock";

const policy: Policy = {
  reply: (history) =>
    Promise.resolve(
      history.last?.role === "tool"
        ? `The answer is ${messageText(history.last).split("\n").at(1)}`
        : "I will count.\n```python\nprint(sum(1 for c in 'strawberry' if c == 'r'))\n```",
    ),
};

await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1 });
await using env = new TransformedEnv(new ChatEnv(), [
  new PythonInterpreter({ pool, timeoutMs: 2_000 }),
  new EndOnFinalReply(),
  new StepCounter({ maxSteps: 4 }),
  new GradeEpisode({ grader: numberMatch() }),
]);
const trajectory = await rollout(env, policy, {
  id: "letters",
  query: "How many times does the letter r occur in 'strawberry'?",
  answer: "3",
});
for (const message of trajectory.messages) console.log(`${message.role}: ${messageText(message)}\n`);
console.log(`reward ${trajectory.reward}`);
if (trajectory.reward !== 1) throw new Error(`Expected reward 1: got ${trajectory.reward}`);
