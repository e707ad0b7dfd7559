// deno-lint-ignore-file no-console -- an example shows what it does
/**
 * A recursive language model: the context of the task is a variable of a Python session, and the code of the policy asks
 * the policy about parts of it. The policy here is a script; a model takes its place.
 *
 * `deno run -A examples/recursive.ts`
 */
import { loadProfile, RlmEnv, rolloutRecursive, SandboxPool, scriptedPolicy } from "@paddock/paddock";

const context = Array.from({ length: 100_000 }, (_, day) => {
  return day % 9_000 === 500 ? `day ${day}: the station reports ${day / 100} mm of rain` : `day ${day}: dry`;
}).join("\n");

const code = `
reports = [line for line in context.split("\\n") if "rain" in line]
amounts = llm_query_batched([f"How many mm? {report}" for report in reports])
FINAL(max(float(amount) for amount in amounts))`;

const policy = scriptedPolicy({
  script(history) {
    const question = String(history.last?.content);
    const amount = /How many mm\? .* ([\d.]+) mm/.exec(question)?.[1];
    return amount ?? `I search the reports.\n\`\`\`python${code}\n\`\`\``;
  },
});

await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 1 });
await using env = new RlmEnv({ pool });
const task = { id: "rain", query: "What is the most rain of a day, in mm?", fields: { context } };
const [episode, ...questions] = await rolloutRecursive(env, policy, task);
console.log(`a context of ${context.length} characters, ${questions.length} questions about it`);
console.log(`the first question: ${questions[0]?.task.query}`);
console.log(`the answer: ${episode?.info?.final_answer}`);
