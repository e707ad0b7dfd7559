import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { z } from "zod";
import { loadProfile, SandboxPool } from "../../mod.ts";
import { type ClientTool, hostTool, PaddockClient } from "../../mod/client.ts";
import type { PythonSession } from "../../src/sandbox/contract/pool.ts";
import { HttpServer } from "../../src/server/http/http_server.ts";
import type { Served, ServedOptions } from "../server/served.ts";
import { answerCall, ANY_TOOL, openWithTools, streamProgram } from "../server/tool_stream.ts";
import { withPython } from "../server/with_python.ts";

const add = hostTool({
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number().default(10) }),
  run: ({ a, b }) => a + b,
});

/** Runs a test with a session of a server whose tools are functions of this process. */
async function withTools(
  tools: readonly ClientTool[],
  test: (session: PythonSession, server: Served) => Promise<void>,
  options: ServedOptions = {},
): Promise<void> {
  await withPython(async (server) => {
    const fetch = (request: Request) => server.app.fetch(request);
    await using client = new PaddockClient({ url: "http://localhost", fetch });
    await using lease = await client.acquire({ tools });
    await test(lease.session, server);
  }, options);
}

/** Returns the value of a program, which must succeed. */
async function valueOf(session: PythonSession, code: string): Promise<unknown> {
  const result = await session.exec(`from paddock import tools, ToolError\n${code}`);
  assertEquals(result.status, "ok", JSON.stringify(result));
  return result.status === "ok" ? result.valueJson : undefined;
}

/** Python that returns the message of the error that an expression raises. */
function errorOf(expression: string): string {
  return `try:\n    ${expression}\n    e = None\nexcept ToolError as error:\n    e = str(error)\ne`;
}

Deno.test("a program calls functions of the client by name, and gets their values and errors", async () => {
  const fail: ClientTool = {
    name: "fail",
    description: "Fails.",
    parameters: { type: "object", properties: { what: { enum: ["text", "value"] } }, required: ["what"] },
    run: ({ what }) => {
      if (what === "text") throw new RangeError("too far");
      const circle: unknown[] = [];
      circle.push(circle);
      return circle;
    },
  };
  const seen: unknown[] = [];
  const echo: ClientTool = {
    name: "echo",
    description: "",
    parameters: z.object({ at: z.iso.date() }),
    run: (args) => void seen.push(args),
  };
  await withTools([add, fail, echo], async (session) => {
    assertEquals(await valueOf(session, "[tools.add(a=1, b=2), tools.add(1)]"), [3, 11]);
    assertEquals(await valueOf(session, errorOf("tools.fail(what='text')")), "RangeError: too far");
    assertStringIncludes(String(await valueOf(session, errorOf("tools.fail('value')"))), "TypeError: ");
    assertStringIncludes(
      String(await valueOf(session, errorOf("tools.fail('other')"))),
      "wrong arguments for 'fail'",
    );
    assertStringIncludes(
      String(await valueOf(session, errorOf("tools.add(a='1')"))),
      "wrong arguments for 'add'",
    );
    assertStringIncludes(String(await valueOf(session, errorOf("tools.echo('1 May')"))), "TypeError");
    assertEquals(await valueOf(session, "tools.echo('2026-05-01')"), undefined);
    assertEquals(seen, [{ at: "2026-05-01" }]);
    assertEquals(await valueOf(session, "[tools.add.__doc__, repr(tools.add)]"), [
      "Adds two numbers.",
      "<host tool add(a, b)>",
    ]);
    await session.reset({ mode: "rewind" });
    assertEquals(await valueOf(session, "tools.add(2)"), 12);
  });
});

Deno.test("integers of any size keep their digits between a program and a tool of the client", async () => {
  const found: unknown[] = [];
  const larger: ClientTool = {
    name: "larger",
    description: "",
    parameters: { type: "object", properties: { x: { type: "integer" } } },
    run: ({ x }) => {
      found.push(x);
      return { x: BigInt(x as number) + 1n, bytes: x === 0 ? new Uint8Array(1) : undefined };
    },
  };
  await withTools([larger], async (session) => {
    const value = async (code: string, options: object = {}) => {
      const result = await session.exec(`from paddock import tools\n${code}`, options);
      return result.status === "ok" ? result.value : JSON.stringify(result);
    };
    const code = "[tools.larger(x=x)['x'] for x in (2**64 + 1, 2**60, -(2**53) - 1, 10**30)]";
    const [a, b, c, d] = [2n ** 64n + 2n, 2n ** 60n + 1n, -(2n ** 53n), 10n ** 30n + 1n];
    assertEquals(await value(code), `[${[a, b, c, d].join(", ")}]`);
    assertEquals(found, [2n ** 64n + 1n, 2 ** 60, -(2n ** 53n) - 1n, 10n ** 30n]);
    const inputs = { n: 2n ** 64n + 1n, m: [2 ** 60] };
    assertEquals(await value("(n, m)", { inputs }), `(${inputs.n}, [${2n ** 60n}])`);
    assertStringIncludes(await value("tools.larger(x=0)") ?? "", "must be JSON for a server: found bytes");
  });
});

Deno.test("32 threads call a tool of the client at once", async () => {
  let [running, most] = [0, 0];
  const all = Promise.withResolvers<void>();
  const double: ClientTool = {
    name: "double",
    description: "",
    parameters: { type: "object", properties: { x: { type: "integer" } } },
    async run({ x }) {
      most = Math.max(most, ++running);
      if (running === 32) all.resolve();
      await all.promise; // each call waits for all others
      return 2 * Number(x);
    },
  };
  await withTools([double], async (session) => {
    const code = `
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(32) as pool:
    values = list(pool.map(lambda x: tools.double(x=x), range(32)))
values`;
    assertEquals(await valueOf(session, code), Array.from({ length: 32 }, (_, x) => 2 * x));
    const gathered = `
import asyncio
await asyncio.gather(*(tools.double.call_async(x=x) for x in range(100)))`;
    assertEquals(await valueOf(session, gathered), Array.from({ length: 100 }, (_, x) => 2 * x));
  });
  assertEquals(most > 31, true);
});

Deno.test("a program goes on when the client never answers, and its late answer is refused", async () => {
  const aborted = Promise.withResolvers<unknown>();
  const never: ClientTool = {
    name: "never",
    description: "",
    parameters: { type: "object" },
    timeoutMs: 200,
    run: (_args, { signal }) => {
      signal.addEventListener("abort", () => aborted.resolve(signal.reason.name));
      return new Promise(() => {});
    },
  };
  await withTools([never, add], async (session) => {
    const message = "the client did not answer the call of 'never' within 200 ms";
    assertEquals(await valueOf(session, errorOf("tools.never()")), message);
    assertEquals(await aborted.promise, "TimeoutError");
    assertEquals(await valueOf(session, "tools.add(1)"), 11);
  });
});

Deno.test("the end of a program aborts its calls, and the session goes on", async () => {
  const aborted: string[] = [];
  let called = Promise.withResolvers<void>();
  const slow: ClientTool = {
    name: "slow",
    description: "",
    parameters: { type: "object" },
    run: (_args, { signal }) => {
      called.resolve();
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => {
        aborted.push(signal.reason.name);
        reject(signal.reason);
      });
      return promise;
    },
  };
  await withTools([slow, add], async (session) => {
    const late = await session.exec("from paddock import tools\ntools.slow()", { timeoutMs: 1_000 });
    assertEquals(late.status, "timeout");
    called = Promise.withResolvers();
    const stop = new AbortController();
    called.promise.then(() => stop.abort(new Error("enough")));
    const cancelled = session.exec("from paddock import tools\ntools.slow()", { signal: stop.signal });
    await assertRejects(() => cancelled, Error, "enough");
    assertEquals(await valueOf(session, "tools.add(1)"), 11);
  });
  assertEquals(aborted, ["AbortError", "AbortError"]);
});

Deno.test("an answer that the server or the sandbox refuses is an error in the program", async () => {
  const give: ClientTool = {
    name: "give",
    description: "",
    parameters: { type: "object", properties: { what: {} } },
    run: ({ what }) => {
      if (what === "long") return "x".repeat(20 * 1024 * 1024);
      if (what === "deep") return JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`);
      if (what === "many") return Array.from({ length: 200_000 }, () => 0);
      if (what === "error") throw new Error("x".repeat(1_000_000));
      return what;
    },
  };
  await withTools([give], async (session) => {
    const message = async (what: string) => String(await valueOf(session, errorOf(`tools.give('${what}')`)));
    assertStringIncludes(await message("long"), "must have at most 16777216 characters");
    assertStringIncludes(await message("deep"), "levels deep");
    assertStringIncludes(await message("many"), "values");
    assertEquals((await message("error")).length, 65_536);
    const odd = '["\\ud800", {"__proto__": 1, "a": null}, 1e300, "é😀"]';
    assertEquals(
      await valueOf(session, `tools.give(${odd.replace("null", "None")}) == ${odd.replace("null", "None")}`),
      false,
    );
    assertEquals(await valueOf(session, `len(tools.give("y" * 1_000_000))`), 1_000_000);
  });
});

Deno.test("a program gets large answers that came while it did something else", async () => {
  await withPython(async (server) => {
    const path = await openWithTools(server, { tools: [{ ...ANY_TOOL, timeoutMs: 20_000 }] });
    const code = `
import asyncio, time
from paddock import tools
async def main():
    calls = [asyncio.create_task(tools.f.call_async(x=x)) for x in range(8)]
    await asyncio.sleep(0)
    until = time.monotonic() + 0.5
    while time.monotonic() < until: pass
    return sum([len(text) for text in await asyncio.gather(*calls)])
await main()`;
    const stream = await streamProgram(server, path, { code });
    const ids: string[] = [];
    while (ids.length < 8) {
      const { name, data } = await stream.next();
      if (name === "call") ids.push(data.callId);
    }
    const value = "x".repeat(4 * 1024 * 1024);
    const answers = ids.map(async (callId) => (await answerCall(server, path, { callId, value })).status);
    assertEquals((await stream.result()).value, String(8 * value.length));
    assertEquals(await Promise.all(answers), Array(8).fill(204));
  });
});

Deno.test("calls work over a socket, and end when their client disconnects", async () => {
  await withPython(async (server) => {
    const options = { hostname: "127.0.0.1", port: 0, onGraceOver: () => Promise.resolve() };
    await using http = await HttpServer.listen(
      async (request, connection) => await server.app.fetch(request, connection),
      options,
    );
    const url = `http://127.0.0.1:${http.port}`;
    await using client = new PaddockClient({ url });
    await using lease = await client.acquire({ tools: [add] });
    assertEquals(await valueOf(lease.session, "[tools.add(a=at) for at in range(50)][-1]"), 59);
    const path = await openWithTools(server);
    const leave = new AbortController();
    const response = await fetch(`${url}${path}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: "from paddock import tools\ntools.f()" }),
      signal: leave.signal,
    });
    const { value } = await response.body?.getReader().read() ?? {};
    assertStringIncludes(new TextDecoder().decode(value), '"callId":"call_1"');
    leave.abort();
    const next = await server.send("POST", `${path}/exec`, { code: "6 * 7" }); // waits for the end of the first program
    assertEquals(next.body.value, "42");
    assertEquals((await answerCall(server, path, { callId: "call_1", value: 1 })).status, 409);
  });
});

Deno.test("a flood of calls ends at the budget of the profile", async () => {
  let calls = 0;
  const count: ClientTool = {
    name: "count",
    description: "",
    parameters: { type: "object" },
    run: () => ++calls,
  };
  const profile = await loadProfile("serve");
  const limits = { ...profile.limits, hostToolCalls: 30 };
  await using pool = new SandboxPool({ profile: { ...profile, limits }, size: 1 });
  await withTools([count], async (session) => {
    const message = await valueOf(session, errorOf("for at in range(100): tools.count()"));
    assertEquals(message, "the budget of 30 host tool calls in one block is used up");
  }, { pool, maxSessions: 1 });
  assertEquals(calls, 30);
});

Deno.test("a profile without host tools refuses a session with tools", async () => {
  const profile = await loadProfile("python");
  await using pool = new SandboxPool({ profile, size: 1 });
  await withPython(async (server) => {
    const { status, body } = await server.send("POST", "/v1/sessions", { tools: [ANY_TOOL] });
    assertEquals(status, 422);
    assertStringIncludes(body.error.message, "profile 'python' must have 'hostTools'");
    assertEquals((await server.send("GET", "/v1/sessions")).body.sessions, []);
  }, { pool, maxSessions: 1 });
});
