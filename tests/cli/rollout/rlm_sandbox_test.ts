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

const ASKING = `
import { definePolicy } from "@paddock/paddock/rollout";

const SUM = "parts = []\\nparts = llm_query_batched([f'count: {part}' for part in context])\\nprint(parts)";

export default definePolicy({
  name: "counter",
  reply({ messages }) {
    const last = String(messages.at(-1).content);
    if (last.startsWith("count: ")) {
      if (last.endsWith("!")) throw new Error("no count");
      return "<think>hm</think>" + "x".repeat(last.length - 7);
    }
    const code = messages.length > 2 ? "FINAL(len(''.join(parts)))" : SUM;
    return "\`\`\`python\\n" + code + "\\n\`\`\`";
  },
});
`;

Deno.test("paddock replay answers the questions of code from their rows", async () => {
  const tasks = [["abc", "de"], ["f"], ["g!"]].map((context, at) => ({
    id: `t${at}`,
    query: "How long?",
    context,
  }));
  await withFiles({ "tasks.jsonl": toJsonLines(...tasks), "policy.ts": ASKING }, async (folder) => {
    const out = `${folder}/out.jsonl`;
    const policy = ["--policy", `${folder}/policy.ts`, "--grader", "none", "--out", out];
    const profile = ["--profile", "tools"];
    const options = ["--env", "rlm", "--tasks", `${folder}/tasks.jsonl`, "--concurrency", "2"];
    const played = await runPaddock(["rollout", ...options, ...policy, ...profile]);
    assertEquals(played.code, 0, played.stderr);
    const rows = (await Deno.readTextFile(out)).trim().split("\n");
    const at = rows.findIndex((line) => JSON.parse(line).task.id === "t0/2");
    const question = await runPaddock(["replay", `${out}:${at + 1}`, ...profile]);
    assertEquals(question.code, 2);
    assertStringIncludes(question.stderr, "as it is a question of the episode");

    const changed = rows.map((line, index) => index === at ? line.replace("xx", "xxxx") : line);
    await Deno.writeTextFile(out, changed.join("\n"));
    const other = await runPaddock(["replay", out, ...profile]);
    assertEquals(other.code, 1);
    assertStringIncludes(other.stdout, "replayed  ['xxx', 'xxxx']");
    assertEquals(other.stdout.match(/task t[12]: \d results, all the same/g)?.length, 2, other.stdout);
  });
});
