import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import type { GradeContext } from "../../../src/rewards/grader.ts";
import { edgeApp, type EdgeOptions, type Peer } from "../../../src/server/edge.ts";

const TOKEN = "a token of the test";
const NEAR: Peer = { remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 50_000 } };
const FAR: Peer = { remoteAddr: { transport: "tcp", hostname: "203.0.113.9", port: 50_000 } };

interface Ask {
  body?: unknown;
  headers?: HeadersInit;
  peer?: Peer | undefined;
  options?: EdgeOptions;
}

// deno-lint-ignore no-explicit-any
async function ask(path: string, ask: Ask = {}): Promise<{ status: number; body: any }> {
  const { body, headers = {}, options, peer = NEAR } = ask;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const request = new Request(`http://localhost:8000${path}`, {
    headers,
    ...(text !== undefined && { method: "POST", body: text }),
  });
  const response = await edgeApp(options).fetch(request, "peer" in ask ? ask.peer : peer);
  const answer = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return { status: response.status, body: isJson ? JSON.parse(answer) : answer };
}

const RIGHT = { grader: "gsm8k", completion: "It is <answer>42</answer>.", answer: "#### 42" };

Deno.test("edgeApp() scores a completion, and the same said as /v1/grade has it", async () => {
  const whole = {
    grader: "gsm8k",
    task: { query: "6 times 7?", answer: "#### 42" },
    messages: [{ role: "user", content: "6 times 7?" }, { role: "assistant", content: RIGHT.completion }],
  };
  const number = { ...RIGHT, answer: 42 };
  const asked = [["/grade", RIGHT], ["/grade", number], ["/grade", whole], ["/v1/grade", whole]] as const;
  for (const [path, body] of asked) {
    const answer = await ask(path, { body });
    assertEquals(answer.status, 200);
    assertEquals(answer.body.score, 1);
    assertEquals(answer.body.isolation, undefined);
  }
});

Deno.test("edgeApp() has null for what cannot be scored", async () => {
  assertEquals((await ask("/grade", { body: { grader: "math", completion: "7" } })).body, { score: null });
});

Deno.test("edgeApp() names what is wrong with a request", async () => {
  const wrong: [unknown, number, RegExp][] = [
    ["no JSON", 400, /must be JSON/],
    [{ grader: "gsm8k" }, 422, /either 'messages' or 'completion'/],
    [{ ...RIGHT, messages: [{ role: "user", content: "x" }] }, 422, /either 'messages' or 'completion'/],
    [{ ...RIGHT, task: { answer: "7" } }, 422, /answer: must not be given twice/],
    [{ ...RIGHT, grader: "rm" }, 422, /grader must be one of number_match, gsm8k/],
    [{ ...RIGHT, surprise: 1 }, 422, /surprise/],
    [{ ...RIGHT, completion: 7 }, 422, /completion/],
    ["[".repeat(40) + "]".repeat(40), 400, /at most 32 levels deep/],
    [{ ...RIGHT, completion: "x".repeat(600_000) }, 422, /at most 524288 characters/],
    [{ ...RIGHT, completion: "x".repeat(4 * 1024 * 1024) }, 413, /at most 4194304 bytes/],
    [
      { grader: "ifeval", completion: "a", task: { fields: { instruction_id_list: 7 } } },
      422,
      /Cannot grade/,
    ],
  ];
  for (const [body, status, message] of wrong) {
    const answer = await ask("/grade", { body });
    assertEquals(answer.status, status, String(message));
    assertMatch(answer.body.error.message, message);
  }
  assertEquals((await ask("/elsewhere")).status, 404);
});

Deno.test("edgeApp() grades a batch in its order, and one bad item alone fails", async () => {
  const items = [RIGHT, { grader: "gsm8k" }, 7, { ...RIGHT, completion: "<answer>1</answer>" }];
  const { status, body } = await ask("/grade:batch", { body: { items } });
  assertEquals(status, 200);
  assertEquals(body.results.map((result: { status: number }) => result.status), [200, 422, 422, 200]);
  assertEquals([body.results[0].result.score, body.results[3].result.score], [1, 0.1]);
  for (const items of [[], Array(257).fill(RIGHT), "x"]) {
    assertEquals((await ask("/grade:batch", { body: { items } })).status, 422);
  }
});

Deno.test("edgeApp() stops a batch when nobody reads its outcomes any more", async () => {
  const stopped = Promise.withResolvers<number>();
  const running: Promise<unknown>[] = [];
  let graded = 0;
  const slow = {
    name: "slow",
    async grade({ signal }: GradeContext) {
      graded++;
      signal?.addEventListener("abort", () => stopped.resolve(graded));
      if (graded === 256) stopped.resolve(graded);
      const done = new Promise((resolve) => setTimeout(resolve, 20));
      running.push(done);
      await done;
      return 1;
    },
  };
  const app = edgeApp({ token: TOKEN, graders: { slow } });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, peer) => app.fetch(request, peer),
  );
  const items = Array(256).fill({ grader: "slow", completion: "x".repeat(2_000) });
  const response = await fetch(`http://127.0.0.1:${server.addr.port}/grade:batch`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ items }),
  });
  await response.body?.cancel();
  const count = await stopped.promise;
  await server.shutdown();
  await Promise.all(running);
  await new Promise((resolve) => setTimeout(resolve)); // so that their time limits are let go of
  assert(count < 200, `${count} of 256`);
});

Deno.test("edgeApp() asks for its token, but for its health", async () => {
  const options = { token: TOKEN };
  assertEquals((await ask("/grade", { body: RIGHT, options })).status, 401);
  assertEquals((await ask("/health", { options, peer: FAR })).status, 200);
  const headers = { authorization: `Bearer ${TOKEN}` };
  assertEquals((await ask("/grade", { body: RIGHT, options, headers, peer: FAR })).body.score, 1);
  assertThrows(() => edgeApp({ token: "short" }), RangeError, "at least 16 characters");
});

Deno.test("edgeApp() without a token answers its own host alone, by its own name, and no page", async () => {
  for (const peer of [FAR, undefined, { remoteAddr: { transport: "unix", path: "/x" } } as const]) {
    const answer = await ask("/grade", { body: RIGHT, peer });
    assertEquals(answer.status, 403);
    assertStringIncludes(answer.body.error.message, "edgeApp({ token })");
  }
  assertEquals((await ask("/grade", { body: RIGHT, headers: { host: "rebound.example" } })).status, 403);
  assertEquals(
    (await ask("/grade", { body: RIGHT, headers: { origin: "http://evil.example" } })).status,
    403,
  );
});

Deno.test("edgeApp() takes graders of its owner's, and tells what failed in them to nobody but the owner", async () => {
  const graders = {
    length: { name: "length", grade: () => 3 },
    broken: { name: "broken", grade: () => Promise.reject("a secret path") },
  };
  const faults: unknown[] = [];
  const options = { graders, onError: (error: unknown) => faults.push(error) };
  assertEquals((await ask("/grade", { body: { ...RIGHT, grader: "length" }, options })).body.score, 3);
  const broken = await ask("/grade", { body: { ...RIGHT, grader: "broken" }, options });
  assertEquals(broken.status, 500);
  assert(!JSON.stringify(broken.body).includes("secret"));
  assertEquals(faults, ["a secret path"]);
  assert((await ask("/graders", { options })).body.graders.includes("broken"));
});

Deno.test("edgeApp() says what it is", async () => {
  const { body } = await ask("/");
  for (const words of ["POST /grade", "hidden_tests", "isolation", "neither by another process"]) {
    assertStringIncludes(body, words);
  }
});
