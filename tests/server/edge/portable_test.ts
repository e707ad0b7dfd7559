import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { REPLY_GRADERS } from "../../../src/rewards/reply_graders.ts";
import { PADDOCK_VERSION } from "../../../src/version.ts";
import server, { edgeApp, gsm8k, History } from "../../../src/server/edge/portable.ts";

const TOKEN = "a token of the test";
const RIGHT = { grader: "gsm8k", completion: "It is <answer>42</answer>.", answer: "#### 42" };

function post(body: unknown, headers: HeadersInit = {}): Request {
  return new Request("http://localhost/grade", { method: "POST", headers, body: JSON.stringify(body) });
}

async function grade(body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await edgeApp({ token: TOKEN }).fetch(post(body, { authorization: `Bearer ${TOKEN}` }));
  return { status: response.status, body: await response.json() };
}

Deno.test("the portable edgeApp() grades on the serving thread, and exports its graders", async () => {
  const { status, body } = await grade(RIGHT);
  assertEquals([status, body.score], [200, 1]);
  const history = History.fromChats([{ role: "assistant", content: RIGHT.completion }]);
  assertEquals<unknown>(
    await gsm8k().grade({ task: { id: "1", query: "6 * 7?", answer: "#### 42" }, history }),
    body,
  );
});

Deno.test("the portable edgeApp() detects languages", async () => {
  const kwargs = [{ language: "de" }];
  const fields = { instruction_id_list: ["language:response_language"], kwargs };
  const { body } = await grade({
    grader: "ifeval",
    completion: "Das ist ein kurzer Satz.",
    task: { fields },
  });
  assertEquals(body.score, 1);
});

Deno.test("the portable edgeApp() refuses programs, and says where they are graded", async () => {
  const { status, body } = await grade({ grader: "hidden_tests", completion: "x = 1", tests: ["assert x"] });
  assertEquals(status, 422);
  assertMatch(JSON.stringify(body), /hidden_tests runs Python.*paddock serve/);
  const help = await (await edgeApp({ token: TOKEN }).fetch(new Request("http://localhost/"))).text();
  assertStringIncludes(help, `${Object.keys(REPLY_GRADERS).join(", ")}\n`);
  assertEquals(help.includes("hidden_tests") || help.includes("isolation"), false);
});

Deno.test("the portable edgeApp() does not grade a reply or a task that is too long", async () => {
  const reason = "too large: the reply and its task must have at most 131072 characters each";
  const long = "1".repeat(131_073);
  for (const change of [{ completion: long }, { answer: long }, { task: { fields: { long } } }]) {
    assertEquals(await grade({ ...RIGHT, ...change }), { status: 200, body: { score: null, reason } });
  }
  assertEquals((await grade({ ...RIGHT, completion: "1".repeat(131_072) })).body.score, 0);
});

Deno.test("the server of the portable module takes its token from the bindings of its runtime", async () => {
  const bindings = { PADDOCK_TOKEN: TOKEN };
  assertEquals(server.version, PADDOCK_VERSION);
  assertEquals((await server.fetch(post(RIGHT), bindings)).status, 401);
  assertEquals((await server.fetch(post(RIGHT, { authorization: `Bearer ${TOKEN}` }), bindings)).status, 200);
  // its first request has fixed the token
  assertEquals((await server.fetch(post(RIGHT), { PADDOCK_TOKEN: "another token, later" })).status, 401);
});

Deno.test("the portable edgeApp() without a token reads the sender's address as each runtime passes it", async () => {
  const app = edgeApp();
  const deno = (hostname: string) => ({ remoteAddr: { transport: "tcp", hostname, port: 1 } });
  const bun = (address: string) => ({ requestIP: (_: Request) => ({ address, family: "IPv4", port: 1 }) });
  const node = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } });
  for (const platform of [deno, bun, node]) {
    assertEquals((await app.fetch(post(RIGHT), platform("127.0.0.1"))).status, 200);
    assertEquals((await app.fetch(post(RIGHT), platform("203.0.113.9"))).status, 403);
  }
  const unknown = [undefined, null, 1, "127.0.0.1", {}, { remoteAddr: { hostname: 1 } }, { incoming: {} }];
  for (const platform of [...unknown, { requestIP: () => null }]) {
    assertEquals((await app.fetch(post(RIGHT), platform)).status, 403);
  }
});
