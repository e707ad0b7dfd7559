import { loadProfile, PaddockClient, SandboxPool, type SessionPool } from "../../mod.ts";
import { HttpServer } from "../../src/server/http_server.ts";
import { served } from "../server/served.ts";
import { CONTRACT_SIZE, SESSION_POOL_CONTRACT } from "./session_pool_contract.ts";

const profile = await loadProfile("workspace");
const token = "contract-token";

/** Each makes a pool out of a local one. */
const KINDS: Readonly<Record<string, (local: SandboxPool, stack: AsyncDisposableStack) => SessionPool>> = {
  "SandboxPool": (local) => local,
  "PaddockClient, its server in the process,": (pool, stack) => {
    const { app } = stack.use(served({ pool, maxSessions: CONTRACT_SIZE, waitMs: 200, tokens: [token] }));
    const fetch = (request: Request) => app.fetch(request);
    return stack.use(new PaddockClient({ url: "http://localhost", token, fetch }));
  },
  "PaddockClient, its server behind a socket,": (pool, stack) => {
    const { app, sessions } = stack.use(served({ pool, maxSessions: CONTRACT_SIZE, tokens: [token] }));
    const options = { hostname: "127.0.0.1", port: 0 };
    const onGraceOver = () => sessions[Symbol.asyncDispose]();
    const server = stack.use(new HttpServer((request) => app.fetch(request), { ...options, onGraceOver }));
    return stack.use(new PaddockClient({ url: `http://127.0.0.1:${server.port}`, token }));
  },
};

for (const [kind, open] of Object.entries(KINDS)) {
  Deno.test(`${kind} keeps the contract of a pool`, async (t) => {
    await using stack = new AsyncDisposableStack();
    const local = stack.use(new SandboxPool({ profile, size: CONTRACT_SIZE, resetMode: "rewind" }));
    const pool = open(local, stack);
    for (const [name, run] of Object.entries(SESSION_POOL_CONTRACT)) await t.step(name, () => run(pool));
  });
}
