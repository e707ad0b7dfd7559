import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { SESSION, SESSION_FILES } from "../../../bench/workspace_session.ts";
import { rollout, SandboxError, scriptedPolicy, type Task } from "../../../mod.ts";
import { loadAgentConfig } from "../../../src/envs/workspace/config/load_agent.ts";
import type { WorkspaceTask } from "../../../src/envs/workspace/task.ts";
import { WorkspaceEnv, workspaceEnvTask } from "../../../src/envs/workspace/workspace_env.ts";
import { AGENT, output, state, withWorkspace } from "./open_workspace.ts";

Deno.test("WorkspaceEnv.reset() shows the task and its starter files", async () => {
  await withWorkspace(async ({ env, act }) => {
    const { history, workspace } = await env.reset({ id: "bench", query: "" });
    assertEquals(history.prompt.toChats(), [{ role: "user", content: "Make the number larger." }]);
    assertEquals(workspace, {
      output: null,
      state: '{"open_file":"n/a","working_dir":"/home/agent/workspace"}',
      currentStep: 0,
      maxSteps: 100,
    });
    assertEquals(
      await output(act("ls; ls data src; cat answer.txt")),
      "answer.txt\ndata\nrules.txt\nsrc\ndata:\ntrain.csv\n\nsrc:\nrun.py\n1",
    );
    assertEquals(await output(act('echo "$WINDOW ${#SEARCH_RESULTS[@]}"; shout "a b"')), "3 0\nAHA ['a b']");
  });
});

Deno.test("WorkspaceEnv.step() runs commands in one shell and returns its state", async () => {
  await withWorkspace(async ({ act }) => {
    const opened = act("cd src && x=5; open run.py");
    assertEquals(await output(opened), "print(6 * 7)");
    assertEquals(await state(opened), {
      open_file: "/home/agent/workspace/src/run.py",
      working_dir: "/home/agent/workspace/src",
    });
    assertEquals(
      await output(act("python run.py; echo $x $LAST_ACTION; no_such_program")),
      "42\n5 cd src && x=5; open run.py\nbash: line 1: no_such_program: command not found",
    );
    const quiet = await act("true");
    assertEquals(quiet.workspace.output, "");
    assertEquals(quiet.history.prompt.last, { role: "user", content: "(The command printed nothing.)" });
    assertEquals(
      await state(act(`mkdir 'a "b" \\ c' && cd 'a "b" \\ c' && echo x > "d'\ne" && open "d'\ne"`)),
      {
        open_file: `/home/agent/workspace/src/a "b" \\ c/d'\ne`,
        working_dir: `/home/agent/workspace/src/a "b" \\ c`,
      },
    );
  });
});

Deno.test("WorkspaceEnv works without transforms: a reply is a command, its output the next message", async () => {
  await withWorkspace(async ({ env }) => {
    const task = { id: "bench", query: "", replies: ["echo 3.5 > answer.txt", "validate", "submit"] };
    const { messages, reward, terminated, info, error } = await rollout(env, scriptedPolicy(), task);
    assertEquals(error, undefined);
    assertEquals(messages.map(({ role, content }) => `${role}: ${content}`), [
      "user: Make the number larger.",
      "assistant: echo 3.5 > answer.txt",
      "user: (The command printed nothing.)",
      "assistant: validate",
      "user: Your code produced a valid submission artefact at /home/agent/workspace/answer.txt.\n" +
      "Baseline Score: {'Score': 1.0}\nEvaluation Score: {'Score': 3.5}",
      "assistant: submit",
      "user: Exited (submit)",
    ]);
    assertEquals([reward, terminated, info], [2.5, true, {
      exitStatus: "submitted",
      scores: { Score: 3.5 },
    }]);
  }, { reward: "end" });
});

Deno.test("WorkspaceEnv merges the output of the agent's state command if it is JSON", async () => {
  const stateCommand = {
    name: "state",
    code: `state() { echo "{\\"open_file\\": \\"$CURRENT_FILE\\", \\"notes\\": 3, \\"deep\\": [$DEEP]}"; }`,
  };
  const plain = { ...stateCommand, code: stateCommand.code.replace(', \\"deep\\": [$DEEP]', "") };
  await withWorkspace(async ({ act }) => {
    const working_dir = "/home/agent/workspace";
    assertEquals(await state(act("CURRENT_FILE=odd")), { open_file: "odd", working_dir, notes: 3 });
    const file = 'a"b.txt';
    assertEquals(await state(act(`echo x > '${file}'; open '${file}'`)), {
      open_file: `${working_dir}/${file}`,
      working_dir,
    });
    assertEquals(await state(act("state() { echo '[1]'; }; CURRENT_FILE=")), {
      open_file: "n/a",
      working_dir,
    });
    assertEquals(await state(act(`CURRENT_FILE=$(printf 'x%.0s' {1..5000})`)), {
      open_file: "n/a",
      working_dir,
    });
    assertEquals(
      await state(
        act("rm -rf /home/agent/workspace/*; cd src 2>/dev/null; mkdir -p '/tmp/é\n'; cd '/tmp/é\n'"),
      ),
      {
        open_file: "n/a",
        working_dir: "/tmp/é\n",
      },
    );
  }, { agent: { ...AGENT, tools: { ...AGENT.tools, stateCommand: plain } } });
  await withWorkspace(async ({ act }) => {
    assertEquals(await state(act("DEEP=1")), { open_file: "n/a", working_dir: "/home/agent/workspace" });
  }, { agent: { ...AGENT, tools: { ...AGENT.tools, stateCommand } } });
});

Deno.test("WorkspaceEnv.reset() reports why the agent's command files do not run", async () => {
  const broken = { name: "broken.sh", kind: "source", contents: "open() {" } as const;
  const agent = { ...AGENT, tools: { ...AGENT.tools, commandFiles: [broken] } };
  await assertRejects(
    () => withWorkspace(async () => {}, { agent }),
    SandboxError,
    "Cannot prepare workspace as the agent's command files must run: bash: ",
  );
});

Deno.test("WorkspaceEnv plays the workspace that each task names", async () => {
  await withWorkspace(async ({ env: ofFirst, workspace: first }) => {
    await withWorkspace(async ({ env: ofSecond, workspace: second }) => {
      await ofFirst[Symbol.asyncDispose]();
      await ofSecond[Symbol.asyncDispose]();
      const open = new Map([["first", first], ["second", second]]);
      const openedIds: string[] = [];
      await using env = new WorkspaceEnv({
        workspaces: (id) => {
          openedIds.push(id);
          return open.get(id) ?? Promise.reject(new RangeError(`there is no '${id}'`));
        },
      });
      const play = async (task: Task) => {
        await env.reset(task);
        return await output(env.step({ command: "cat answer.txt" }));
      };
      assertEquals(await play({ id: "first", query: "" }), "1");
      assertEquals(await play({ id: "x", query: "", fields: { workspace: "second" } }), "2");
      await assertRejects(() => play({ id: "third", query: "" }), RangeError);
      assertEquals(await play(workspaceEnvTask({ id: "first", description: "" })), "1");
      assertEquals(openedIds, ["first", "second", "third", "first"]);
    }, { files: { "answer.txt": "2\n" } });
  });
});

Deno.test("Workspace.open() rejects a task that cannot be played, and disposes the evaluator", async () => {
  const open = (task: Partial<WorkspaceTask>) => withWorkspace(async () => {}, { task, ownsPool: true });
  const faults = ["it must have a GPU"];
  await assertRejects(() => open({ faults }), RangeError, "a GPU");
  const missing = [{ path: "x", hostPath: "/nowhere/x" }];
  await assertRejects(() => open({ starter: missing }), Deno.errors.NotFound);
  const twice = [{ path: "data", hostPath: "/tmp" }, { path: "data/x", hostPath: "/tmp" }];
  await assertRejects(() => open({ data: twice }), SyntaxError, "data");
});

Deno.test("WorkspaceEnv releases a session that it gets while being disposed", async () => {
  await withWorkspace(async ({ env, workspace }) => {
    const waiting = new WorkspaceEnv({ workspaces: () => workspace });
    const reset = waiting.reset({ id: "bench", query: "" });
    await waiting[Symbol.asyncDispose]();
    await env[Symbol.asyncDispose]();
    await assertRejects(() => reset, Error, "disposed during");
    await using lease = await workspace.acquire({ signal: AbortSignal.timeout(60_000) });
    assertEquals((await lease.session.exec("1")).status, "ok");
  });
});

/** What each step of the session must say, in its order. */
const SAYS: readonly RegExp[] = [
  /README\.md[\s\S]*strategy\.py/,
  /^\[File: \/home\/agent\/workspace\/strategy\.py \(3 lines total\)\]\n1:def move/,
  /histroy[\s\S]*return history\[-1\]/,
  /^\[File: .*\n2: {4}return 1\nThe file was changed/s,
  /^\[1, 1, 1, 1, 1, 1, 1, 1, 1, 1\]$/,
  /Found 1 matches for "double"[\s\S]*tools\.py/,
  /strategy\.py/,
  /\[File: .*\/src\/tools\.py \(2 lines total\)\]/,
  /return 3 \* n\nThe file was changed/,
  /^6$/,
  /notes\.md \(1 lines total\)/,
  /1:Tried: always 1\.\nThe file was changed/,
  /Make `move` better\./,
  /Found 1 matches for "move"/,
  /./,
  /^1$/,
  /^Your code produced a valid submission artefact[\s\S]*Evaluation Score: \{'Score': 2\.0\}$/,
  /^\[1, 1/,
  /^$/,
  /^Exited \(submit\)$/,
];

Deno.test("WorkspaceEnv plays an episode of twenty steps with Paddock's own commands", async () => {
  const agent = await loadAgentConfig();
  await withWorkspace(async ({ act, evaluator }) => {
    let last = await act("true");
    for (const [index, command] of SESSION.entries()) {
      last = await act(command);
      const { output, state } = last.workspace;
      assertMatch(output ?? "", SAYS[index] ?? /never/, `step ${index + 1}: ${command}`);
      assertEquals(JSON.parse(state ?? "").working_dir, "/home/agent/workspace");
    }
    assertEquals(last.info, { exitStatus: "submitted", scores: { Score: 3 } });
    assertStringIncludes(last.workspace.state ?? "", '"open_file":"/home/agent/workspace/README.md"');
    assertEquals(evaluator.given.length, 3);
  }, { agent, files: SESSION_FILES });
});

Deno.test("WorkspaceEnv keeps commands from changing read-only files", async () => {
  const agent = await loadAgentConfig();
  await withWorkspace(async ({ act }) => {
    await act('open "rules.txt"');
    const { output } = (await act("edit 1:1\nbe bad\nend_of_edit")).workspace;
    assertEquals(output, "Error: You cannot edit read-only file /home/agent/workspace/rules.txt");
    await act('open "data/train.csv"');
    assertMatch((await act("insert 1\n3,4\nend_of_insert")).workspace.output ?? "", /read-only/);
    assertEquals((await act("cat rules.txt data/train.csv")).workspace.output, "be good\na,b\n1,2");
  }, { agent });
});

Deno.test("WorkspaceEnv continues in copies, each with its own shell and files", async () => {
  await withWorkspace(async ({ env, act }) => {
    await act("cd src && x=5 && echo 2 > ../answer.txt");
    const checkpoint = await env.checkpoint();
    await act("x=6; echo 9 > ../answer.txt");
    await using copy = await checkpoint.copy();
    const shown = copy.step({ command: 'echo "$x $(cat ../answer.txt) $PWD"' });
    assertEquals((await shown).history.prompt.last?.content, "5 2 /home/agent/workspace/src");
    const { reward, terminated } = await copy.step({ command: "submit" });
    assertEquals([reward, terminated], [1, true]);
    assertEquals((await act("submit")).reward, 8, "the original goes on");
  }, { reward: "end", sessions: 2 });
});
