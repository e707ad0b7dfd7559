/**
 * Policy in its own file, for `--policy examples/plugins/policy.ts`. It runs in a process without permissions.
 *
 * It lets Python add the numbers of a question and replies with what the program printed.
 */
import { definePolicy } from "@paddock/paddock/rollout";

export default definePolicy({
  name: "adder",
  reply({ messages, task }) {
    const last = messages.at(-1);
    const hasRun = messages.some(({ role }) => role === "assistant");
    if (hasRun) return `The answer is ${String(last?.content).trim().split("\n").at(-1)}`;
    const question = typeof task.query === "string" ? task.query : "";
    const numbers = question.match(/\d+(?:\.\d+)?/g) ?? [];
    return `I add the numbers.\n\`\`\`python\nprint(sum([${numbers.join(", ")}]))\n\`\`\``;
  },
});
