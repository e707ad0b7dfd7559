/**
 * Transform in its own file, for `--transform examples/plugins/transform.ts`. It runs in a process without permissions.
 *
 * It asks for a short answer, shortens long results, ends an episode in which all calls of a step failed twice, and
 * lowers the reward by 0.05 for each reply after the second.
 */
import { defineTransform } from "@paddock/paddock/transforms";

const MAX_RESULT = 500;
const COST_PER_REPLY = 0.05;
const FREE_REPLIES = 2;

export default defineTransform({
  name: "frugal",
  task: ({ task: { query } }) =>
    typeof query === "string" ? { query: `${query} Answer briefly.` } : undefined,
  step({ results, calls, messages }) {
    const texts = results.map(({ text }) =>
      text.length <= MAX_RESULT ? text : `${text.slice(0, MAX_RESULT)} … (${text.length} characters)`
    );
    const hasFailed = calls.length > 0 && calls.every(({ status }) => status !== "ok");
    const hadFailure = messages.some(({ role, content }) =>
      role === "tool" && String(content).includes("failed")
    );
    return { results: texts, end: hasFailed && hadFailure };
  },
  reward({ messages, reward }) {
    if (reward === null) return undefined;
    const replies = messages.filter(({ role }) => role === "assistant").length;
    const cost = COST_PER_REPLY * Math.max(0, replies - FREE_REPLIES);
    return { reward: reward - cost, parts: { cost: -cost } };
  },
});
