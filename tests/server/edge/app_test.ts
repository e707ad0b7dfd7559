import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import type { GradeContext } from "../../../src/rewards/grader.ts";
import { patternMatch } from "../../../src/rewards/text_match.ts";
import { edgeApp, type EdgeOptions } from "../../../src/server/edge.ts";

const TOKEN = "a token of the test";
const LOOPBACK = { remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 50_000 } };
const REMOTE = { remoteAddr: { transport: "tcp", hostname: "203.0.113.9", port: 50_000 } };

interface SendOptions {
  body?: unknown;
  headers?: HeadersInit;
  peer?: unknown;
  options?: EdgeOptions;
}

// deno-lint-ignore no-explicit-any
async function send(path: string, given: SendOptions = {}): Promise<{ status: number; body: any }> {
  const { body, headers = {}, options, peer = LOOPBACK } = given;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const request = new Request(`http://localhost:8000${path}`, {
    headers,
    ...(text !== undefined && { method: "POST", body: text }),
  });
  await using app = edgeApp(options);
  const response = await app.fetch(request, "peer" in given ? given.peer : peer);
  const contents = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return { status: response.status, body: isJson ? JSON.parse(contents) : contents };
}

const RIGHT = { grader: "gsm8k", completion: "It is <answer>42</answer>.", answer: "#### 42" };

Deno.test("edgeApp() accepts the short form and the form of /v1/grade", async () => {
  const whole = {
    grader: "gsm8k",
    task: { query: "6 times 7?", answer: "#### 42" },
    messages: [{ role: "user", content: "6 times 7?" }, { role: "assistant", content: RIGHT.completion }],
  };
  const number = { ...RIGHT, answer: 42 };
  const requests = [["/grade", RIGHT], ["/grade", number], ["/grade", whole], ["/v1/grade", whole]] as const;
  for (const [path, body] of requests) {
    const response = await send(path, { body });
    assertEquals(response.status, 200);
    assertEquals(response.body.score, 1);
    assertEquals(response.body.isolation, undefined);
  }
});

Deno.test("edgeApp() returns null if no score can be computed", async () => {
  assertEquals((await send("/grade", { body: { grader: "math", completion: "7" } })).body, { score: null });
});

Deno.test("edgeApp() stops a grade at its deadline, and serves others meanwhile", async () => {
  const slow = patternMatch({ pattern: /^(a+)+$/ });
  await using app = edgeApp({ graders: { slow } });
  const grade = async (body: object) => {
    const request = new Request("http://localhost/grade", { method: "POST", body: JSON.stringify(body) });
    return await (await app.fetch(request, LOOPBACK)).json();
  };
  let isStopped = false;
  const stopped = grade({ grader: "slow", completion: `${"a".repeat(60)}!` }).finally(() => isStopped = true);
  assertEquals((await grade(RIGHT)).score, 1);
  assert(!isStopped, "the other request waited");
  assertEquals(await stopped, {
    score: null,
    reason: "deadline exceeded: the grade took more than 1000 ms",
  });
  const dots = { grader: "math", completion: "1", answer: ".".repeat(1_100_000) };
  assertEquals(await grade(dots), {
    score: null,
    reason: "too large: the reply and its task must have at most 1048576 characters",
  });
});

Deno.test("edgeApp() reports invalid requests", async () => {
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
    const response = await send("/grade", { body });
    assertEquals(response.status, status, String(message));
    assertMatch(response.body.error.message, message);
  }
  assertEquals((await send("/elsewhere")).status, 404);
});

Deno.test("edgeApp() grades a batch in order, and an invalid item fails alone", async () => {
  const items = [RIGHT, { grader: "gsm8k" }, 7, { ...RIGHT, completion: "<answer>1</answer>" }];
  const { status, body } = await send("/grade:batch", { body: { items } });
  assertEquals(status, 200);
  assertEquals(body.results.map((result: { status: number }) => result.status), [200, 422, 422, 200]);
  assertEquals([body.results[0].result.score, body.results[3].result.score], [1, 0.1]);
  for (const items of [[], Array(257).fill(RIGHT), "x"]) {
    assertEquals((await send("/grade:batch", { body: { items } })).status, 422);
  }
});

Deno.test("edgeApp() stops a batch when its client disconnects", async () => {
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
  await using app = edgeApp({ token: TOKEN, graders: { slow } });
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
  await new Promise((resolve) => setTimeout(resolve)); // lets their timers be cleared
  assert(count < 200, `${count} of 256`);
});

Deno.test("edgeApp() requires its token, except for /health", async () => {
  const options = { token: TOKEN };
  assertEquals((await send("/grade", { body: RIGHT, options })).status, 401);
  assertEquals((await send("/health", { options, peer: REMOTE })).status, 200);
  const headers = { authorization: `Bearer ${TOKEN}` };
  assertEquals((await send("/grade", { body: RIGHT, options, headers, peer: REMOTE })).body.score, 1);
  assertThrows(() => edgeApp({ token: "short" }), RangeError, "at least 16 characters");
});

Deno.test("edgeApp() without a token serves only its own host, host name and origin", async () => {
  for (const peer of [REMOTE, undefined, { remoteAddr: { transport: "unix", path: "/x" } } as const]) {
    const response = await send("/grade", { body: RIGHT, peer });
    assertEquals(response.status, 403);
    assertStringIncludes(response.body.error.message, "edgeApp({ token })");
  }
  assertEquals((await send("/grade", { body: RIGHT, headers: { host: "rebound.example" } })).status, 403);
  assertEquals(
    (await send("/grade", { body: RIGHT, headers: { origin: "http://evil.example" } })).status,
    403,
  );
});

Deno.test("edgeApp() runs custom graders and hides their errors from clients", async () => {
  const graders = {
    length: { name: "length", grade: () => 3 },
    broken: { name: "broken", grade: () => Promise.reject("a secret path") },
  };
  const errors: unknown[] = [];
  const options = { graders, onError: (error: unknown) => errors.push(error) };
  assertEquals((await send("/grade", { body: { ...RIGHT, grader: "length" }, options })).body.score, 3);
  const broken = await send("/grade", { body: { ...RIGHT, grader: "broken" }, options });
  assertEquals(broken.status, 500);
  assert(!JSON.stringify(broken.body).includes("secret"));
  assertEquals(errors, ["a secret path"]);
  assert((await send("/graders", { options })).body.graders.includes("broken"));
});

Deno.test("edgeApp() serves a help text", async () => {
  const { body } = await send("/");
  for (const words of ["POST /grade", "hidden_tests", "isolation", "neither by another process"]) {
    assertStringIncludes(body, words);
  }
});
