import { assert, assertEquals } from "@std/assert";
import { DenoServe } from "../../../bench/deno_serve.ts";

const PAGE = await Deno.readTextFile(new URL("../../../docs/edge.md", import.meta.url));
const EXAMPLE = /(```+)sh\n(curl [\s\S]*?)\n\1\n\n```json\n([\s\S]*?)\n```/g;
const GRADERS = ["number_match", "gsm8k", "math", "countdown", "ifeval", "exact_match", "hidden_tests"];

Deno.test({
  name: "docs/edge.md: each request gets the response below it, with no permission except to listen",
  ignore: !await has("curl"), // the requests are written for it
  async fn(t) {
    const [command = ""] = PAGE.match(/^npx .* serve .* --port 8000 .*$/m) ?? [];
    const [, module = ""] = /^npx -y deno@2\.9\.6 serve --allow-net --port 8000 (\S+)$/.exec(command) ?? [];
    await using server = await DenoServe.start(module);
    const env = { EDGE: server.url, TOKEN: tokenOf(PAGE) };
    const examples = [...PAGE.matchAll(EXAMPLE)];
    for (const grader of GRADERS) assert(examples.some(([, , request]) => request?.includes(grader)), grader);
    for (const [, , request = "", response = ""] of examples) {
      await t.step(/"grader": "(\w+)"/.exec(request)?.[1] ?? request, async () => {
        assertEquals(JSON.parse(await shell(request, env)), JSON.parse(response));
      });
    }
    const { status, body } = await fetch(`${server.url}/graders`);
    await body?.cancel();
    assertEquals(status, 401);
  },
});

Deno.test("docs/edge.md: the server works with the hardening flags", async () => {
  const [, flags = "", module = ""] =
    /\nnpx -y deno@2\.9\.6 serve (--allow-net --cached-only .*) \\\n {2}--port 8000 (\S+)/.exec(PAGE) ?? [];
  await using server = await DenoServe.start(module, { flags: flags.split(" ") });
  const response = await server.grade({
    grader: "hidden_tests",
    completion: "```python\ndef add(a, b):\n    return a + b\n```",
    tests: ["assert add(1, 2) == 3"],
  }, { authorization: `Bearer ${tokenOf(PAGE)}` });
  assertEquals(await response.json(), { score: 1, parts: { tests_passed: 1 }, isolation: "worker" });
});

Deno.test("docs/edge.md: src/server/edge.ts is served as written", async () => {
  const text = await Deno.readTextFile(new URL("../../../docs/edge.md", import.meta.url));
  const [, module = "", body = ""] =
    /\nnpx -y deno@2\.9\.6 serve --allow-net (\S+)\ncurl -s localhost:8000\/grade -d '(.*)'/.exec(text) ?? [];
  await using server = await DenoServe.start(module);
  const { score } = await (await server.grade(JSON.parse(body))).json();
  assertEquals(score, 1);
});

function tokenOf(text: string): string {
  return /TOKEN=(\S+)/.exec(text)?.[1] ?? "";
}

async function shell(command: string, env: Record<string, string>): Promise<string> {
  const { stdout } = await new Deno.Command("sh", { args: ["-c", command], env, stderr: "null" }).output();
  return new TextDecoder().decode(stdout);
}

async function has(program: string): Promise<boolean> {
  const { success } = await new Deno.Command("sh", { args: ["-c", `command -v ${program}`], stdout: "null" })
    .output();
  return success;
}
