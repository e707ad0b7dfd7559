import { assert, assertEquals } from "@std/assert";
import { DenoServe } from "../../../bench/deno_serve.ts";
import { REPLY_GRADERS } from "../../../src/rewards/reply_graders.ts";

const PAGE = await Deno.readTextFile(new URL("../../../docs/edge.md", import.meta.url));
const EXAMPLES = [...PAGE.matchAll(/(```+)sh\n(curl [\s\S]*?)\n\1\n\n```json\n([\s\S]*?)\n```/g)]
  .map(([, , request = "", response = ""]) => ({ request, response }));
const RUNS_PYTHON = "hidden_tests";
const NAMES = [...Object.keys(REPLY_GRADERS), RUNS_PYTHON];

Deno.test({
  name: "docs/edge.md: each request gets the response below it, with no permission except to listen",
  ignore: !await has("curl"), // the requests are written for it
  async fn(t) {
    const [command = ""] = PAGE.match(/^npx .* serve .* --port 8000 .*$/m) ?? [];
    const [, module = ""] = /^npx -y deno@2\.9\.6 serve --allow-net --port 8000 (\S+)$/.exec(command) ?? [];
    await using server = await DenoServe.start(module);
    const env = { EDGE: server.url, TOKEN: tokenOf(PAGE) };
    for (const grader of NAMES) assert(EXAMPLES.some(({ request }) => request.includes(grader)), grader);
    for (const { request, response } of EXAMPLES) {
      if (request.includes(RUNS_PYTHON)) continue; // the next test sends it, as an image takes ten seconds
      await t.step(/"grader": "(\w+)"/.exec(request)?.[1] ?? request, async () => {
        assertEquals(JSON.parse(await shell(request, env)), JSON.parse(response));
      });
    }
    const { status, body } = await fetch(`${server.url}/graders`);
    await body?.cancel();
    assertEquals(status, 401);
  },
});

Deno.test("docs/edge.md: the server runs Python with the hardening flags", async (t) => {
  const [, flags = "", module = ""] =
    /\nnpx -y deno@2\.9\.6 serve (--allow-net --cached-only .*) \\\n {2}--port 8000 (\S+)/.exec(PAGE) ?? [];
  await using server = await DenoServe.start(module, { flags: flags.split(" ") });
  const headers = { authorization: `Bearer ${tokenOf(PAGE)}` };
  const answer = await server.grade({
    grader: RUNS_PYTHON,
    completion: "```python\ndef add(a, b):\n    return a + b\n```",
    tests: ["assert add(1, 2) == 3"],
  }, headers);
  assertEquals(await answer.json(), { score: 1, parts: { tests_passed: 1 }, isolation: "worker" });
  for (const { request, response } of EXAMPLES.filter(({ request }) => request.includes(RUNS_PYTHON))) {
    await t.step("the example gets the response below it", async () => {
      const body = JSON.parse(/ -d '([\s\S]*)'$/.exec(request)?.[1] ?? "");
      assertEquals(await (await server.grade(body, headers)).json(), JSON.parse(response));
    });
  }
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
