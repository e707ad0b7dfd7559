import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { SESSION, SESSION_FILES } from "../../../bench/workspace_session.ts";
import { loadAgentConfig } from "../../../src/envs/workspace/config/load_agent_config.ts";
import { withWorkspace } from "./bench_task.ts";

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
