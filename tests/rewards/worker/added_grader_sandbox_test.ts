import { assertEquals } from "@std/assert";
import { REPLY_GRADERS } from "../../../src/rewards/reply_graders.ts";
import { GraderPool } from "../../../src/rewards/worker/grader_pool.ts";
import { CopiedSource } from "../../copied_source.ts";
import { replyContext } from "../replies.ts";

const GRADER = `
  import type { Grader } from "./grader.ts";
  import { replyGrader } from "./reply_grader.ts";

export function startsWith(): Grader {
  return replyGrader({
    name: "starts_with",
    origin: { file: "starts_with", factory: "startsWith", options: undefined },
    gradeReply: (reply, task) => reply.startsWith(task.answer ?? "") ? 1 : 0,
  });
}
`;
const PROGRAM = `
  import { History } from "./src/history.ts";
  import { REPLY_GRADERS } from "./src/rewards/reply_graders.ts";
  import { GraderPool } from "./src/rewards/worker/grader_pool.ts";

await using pool = new GraderPool({ deadlineMs: 30_000 });
const history = History.fromChats([{ role: "assistant", content: "18 eggs" }]);
const grader = pool.guard(REPLY_GRADERS.starts_with.make());
console.log(JSON.stringify(await grader.grade({ task: { id: "1", query: "How many?", answer: "18" }, history })));
`;

Deno.test("a grader that is added to a copy's registry grades in a worker, once the lists are written", async () => {
  await using copy = await CopiedSource.of("scripts/guest_manifest.ts");
  const registry = "src/rewards/reply_graders.ts";
  const entry = 'starts_with: { about: "", needs: "nothing", make: () => startsWith() },';
  await copy.insert(
    registry,
    'import { gsm8k } from "./gsm8k.ts";',
    'import { startsWith } from "./starts_with.ts";',
  );
  await copy.insert(registry, "ReplyGraderEntry>> = {", entry);
  await copy.write("src/rewards/starts_with.ts", GRADER);
  await copy.write("grade.ts", PROGRAM);
  await copy.run("scripts/guest_manifest.ts");
  assertEquals(await copy.run("grade.ts"), '{"score":1}\n');
});

Deno.test("GraderPool grades with each grader of the registry that reads only a reply", async () => {
  await using pool = new GraderPool({ deadlineMs: 30_000 });
  const fields = { instruction_id_list: ["punctuation:no_comma"], kwargs: [{}] };
  const context = replyContext("<answer>18</answer>", "target=18, numbers=18", fields);
  for (const { make } of Object.values(REPLY_GRADERS)) {
    const score = await make().grade(context);
    const expected = typeof score === "number" ? { score } : score;
    assertEquals(await pool.guard(make()).grade(context), expected);
  }
});
