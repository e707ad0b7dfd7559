import { assertEquals } from "@std/assert";
import { cp } from "node:fs/promises";
import { REPLY_GRADERS } from "../../../src/rewards/reply_graders.ts";
import { GraderPool } from "../../../src/rewards/worker/grader_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { replyContext } from "../replies.ts";

const ROOT = new URL("../../../", import.meta.url);
const GRADER = `import type { Grader } from "./grader.ts";
import { replyGrader } from "./reply_grader.ts";

export function startsWith(): Grader {
  return replyGrader({
    name: "starts_with",
    origin: { file: "starts_with", factory: "startsWith", options: undefined },
    gradeReply: (reply, task) => reply.startsWith(task.answer ?? "") ? 1 : 0,
  });
}
`;
const PROGRAM = `import { History } from "./src/history.ts";
import { REPLY_GRADERS } from "./src/rewards/reply_graders.ts";
import { GraderPool } from "./src/rewards/worker/grader_pool.ts";

await using pool = new GraderPool({ deadlineMs: 30_000 });
const history = History.fromChats([{ role: "assistant", content: "18 eggs" }]);
const grader = pool.guard(REPLY_GRADERS.starts_with.make());
console.log(JSON.stringify(await grader.grade({ task: { id: "1", query: "How many?", answer: "18" }, history })));
`;

Deno.test("a grader that is added to a copy's registry grades in a worker, once the lists are written", async () => {
  const registry = "src/rewards/reply_graders.ts";
  const source = await Deno.readTextFile(new URL(registry, ROOT));
  const entry = 'starts_with: { about: "", needs: "nothing", make: () => startsWith() },';
  const added = source.replace("ReplyGraderEntry>> = {", (start) => start + entry);
  await using copy = await TempFolder.of();
  for (const path of ["deno.json", "deno.lock", "scripts/guest_manifest.ts", "src"]) {
    await cp(new URL(path, ROOT), `${copy.path}/${path}`, { recursive: true });
  }
  await Deno.writeTextFile(
    `${copy.path}/${registry}`,
    `import { startsWith } from "./starts_with.ts";\n${added}`,
  );
  await Deno.writeTextFile(`${copy.path}/src/rewards/starts_with.ts`, GRADER);
  await Deno.writeTextFile(`${copy.path}/grade.ts`, PROGRAM);
  await run("scripts/guest_manifest.ts", copy.path);
  assertEquals(await run("grade.ts", copy.path), '{"score":1}\n');
});

async function run(script: string, cwd: string): Promise<string> {
  const args = ["run", "-A", "--no-check", "--cached-only", script];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

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
