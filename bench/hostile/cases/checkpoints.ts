import type { HonestKind } from "../honest_requests.ts";
import type { Attack, ServerCase } from "../case.ts";
import { pauseMs, repeat, type Reply, type Tenant } from "../tenant.ts";

const MIB = 1024 * 1024;
/** Fills most of the heap with bytes that cannot be compressed. */
const FILL = "import os\nbig = [os.urandom(1 << 20) for _ in range(150)]";
const FILLED_BYTES = 150 * MIB;
/** Few sessions, as each has a process of its own. */
const ARGS = ["--max-sessions", "8"];
const WATCH: readonly HonestKind[] = ["health", "exec", "checkpoint"];
const LONG_MS = 20_000;
const COPIES = 256;
const BUSY_LANES = 8;
/** Default memory of the checkpoints that clients keep. */
const CHECKPOINT_BYTES = 1024 * MIB;
/** Memory of states of three tokens that are captured and compressed at once, of which the bound of all cases has a part. */
const TRANSFER_BYTES = 512 * MIB;
const LARGE_LANES = 3;
const STORM_LANES = 200;
/** Time in which heaps are filled and some of their states captured. */
const FILLED_MS = 40_000;

/** Sessions' states: captures, copies, exports, and sessions that hibernate. */
export const CHECKPOINTS: readonly ServerCase[] = [
  {
    name: "busy-checkpoints",
    fault: "C1",
    minMs: LONG_MS,
    args: ARGS,
    furtherTokens: 6,
    watch: WATCH,
    about: "four tokens checkpoint sessions that run endless programs, which must delay no other capture",
    async play({ hostile, others, ...run }) {
      await Promise.all([hostile, ...others.slice(0, 3)].map(async (tenant) => {
        const session = await tenant.openSession(run.signal);
        const code = { code: "while True: pass", timeoutMs: 3_600_000 };
        const endless = tenant.post(`${session}/exec`, code, run).catch(() => {});
        await repeat(
          BUSY_LANES,
          run,
          async () => (await tenant.post(`${session}/checkpoint`, {}, run)).status,
        );
        await endless;
      }));
    },
  },
  {
    name: "large-checkpoints",
    fault: "C1",
    minMs: FILLED_MS,
    args: ARGS,
    furtherTokens: 6,
    watch: WATCH,
    twin: "programs",
    about: "three tokens checkpoint, restore and delete states of 150 MiB of random bytes",
    permittedBytes: CHECKPOINT_BYTES,
    permittedPeakBytes: CHECKPOINT_BYTES + TRANSFER_BYTES,
    async play({ hostile, others, ...run }) {
      await Promise.all([hostile, ...others.slice(0, 2)].map(async (tenant) => {
        const [session = ""] = await openFilled(tenant, 1, run.signal);
        await repeat(LARGE_LANES, run, async () => {
          const { status, text } = await tenant.post(`${session}/checkpoint`, {}, run);
          if (status !== 201) return status;
          const { id } = JSON.parse(text);
          const restored = tenant.post(`${session}/restore`, { checkpoint: id }, run);
          await pauseMs(50, run.signal);
          await deleteCheckpoint(tenant, id, run.signal);
          return `restored ${(await restored).status}`;
        });
      }));
    },
  },
  {
    name: "deleted-in-use",
    fault: "C2",
    minMs: FILLED_MS,
    args: ARGS,
    about: "restores of 150 MiB wait for a busy session, and their checkpoints are deleted meanwhile",
    permittedBytes: CHECKPOINT_BYTES,
    permittedPeakBytes: CHECKPOINT_BYTES,
    async play({ hostile, ...run }) {
      const [filled = ""] = await openFilled(hostile, 1, run.signal);
      const busy = await hostile.openSession(run.signal);
      const endless = hostile.post(`${busy}/exec`, { code: "while True: pass", timeoutMs: 3_600_000 }, run);
      const waiting: Promise<unknown>[] = [endless.catch(() => {})];
      let number = 0;
      await repeat(1, run, async () => {
        const { status, id } = await keepAnother(hostile, filled, { number: number++, run });
        if (id === undefined) return status;
        waiting.push(hostile.post(`${busy}/restore`, { checkpoint: id }, run).catch(() => {}));
        await pauseMs(50, run.signal);
        await deleteCheckpoint(hostile, id, run.signal);
        return status;
      });
      await Promise.all(waiting);
    },
  },
  {
    name: "unread-exports",
    fault: "C2",
    minMs: FILLED_MS,
    args: ARGS,
    about: "exports of 150 MiB that are never read, of checkpoints that are deleted meanwhile",
    permittedBytes: CHECKPOINT_BYTES,
    permittedPeakBytes: CHECKPOINT_BYTES,
    async play({ hostile, ...run }) {
      const [filled = ""] = await openFilled(hostile, 1, run.signal);
      let number = 0;
      await repeat(1, run, async () => {
        const { status, id } = await keepAnother(hostile, filled, { number: number++, run });
        if (id === undefined) return status;
        for (let times = 0; times < 8; times++) {
          const connection = await hostile.connect(run.signal);
          await connection.write(new TextEncoder().encode(hostile.head(`GET /v1/checkpoints/${id}`)));
        }
        await pauseMs(200, run.signal);
        await deleteCheckpoint(hostile, id, run.signal);
        return status;
      });
    },
  },
  {
    name: "parallel-forks",
    fault: "C3",
    minMs: LONG_MS,
    args: ARGS,
    furtherTokens: 2,
    watch: WATCH,
    twin: "programs",
    about: "forks, restores, checkpoints and ends of one session at once, with and without request ids",
    permittedBytes: 512 * MIB,
    async play(attack) {
      while (!attack.signal.aborted) await playOneSession(attack);
    },
  },
  {
    name: "wake-storm",
    fault: "C3",
    minMs: LONG_MS,
    args: ARGS,
    furtherTokens: 2,
    watch: WATCH,
    twin: "programs",
    about:
      "1,024 copies hibernate, and 200 requests at once use one after the other; others must get their turns",
    permittedBytes: 512 * MIB,
    async play({ hostile, ...run }) {
      const session = await hostile.openSession(run.signal);
      const copies: string[] = [];
      for (let forks = 0; forks < 4; forks++) {
        const { sessions } = await hostile.json(`${session}/fork`, { count: COPIES }, run);
        copies.push(...sessions.map(({ id }: { id: string }) => `/v1/sessions/${id}`));
      }
      run.tally.add(`${copies.length} copies`);
      let next = 0;
      await repeat(STORM_LANES, run, async () => {
        const copy = copies[next++ % copies.length] ?? "";
        return (await hostile.post(`${copy}/exec`, { code: "1" }, run)).status;
      });
    },
  },
  {
    name: "large-copies",
    fault: "C3",
    minMs: FILLED_MS,
    args: ARGS,
    furtherTokens: 2,
    watch: WATCH,
    twin: "programs",
    about: "256 copies of a session with 150 MiB of random bytes, which wake and hibernate",
    permittedBytes: CHECKPOINT_BYTES,
    permittedPeakBytes: CHECKPOINT_BYTES,
    async play({ hostile, ...run }) {
      const [filled = ""] = await openFilled(hostile, 1, run.signal);
      const forked = await hostile.post(`${filled}/fork`, { count: COPIES }, run);
      run.tally.add(`fork ${forked.status}`);
      if (forked.status !== 201) return;
      const ids: { id: string }[] = JSON.parse(forked.text).sessions;
      let next = 0;
      await repeat(16, run, async () => {
        const { id } = ids[next++ % ids.length] ?? { id: "" };
        return (await hostile.post(`/v1/sessions/${id}/exec`, { code: "big[0][0]" }, run)).status;
      });
    },
  },
];

/** Opens sessions whose heap is full of random bytes. */
async function openFilled(tenant: Tenant, count: number, signal: AbortSignal): Promise<string[]> {
  return await Promise.all(Array.from({ length: count }, async () => {
    const session = await tenant.openSession(signal);
    const { status } = await tenant.json(`${session}/exec`, { code: FILL, timeoutMs: 60_000 }, { signal });
    if (status !== "ok") throw new Error(`Cannot fill a heap with ${FILLED_BYTES} bytes: ${status}`);
    return session;
  }));
}

/** Changes the state of a session and keeps it. Returns no id if it was refused. */
async function keepAnother(
  tenant: Tenant,
  session: string,
  { number, run }: { number: number; run: Pick<Attack, "signal"> },
): Promise<{ status: number; id?: string }> {
  await tenant.post(`${session}/exec`, { code: `y = ${number}` }, run);
  const { status, text } = await tenant.post(`${session}/checkpoint`, {}, run);
  return status === 201 ? { status, id: JSON.parse(text).id } : { status };
}

async function deleteCheckpoint(tenant: Tenant, id: string, signal: AbortSignal): Promise<Reply> {
  return await tenant.post(`/v1/checkpoints/${id}`, "", { method: "DELETE", signal });
}

/** Sends many requests about one session at once, and ends it with all its copies. */
async function playOneSession({ hostile, signal, tally, breach }: Attack): Promise<void> {
  const session = await hostile.openSession(signal);
  const { id: kept } = await hostile.json(`${session}/checkpoint`, {}, { signal });
  const ended = pauseMs(500, signal).then(() => hostile.post(session, "", { method: "DELETE", signal }));
  const requests = Array.from({ length: 48 }, async (_, at) => {
    const headers: Record<string, string> = at % 2 === 0 ? { "x-request-id": `fork-${at % 6}` } : {};
    const work = ["fork", "restore", "checkpoint"][at % 3] ?? "";
    const body = { fork: { count: 8 }, restore: { checkpoint: kept }, checkpoint: "" }[work] ?? "";
    const { status, text } = await hostile.post(`${session}/${work}`, body, { headers, signal });
    if (status >= 500 && status !== 503 && status !== 504) breach(`${work}: ${status} ${text.slice(0, 80)}`);
    return `${work} ${status}`;
  });
  for (
    const outcome of await Promise.allSettled([
      ...requests,
      ended.then(({ status }) => `end ${status}`),
    ])
  ) {
    if (outcome.status === "fulfilled") tally.add(outcome.value);
  }
  for (const kind of ["sessions", "checkpoints"]) {
    const all: { id: string }[] = (await hostile.json(`/v1/${kind}`, {}, { method: "GET", signal }))[kind];
    await Promise.all(
      all.map(({ id }) => hostile.post(`/v1/${kind}/${id}`, "", { method: "DELETE", signal })),
    );
  }
}
