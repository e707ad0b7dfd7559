import { assertEquals, assertStringIncludes } from "@std/assert";
import { replKind } from "../../../../src/server/peers/openenv/repl_env.ts";
import { handleMessage } from "../../../../src/server/peers/openenv/messages.ts";
import { withPython } from "../../with_python.ts";

Deno.test("OpenEnv's repl env ends an episode where the original does", async () => {
  await withPython(async ({ sessions }) => {
    const kind = replKind(sessions);
    await using env = kind.open({ owner: "", signal: new AbortController().signal });
    // deno-lint-ignore no-explicit-any
    const send = async (type: string, data?: object): Promise<any> => {
      const text = JSON.stringify({ type, ...(data && { data }) });
      return JSON.parse(await handleMessage({ env, action: kind.action }, text) ?? "null").data;
    };
    const step = async (code: string) => await send("step", { code });

    assertStringIncludes((await step("1")).message, "Call reset() first");
    const start = await send("reset", { context: "äb\u{1f600}", task_prompt: "q", expected_answer: 7 });
    const { observation } = start;
    assertEquals([start.reward, start.done, observation.context_length], [0, false, 3]);
    assertEquals(observation.context_preview, "äb\u{1f600}");
    const first = await step("x = [1, 'ä', None]\nprint('seen')\nx");
    assertEquals(first.observation.result.stdout, 'seen\n[1, "\\u00e4", null]');
    assertEquals(first.observation.result.locals_snapshot, { x: "[1, 'ä', None]" });
    const error = await step("1 / 0");
    assertEquals([error.reward, error.observation.result.success], [-0.05, false]);
    const end = await step("FINAL(6 + 1)");
    assertEquals([end.done, end.reward, end.observation.iteration], [true, 1, 3]);
    const state = await send("state");
    assertEquals([state.final_answer, state.context, state.step_count], ["7", "äb\u{1f600}", 3]);

    await send("reset", { task_prompt: "q" });
    assertEquals((await step("FINAL_VAR('missing')")).done, false);
    assertEquals((await step("print('FINAL(f(3) = 9)')")).done, true);
    assertEquals((await send("state")).final_answer, "f(3");
    await send("reset", {});
    assertEquals((await step("globals().clear()")).done, false);
    assertEquals((await step("1 + 1")).observation.result.stdout, "2");
    const given = await send("step", { is_final: true, final_answer: "x" });
    assertEquals([given.done, given.reward, given.observation.available_variables], [true, 0, []]);
  });
});
