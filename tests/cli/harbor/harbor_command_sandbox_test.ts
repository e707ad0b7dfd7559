import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { makeTasks, writeTasks } from "../../envs/harbor/made_tasks.ts";
import { runPaddock } from "../run_paddock.ts";

Deno.test("paddock harbor check, and rollout --harbor, agree on which tasks run", async () => {
  await using folder = await writeTasks(makeTasks().filter(({ id }) => ["parts_0", "parts_1"].includes(id)));
  await Deno.writeTextFile(
    join(folder.path, "parts_1/environment/Dockerfile"),
    "FROM debian\nRUN cmake --version\n",
  );

  const check = await runPaddock(["harbor", "check", folder.path]);
  assertEquals(check.code, 1);
  assertEquals(check.stdout.split("\n"), [
    "runs  parts_0",
    "  note: the sandbox has no network",
    "does not run  parts_1",
    "  the sandbox has no command 'cmake'",
    "  note: the sandbox has no network",
    "1 of 2 tasks run here",
    "",
  ]);

  const rollout = await runPaddock(["rollout", "--harbor", folder.path, "--json"]);
  assertEquals(rollout.code, 0, rollout.stderr);
  assertStringIncludes(rollout.stderr, "Left out 'parts_1': the sandbox has no command 'cmake'");
  const rows = rollout.stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(rows.map(({ task, reward }) => [task.id, reward]), [["parts_0", 1]]);
});

Deno.test("paddock harbor image prints the steps of a Dockerfile", async () => {
  await using folder = await writeTasks(makeTasks().filter(({ id }) => id === "column_sum_1"));
  const { code, stdout } = await runPaddock([
    "harbor",
    "image",
    join(folder.path, "column_sum_1/environment"),
  ]);
  assertEquals(code, 0);
  const { workdir, faults, steps } = JSON.parse(stdout);
  assertEquals([workdir, faults], ["/app", []]);
  assertEquals(steps.map(({ kind }: { kind: string }) => kind), ["command", "files", "command"]);
});

Deno.test("rollout --harbor refuses options that the folders of tasks set, and folders without tasks", async () => {
  const refused: readonly [args: readonly string[], message: string][] = [
    [["--env", "harbor"], "give --harbor DIR"],
    [["--harbor", "/nonexistent"], "Cannot find Harbor tasks"],
    [["--harbor", "/nonexistent", "--grader", "gsm8k"], "as the folders of its tasks set it"],
    [["--harbor", "/nonexistent", "--env", "python"], "add --env harbor"],
    [["--harbor", "/nonexistent", "--tasks", "a.jsonl"], "remove --tasks"],
  ];
  for (const [args, message] of refused) {
    const { code, stderr } = await runPaddock(["rollout", ...args]);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, message);
  }
});
