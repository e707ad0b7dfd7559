import { assertEquals, assertMatch } from "@std/assert";
import { completion, FakeServer } from "../policy/fake_server.ts";
import { TempFolder } from "../temp_folder.ts";
import { runPaddock } from "./run_paddock.ts";

const TOOL = decodeURIComponent(new URL("../../examples/tools/words.ts", import.meta.url).pathname);

function call(id: string, name: string, args: string) {
  return { id, type: "function", function: { name, arguments: args } };
}

Deno.test("paddock rollout sends tools to a server, runs its native calls, and answers wrong ones readably", async () => {
  await using folder = await TempFolder.of({ "tasks.jsonl": '{"query":"How many words?","answer":"2"}\n' });
  await using server = new FakeServer((_, count) =>
    count > 1 ? completion({ content: "2" }) : completion({
      content: null,
      tool_calls: [
        call("c1", "words", '{"text": "two words"}'),
        call("c2", "words", '{"text": "two'),
        call("c3", "nothing", "{}"),
      ],
    })
  );
  const { code, stderr } = await runPaddock([
    ...["rollout", "--env", "tools", "--tool", TOOL, "--tasks", `${folder.path}/tasks.jsonl`],
    ...["--policy", `openai:${server.url}`, "--model", "m", "--out", `${folder.path}/a.jsonl`],
  ]);
  assertEquals(code, 0, stderr);
  const [first, second] = server.seen.map(({ body }) => body);
  assertEquals(first.tools.map((tool: { function: { name: string } }) => tool.function.name), ["words"]);
  const [assistant, ...results] = second.messages.slice(-4);
  assertEquals(assistant.tool_calls.length, 3);
  assertEquals(results.map(({ role, tool_call_id: id }: Record<string, string>) => [role, id]), [
    ["tool", "c1"],
    ["tool", "c2"],
    ["tool", "c3"],
  ]);
  const texts = results.map(({ content }: { content: unknown }) => JSON.stringify(content));
  assertMatch(texts[0], /2/);
  assertMatch(texts[1], /failed to parse the arguments of 'words'/);
  assertMatch(texts[2], /nothing/);
});
