import { assertEquals } from "@std/assert";
import { rollout, scriptedPolicy } from "../../../mod.ts";
import { output, state, withWorkspace } from "./bench_task.ts";

Deno.test("WorkspaceEnv.reset() shows the task and the files it starts with", async () => {
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

Deno.test("WorkspaceEnv.step() runs commands in one shell, and tells its state", async () => {
  await withWorkspace(async ({ act }) => {
    const opened = act("cd src && x=5; open run.py");
    assertEquals(await output(opened), "print(6 * 7)");
    assertEquals(await state(opened), {
      open_file: "/home/agent/workspace/src/run.py",
      working_dir: "/home/agent/workspace/src",
    });
    assertEquals(
      await output(act("python run.py; echo $x $LAST_ACTION; no_such_program")),
      "42\n5 cd src && x=5; open run.py\nbash: no_such_program: command not found",
    );
    const quiet = await act("true");
    assertEquals(quiet.workspace?.output, "");
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

Deno.test("WorkspaceEnv plays by itself: a reply is a command, and what it printed is the next message", async () => {
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
