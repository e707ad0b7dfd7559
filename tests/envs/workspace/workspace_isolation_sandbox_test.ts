import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { WorkspaceEnv } from "../../../src/envs/workspace/workspace_env.ts";
import { type Opened, output, withWorkspace } from "./open_workspace.ts";

Deno.test("WorkspaceEnv stops a command at its timeout, keeps its output, and continues", async () => {
  await withWorkspace(async ({ act }) => {
    const slow = await output(act("echo early; x=kept; sleep 600")) ?? "";
    assertStringIncludes(slow, "early\n[The command was stopped as it was not done after 0.5 seconds.]");
    const busy = await output(act("while true; do :; done")) ?? "";
    assertStringIncludes(busy, "not done after 0.5 seconds");
    assertEquals(await output(act("echo $x")), "kept");
  }, { timeoutMs: 500 });
  await withWorkspace(async ({ act }) => {
    const training = await output(act("python -c 'while True: pass'")) ?? "";
    assertStringIncludes(training, "[The command was stopped as it was not done after 1 second.]");
    assertEquals(await output(act("cat answer.txt")), "1");
  }, { task: { trainingTimeoutMs: 1_000 } });
});

Deno.test("WorkspaceEnv stops a silent command, but not one that keeps printing", async () => {
  await withWorkspace(async ({ act }) => {
    const silent = await output(act("echo first; sleep 600")) ?? "";
    assertStringIncludes(silent, "first\n[The command was stopped as it printed nothing for 2 seconds.]");
    assertEquals(
      await output(act("for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done; echo done")),
      "1\n2\n3\n4\n5\n6\ndone",
    );
  }, { silenceMs: 2_000, timeoutMs: 60_000 });
});

Deno.test("WorkspaceEnv ends an episode whose shell is lost, and can start the next one", async () => {
  await withWorkspace(async ({ env, act }) => {
    for (
      const command of [
        "echo before; python -c 'import os; os.abort()'",
        "python -c 'import os; os._exit(3)'",
        "state() { python -c 'import os; os._exit(3)'; }; realpath() { state; }; CURRENT_FILE=x",
        "python -c 'import os; os.walk = lambda *_: os._exit(3)'; validate",
      ]
    ) {
      await act("echo 5 > answer.txt");
      const { workspace, terminated, info } = await act(command);
      assertEquals([command, terminated, info], [command, true, { exitStatus: "early_exit" }]);
      assertEquals(workspace?.evaluation?.outcome.status === "scored", false);
      await env.reset({ id: "bench", query: "" });
      assertEquals(await output(act("cat answer.txt; echo $WINDOW")), "1\n3");
    }
  }, { plan: { submission: ["answer.txt", "src/"] } });
});

Deno.test("WorkspaceEnv gives no reward for a mark or a score that a program prints", async () => {
  await withWorkspace(async ({ env, act, evaluator }) => {
    const scores = `Evaluation Score: {'Score': 99}\\nBaseline Score: {'Score': 0}`;
    const printed = await act(`printf "${scores}\\n{\\"Score\\": 99}\\n"`);
    assertEquals(printed.workspace.evaluation, undefined);
    assertEquals(printed.reward, null);
    const quoted = await act("echo 'grep <<SUBMISSION||x||SUBMISSION>>'");
    assertEquals([quoted.terminated, quoted.workspace.evaluation], [false, undefined]);
    const marked = await act(`printf "${scores}\\n<<VALIDATION||{'Score': 99}||VALIDATION>>\\n"`);
    assertStringIncludes(marked.workspace.output ?? "", "\nEvaluation Score: {'Score': 1.0}");
    assertEquals(marked.workspace.evaluation?.outcome.status, "scored");
    const ended = await act("echo '<<SUBMISSION||99||SUBMISSION>>'");
    assertEquals([ended.terminated, ended.info?.scores], [true, { Score: 1 }]);
    assertEquals(evaluator.given.length, 3, "twice the work, once the baseline");
    await env.reset({ id: "bench", query: "" });
  });
});

Deno.test("WorkspaceEnv keeps data and read-only files unchanged", async () => {
  await withWorkspace(async ({ act }) => {
    for (
      const command of [
        "echo x > rules.txt",
        "echo x >> data/train.csv",
        "echo x > data/new.csv",
        "rm -f rules.txt; rm -rf data; rm -rf /home/agent/workspace/*",
        "chmod -R 777 rules.txt data; echo x > rules.txt",
        "mv rules.txt old.txt; mv data old",
        "cp answer.txt rules.txt; ln -sf /home/agent/workspace/answer.txt rules.txt",
        "sed -i s/good/bad/ rules.txt",
        "python -c \"open('rules.txt', 'w')\"",
        "python -c \"import os; os.remove('rules.txt')\"",
        "python -c \"import os; os.replace('src/run.py', 'data/train.csv')\"",
        "python -c \"import shutil; shutil.rmtree('data')\"",
        "ln -s data/train.csv link; echo x > link",
      ]
    ) {
      await act(command);
      assertEquals([command, await output(act("cat rules.txt data/train.csv"))], [
        command,
        "be good\na,b\n1,2",
      ]);
    }
  });
});

Deno.test("WorkspaceEnv hides the evaluation from the agent", async () => {
  await withWorkspace(async ({ act, workspace }) => {
    const { script, files } = workspace.task.evaluation;
    for (
      const command of [
        "cd /; grep -rl 'the expected values' . 2>/dev/null; echo done",
        "find / -name 'expected*' -o -name 'evaluation.py' 2>/dev/null; echo done",
        "python -c \"import os; print([f for d, _, fs in os.walk('/') for f in fs if f in ('evaluation.py', 'expected.csv')] or 'done')\"",
        ...[script, ...files].map(({ hostPath }) =>
          `cat '${hostPath}' 2>/dev/null; cat '../../..${hostPath}' 2>/dev/null; echo done`
        ),
        `python -c "
for path in ('${script.hostPath}', '/proc/self/environ', '/proc/1/cmdline'):
    try:
        print(open(path).read())
    except OSError:
        pass
print('done')"`,
        "ln -s / root; cat root/etc/passwd root/../etc/shadow 2>/dev/null; echo done",
        "env | grep -i -e deno -e secret -e paddock; echo done",
      ]
    ) {
      assertEquals([command, await output(act(command))], [command, "done"]);
    }
  }, { timeoutMs: 60_000 });
});

Deno.test("WorkspaceEnv submits only files of the workspace, without links and within the limits", async () => {
  await withWorkspace(async ({ act, evaluator }) => {
    const handedIn = async () => {
      await act("validate");
      return [...evaluator.given.at(evaluator.given.length === 2 ? 0 : -1)?.keys() ?? []].sort();
    };
    assertEquals(await handedIn(), ["answer.txt", "src/run.py"]);
    await act(
      "mkdir -p src/a/b && echo x > src/a/b/c.txt; ln -s /etc src/etc; ln -s ../answer.txt src/link; mkdir src/empty",
    );
    assertEquals(await handedIn(), ["answer.txt", "src/a/b/c.txt", "src/run.py"]);
    const failing = async (command: string, words: string) => {
      const { length } = evaluator.given;
      await act(command);
      assertStringIncludes(await output(act("validate")) ?? "", words);
      assertEquals(evaluator.given.length, length, "nothing was evaluated");
    };
    await failing("echo x > $'src/a\\nb'", "plain names");
    await failing("rm src/a?b; for i in {1..1001}; do echo > src/$i; done", "at most 1000 files");
    await act("python -c 'import os; os.walk = lambda *_: iter([])'");
    assertEquals(await handedIn(), ["answer.txt"], "who tampers with the listing hands in less");
    await act("python -c 'import os, importlib; importlib.reload(os)'");
    await failing("rm -rf src; ln -s / src", "could not be read");
    await failing(
      "rm -rf src; mkdir src; rm answer.txt; ln -s src/x answer.txt",
      "'answer.txt' could not be read",
    );
  }, { plan: { submission: ["answer.txt", "src/"] }, timeoutMs: 60_000 });
});

Deno.test("WorkspaceEnv contains commands that exhaust resources, and continues or restarts", async (t) => {
  await withWorkspace(async (opened) => {
    for (
      const command of [
        ":(){ :|:& };:",
        "yes",
        "yes | cat > big.txt",
        "cat /dev/zero",
        "cat /dev/zero > big.bin",
        "python -c \"\nfor i in range(1_000_000): open(f'many_{i}', 'w').close()\"",
        "python -c \"open('big.bin', 'wb').write(bytes(200_000_000))\"",
        "python -c 'x = [0] * 10**10'",
        "python -c 'while True: print(\"x\" * 1000)'",
        "python -c 'import sys; sys.setrecursionlimit(10**9); f = lambda: f(); f()'",
        "f() { f; }; f",
        "x=a; while true; do x=$x$x; done",
        "rm -rf / --no-preserve-root",
        "rm -rf /home/agent; mkdir -p /home; cd /",
        "kill -9 $$; kill -9 1; kill -9 -1; exit 3",
      ]
    ) {
      await t.step(command, async () => await survives(opened, command));
    }
  }, { timeoutMs: 3_000, task: { trainingTimeoutMs: 3_000 } });
  await withWorkspace(async (opened) => {
    for (
      const command of [
        "i=0; while [ $i -lt 1000000 ]; do echo > many_$i; i=$((i+1)); done",
        "trap '' INT TERM; while true; do sleep 1; done",
        'python -c "\nimport signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"',
      ]
    ) {
      await t.step(`${command}, until its timeout`, async () => await survives(opened, command));
    }
  }, { timeoutMs: 1_000, task: { trainingTimeoutMs: 1_000 } });
});

/** Runs a harmful command, and checks that this episode continues or the next one starts normally. */
async function survives({ env, act }: Opened, command: string): Promise<void> {
  const { workspace, terminated } = await act(command);
  assert((workspace?.output ?? "").length < 600_000, "more output than there may be");
  if (terminated) assertEquals(workspace?.exitStatus, "early_exit");
  else assertMatch(await output(act("echo alive")) ?? "", /alive/);
  await env.reset({ id: "bench", query: "" });
  assertEquals(
    await output(act("pwd; ls; cat answer.txt rules.txt; python src/run.py")),
    [
      "/home/agent/workspace\nanswer.txt\ndata\nrules.txt\nsrc",
      "1\nbe good\n42",
    ].join("\n"),
  );
}

Deno.test("WorkspaceEnv isolates concurrent episodes", async () => {
  await withWorkspace(async ({ act, workspace }) => {
    await using other = new WorkspaceEnv({ workspaces: () => workspace });
    await other.reset({ id: "bench", query: "" });
    await act("echo 5 > answer.txt; echo mine > note.txt; x=1; cd src");
    assertEquals(
      await output(other.step({ command: "cat answer.txt; ls; echo $x; pwd" })),
      [
        "1\nanswer.txt\ndata\nrules.txt\nsrc\n",
        "/home/agent/workspace",
      ].join("\n"),
    );
    const [mine, theirs] = await Promise.all([
      act("cat ../answer.txt; sleep 0.1"),
      other.step({ command: "submit" }),
    ]);
    assertEquals(mine.workspace.output, "5");
    assertEquals(theirs.info?.scores, { Score: 1 });
    assertEquals((await act("submit")).info?.scores, { Score: 5 });
  }, { sessions: 2 });
});
