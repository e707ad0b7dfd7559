import { assertEquals, assertStringIncludes } from "@std/assert";
import { toJsonLines, withFiles } from "../../datasets/temp_files.ts";
import { runPaddock } from "../run_paddock.ts";

const POLICY = `
import { definePolicy } from "@paddock/paddock/rollout";

const CODE = "FINAL(sum(map(int, llm_query_batched([f'count: {part}' for part in context]))))";

export default definePolicy({
  name: "counter",
  reply({ messages }) {
    const last = String(messages.at(-1).content);
    if (last.startsWith("count: ")) return String(last.length - 7);
    return "\`\`\`python\\n" + CODE + "\\n\`\`\`";
  },
});
`;

Deno.test("paddock rollout --env rlm writes an episode and the questions of its code", async () => {
  const task = { id: "t", query: "How long?", answer: "6", context: ["abc", "de", "f"] };
  await withFiles({ "tasks.jsonl": toJsonLines(task), "policy.ts": POLICY }, async (folder) => {
    const { code, stdout, stderr } = await runPaddock([
      "rollout",
      "--env",
      "rlm",
      "--tasks",
      `${folder}/tasks.jsonl`,
      "--policy",
      `${folder}/policy.ts`,
      "--profile",
      "tools",
      "--grader",
      "exact_match",
      "--json",
    ]);
    const rows = stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    assertEquals(code, 0, stderr);
    const [episode, ...asked] = rows;
    assertEquals([episode.task.id, episode.reward, episode.info], ["t", 1, {
      sub_calls: 3,
      final_answer: "6",
      final_value: 6,
    }]);
    assertEquals(asked.map(({ parent, reward, messages }) => [parent, reward, messages.at(-1).content]), [
      [{ id: episode.id, turn: 1, call: 1 }, 1, "3"],
      [{ id: episode.id, turn: 1, call: 2 }, 1, "2"],
      [{ id: episode.id, turn: 1, call: 3 }, 1, "1"],
    ]);
    assertStringIncludes(stderr, "right         1\n"); // a question is no episode
  });
});
