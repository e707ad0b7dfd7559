import type { Attack, ServerCase } from "../case.ts";
import { pauseMs, repeat, type Tenant } from "../tenant.ts";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "hostile", version: "1" } },
};
const MCP_HEADERS = { accept: "application/json, text/event-stream" };
/** Time that shows whether another tenant is locked out or only slow. */
const LONG_MS = 20_000;
/** Time after which a request of the honest tenant counts as locked out. */
const ANSWER_MS = 8_000;

/** One token that takes what others need. */
export const LOCKOUTS: readonly ServerCase[] = [
  {
    name: "request-ids",
    fault: "S4",
    minMs: LONG_MS,
    about: "4,200 request ids; the honest tenant's remembered response must stay",
    async play({ hostile, ...run }) {
      const body = {
        grader: "exact_match",
        task: { answer: "4" },
        messages: [{ role: "assistant", content: "4" }],
      };
      let sent = 0;
      const work = async () => {
        const headers = { "x-request-id": `flood-${sent++}` };
        return (await hostile.post("/v1/grade", body, { ...run, headers })).status;
      };
      while (sent < 4_200 && !run.signal.aborted) {
        run.tally.add(await Promise.all(Array.from({ length: 20 }, work)).then(String).then(shorten));
      }
    },
  },
  {
    name: "mcp-clients",
    fault: "S4",
    minMs: LONG_MS,
    about: "1,100 MCP clients; the honest tenant must connect",
    async play(attack) {
      await takeAll(
        attack,
        1_100,
        (tenant, signal) => status(tenant.post("/mcp", INITIALIZE, { headers: MCP_HEADERS, signal })),
      );
    },
  },
  {
    name: "envs",
    fault: "S4",
    minMs: LONG_MS,
    about: "1,100 envs; the honest tenant must create one",
    async play(attack) {
      await takeAll(attack, 1_100, (tenant, signal) => status(tenant.post("/v1/envs", {}, { signal })));
    },
  },
  {
    name: "sockets",
    fault: "S4",
    minMs: LONG_MS,
    about: "1,100 WebSockets; the honest tenant must open one and get an answer",
    async play(attack) {
      await takeAll(attack, 1_100, async (tenant, signal) => {
        const socket = await tenant.openSocket(signal);
        await socket.send({ type: "state" });
        return (await socket.read()).includes("CAPACITY_REACHED") ? "refused" : 101;
      });
    },
  },
  {
    name: "sessions",
    fault: "S4",
    minMs: LONG_MS,
    about: "all sessions: those of /v1, E2B's contexts and NeMo's; the honest tenant must run a program",
    twin: "programs",
    async play({ hostile, ...run }) {
      let number = 0;
      await repeat(8, run, async () => {
        const at = number++;
        if (at % 3 === 0) return (await hostile.post("/v1/sessions", {}, run)).status;
        if (at % 3 === 1) return (await hostile.post("/contexts", {}, run)).status;
        const headers = { "x-session-id": `s${at}` };
        return (await hostile.post("/execute", { generated_code: "1" }, { ...run, headers })).status;
      });
    },
  },
  {
    name: "implicit-contexts",
    fault: "S17",
    minMs: LONG_MS + ANSWER_MS,
    about: "E2B's implicit contexts of two tokens hold the last sessions; a third token must run a program",
    args: ["--max-sessions", "3"],
    furtherTokens: 2,
    watch: ["health", "exec", "grade"],
    async play({ hostile, others: [other = hostile, third = hostile], signal, tally, breach }) {
      for (const tenant of [hostile, other]) {
        tally.add((await tenant.post("/execute", { code: "1" }, { signal })).status);
      }
      const late = AbortSignal.any([signal, AbortSignal.timeout(LONG_MS)]);
      const run = third.json("/run_code", { code: "print(1)", run_timeout: 60 }, { signal: late });
      const { status } = await run.catch((error) => ({ status: String(error) }));
      tally.add(`third ${status}`.slice(0, 60));
      if (status !== "Success") breach("a third token could not run a program within 20 s");
    },
  },
  {
    name: "long-programs",
    fault: "S4",
    minMs: LONG_MS,
    about: "endless programs with a timeout of an hour in all sessions",
    twin: "programs",
    async play({ hostile, ...run }) {
      const body = { code: "while True: pass", language: "python", run_timeout: 3600 };
      await repeat(16, run, async () => (await hostile.post("/run_code", body, run)).status);
    },
  },
  {
    name: "foreign-data",
    fault: "rule 2",
    about: "the honest tenant's session, its list and its metrics, read with another token",
    async play({ hostile, honest, honestSession, tally, breach, signal }) {
      const requests = [
        hostile.post(honestSession, "", { method: "GET", signal }),
        hostile.post(`${honestSession}/exec`, { code: "marker" }, { signal }),
        hostile.post(`${honestSession}/files`, "", { method: "GET", signal }),
        hostile.post(honestSession, "", { method: "DELETE", signal }),
        hostile.post("/v1/requests/honest-count", "", { method: "DELETE", signal }),
        hostile.post(honestSession.replace("/v1/sessions", "/contexts") + "/restart", {}, { signal }),
      ];
      for (const { status } of await Promise.all(requests)) {
        tally.add(status);
        if (status < 300) breach("a foreign session could be used");
      }
      const { text: sessions } = await hostile.post("/v1/sessions", "", { method: "GET", signal });
      if (sessions.includes(honestSession.split("/").at(-1) ?? "")) breach("a foreign session is listed");
      const own = await countedPrograms(hostile, signal);
      await honest.json(`${honestSession}/exec`, { code: "1" }, { signal });
      await pauseMs(500, signal);
      if (await countedPrograms(hostile, signal) > own) {
        breach("/metrics shows the programs of another token");
      }
    },
  },
];

/** Takes many of a thing, then checks that the honest tenant gets one too. */
async function takeAll(
  { hostile, honest, signal, tally, breach }: Attack,
  count: number,
  take: (tenant: Tenant, signal: AbortSignal) => Promise<number | string>,
): Promise<void> {
  let taken = 0;
  await Promise.all(Array.from({ length: 16 }, async () => {
    while (taken++ < count && !signal.aborted) tally.add(await take(hostile, signal).catch(() => "failed"));
  }));
  try {
    const result = await take(honest, AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]));
    if (typeof result !== "number" || result >= 300) breach(`the honest tenant is locked out: ${result}`);
  } catch (error) {
    if (signal.aborted) tally.add("not checked in time");
    else breach(`the honest tenant is locked out: ${error}`.slice(0, 120));
  }
}

async function status(response: Promise<{ status: number }>): Promise<number> {
  return (await response).status;
}

function shorten(statuses: string): string {
  return [...new Set(statuses.split(","))].join(" and ");
}

async function countedPrograms(tenant: Tenant, signal: AbortSignal): Promise<number> {
  const { text } = await tenant.post("/metrics", "", { method: "GET", signal });
  return Number(/^paddock_exec_seconds_count (\d+)/m.exec(text)?.[1] ?? 0);
}
