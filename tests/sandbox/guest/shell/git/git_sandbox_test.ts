import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { withSession } from "../../../shared_session.ts";
import { limited } from "../../../started.ts";
import { differingCommands } from "../compare_recorded.ts";
import { GIT_SETTINGS, type RecordedCommand } from "../record.ts";
import commands from "./git.json" with { type: "json" };
import packed from "./packed.json" with { type: "json" };

const profile = await limited("workspace", { graceMs: 10_000 });
const rows: readonly RecordedCommand[] = commands;

Deno.test("git in the shell prints what git 2.39 prints, in at least 100 recorded lines", async () => {
  assert(rows.length >= 100, `only ${rows.length} lines are compared`);
  await withSession(async (session) => {
    assertEquals(await differingCommands(session, rows, GIT_SETTINGS), []);
  }, { profile });
});

Deno.test("git in the shell refuses by name what needs a network and what the sandbox lacks", async () => {
  await withSession(async (session) => {
    await session.shell(`${GIT_SETTINGS} git init -q; echo a > f; git add f; git commit -qm one`);
    for (
      const [line, stderr] of [
        ["git clone x", "fatal: 'git clone' is not available in the sandbox, which has no network\n"],
        ["git push", "fatal: 'git push' is not available in the sandbox, which has no network\n"],
        ["git pull", "fatal: 'git pull' is not available in the sandbox, which has no network\n"],
        ["git rebase main", "fatal: 'git rebase' is not available in the sandbox\n"],
        ["git add -p", "fatal: the option -p is not available in the sandbox\n"],
        ["git diff --word-diff", "fatal: the option --word-diff is not available in the sandbox\n"],
        ["git log --color=always", "fatal: colour is not available in the sandbox\n"],
      ] as const
    ) {
      const result = await session.shell(line);
      assertEquals([line, result.stdout, result.stderr], [line, "", stderr]);
    }
  }, { profile });
});

Deno.test("git in the shell keeps staged work when it refuses a switch of branches", async () => {
  await withSession(async (session) => {
    const lines =
      "git init -q; echo a > f; git add f; git commit -qm one; git checkout -qb dev; echo b > f; " +
      "git commit -qam two; git checkout -q main; echo staged > f; echo new > g; git add .; git checkout dev";
    const refused = await session.shell(GIT_SETTINGS + lines);
    assertStringIncludes(
      refused.stderr,
      "Your local changes to the following files would be overwritten by checkout",
    );
    const kept = await session.shell("cat f g; git status -s; git branch --show-current");
    assertEquals(kept.stdout, "staged\nnew\nM  f\nA  g\nmain\n");
  }, { profile });
});

Deno.test("a program in the sandbox runs git as a process", async () => {
  await withSession(async (session) => {
    const result = await session.exec(
      "import subprocess\nsubprocess.run(['git', 'init', '-q'], check=True)\n" +
        "print(subprocess.run(['git', 'status', '--short', '--branch'], capture_output=True, text=True).stdout)",
    );
    assertEquals(result.status, "ok");
    assertEquals("stdout" in result && result.stdout, "## No commits yet on master\n\n");
  }, { profile });
});

Deno.test("git in the shell works on a repository of git 2.39 with packs, packed references and an index of version 4", async () => {
  await withSession(async (session) => {
    await session.writeFile("archive", packed.archive);
    await session.shell("base64 -d archive | tar -xz; rm archive");
    const result = await session.shell(GIT_SETTINGS + packed.command);
    assertEquals([result.stdout, result.stderr], [packed.stdout, ""]);
  }, { profile });
});
