import { assertEquals, assertStringIncludes } from "@std/assert";
import { completion, FakeServer } from "../../policy/fake_server.ts";
import { TempFolder } from "../../temp_folder.ts";

const CLI = decodeURIComponent(new URL("../../../src/cli.ts", import.meta.url).pathname);

Deno.test("paddock rollout uses HTTP_PROXY for no server on loopback, and names the proxy in errors of others", async () => {
  await using folder = await TempFolder.of({ "tasks.jsonl": '{"query":"6*7?","answer":"42"}\n' });
  await using server = new FakeServer(() => completion({ content: "42" }));
  const play = async (url: string) => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--quiet", "--no-check", CLI, "rollout", "--env", "chat", "--model", "m"],
        ...["--tasks", `${folder.path}/tasks.jsonl`, "--policy", `openai:${url}`, "--max-errors", "1"],
      ],
      env: { NO_COLOR: "1", HTTP_PROXY: "http://user:secret@127.0.0.1:1", NO_PROXY: "" },
    }).output();
    const text = new TextDecoder();
    return { code, output: text.decode(stdout) + text.decode(stderr) };
  };
  assertEquals((await play(server.url)).code, 0);
  const { code, output } = await play("http://model.invalid:8000");
  assertEquals(code, 1);
  assertStringIncludes(output, "through the proxy of HTTP_PROXY, http://127.0.0.1:1");
  assertEquals(output.includes("secret"), false);
});
