import { assertEquals, assertRejects } from "@std/assert";
import { hiddenTests, History, loadProfile, SandboxPool } from "../../mod.ts";
import { PaddockClient } from "../../mod/client.ts";
import type { BranchingPool } from "../../mod/sandbox.ts";
import { HttpServer } from "../../src/server/http/http_server.ts";
import { served } from "../server/served.ts";
import { BRANCHING_POOL_CONTRACT, CONTRACT_SIZE, SESSION_POOL_CONTRACT } from "./session_pool_contract.ts";

const token = "contract-token";

// The interpreters of the pool serve several tests.
Deno.test.sanitizer({ ops: false, resources: false });
const workspaces = new SandboxPool({
  profile: await loadProfile("workspace"),
  size: CONTRACT_SIZE,
  resetMode: "rewind",
});
Deno.test.afterAll(() => workspaces[Symbol.asyncDispose]());

/** Makes a pool from a local one, by kind. */
const KINDS: Readonly<
  Record<string, (local: SandboxPool, stack: AsyncDisposableStack) => BranchingPool | Promise<BranchingPool>>
> = {
  "SandboxPool": (local) => local,
  "SandboxPool whose sessions continue a checkpoint": async (local) => {
    await using lease = await local.acquire();
    const start = await lease.session.checkpoint();
    return {
      limits: local.limits,
      acquire: (options = {}) =>
        local.acquire(options.seed === undefined ? { from: start, ...options } : options),
      readCheckpoint: (bytes, options) => local.readCheckpoint(bytes, options),
    };
  },
  "PaddockClient with its server in this process": (pool, stack) => {
    const { app } = stack.use(served({ pool, maxSessions: CONTRACT_SIZE, waitMs: 200, tokens: [token] }));
    const fetch = (request: Request) => app.fetch(request);
    return stack.use(new PaddockClient({ url: "http://localhost", token, fetch }));
  },
  "PaddockClient with its server behind a socket": async (pool, stack) => {
    const { app, sessions } = stack.use(served({ pool, maxSessions: CONTRACT_SIZE, tokens: [token] }));
    const options = { hostname: "127.0.0.1", port: 0 };
    const onGraceOver = () => sessions[Symbol.asyncDispose]();
    const server = stack.use(
      await HttpServer.listen((request, connection) => app.fetch(request, connection), {
        ...options,
        onGraceOver,
      }),
    );
    return stack.use(new PaddockClient({ url: `http://127.0.0.1:${server.port}`, token }));
  },
};

for (const [kind, open] of Object.entries(KINDS)) {
  Deno.test(`${kind} fulfils the contract of a session pool`, async (t) => {
    await using stack = new AsyncDisposableStack();
    const pool = await open(workspaces, stack);
    const cases = { ...SESSION_POOL_CONTRACT, ...BRANCHING_POOL_CONTRACT };
    for (const [name, run] of Object.entries(cases)) await t.step(name, () => run(pool));
  });
}

Deno.test("hiddenTests() runs the model's program on a server and its tests in this process, which has host tools", async () => {
  const profile = await loadProfile("tools");
  await using testPool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  await using server = served({ pool: workspaces, maxSessions: 1 });
  const fetch = (request: Request) => server.app.fetch(request);
  await using pool = new PaddockClient({ url: "http://localhost", fetch });
  const fields = {
    prompt: "def double(n):\n",
    entry_point: "double",
    test: "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(0) == 0\n",
  };
  const task = { id: "a", query: "?", fields };
  const score = async (line: string, grader = hiddenTests({ pool, testPool })) => {
    const content = `\`\`\`python\ndef double(n):\n    ${line}\n\`\`\``;
    return await grader.grade({ task, history: History.fromChats([{ role: "assistant", content }]) });
  };
  assertEquals(await score("return n * 2"), { score: 1, parts: { tests_passed: 1 } });
  assertEquals(await score("return 4"), { score: 0, parts: { tests_passed: 0 } });
  await assertRejects(
    () => score("return 4", hiddenTests({ pool: testPool, testPool: pool })),
    TypeError,
    "host tools",
  );
});
