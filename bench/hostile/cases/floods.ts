import type { ServerCase } from "../case.ts";
import { pauseMs, repeat, writeAll } from "../tenant.ts";

const MEGABYTE = 1_000_000;
/** Responses that the server remembers for one of two tokens: three quarters of the memory for what is kept. */
const KEPT_BYTES = 192 * 1024 * 1024;
const HOLD = "import time\ntime.sleep(30)";

/** Time in which a server without bounds answers. One with bounds does so much sooner, which ends the case. */
const UNBOUNDED_MS = 60_000;

/** Requests and messages that are harmless alone, and too many or too large together. */
export const FLOODS: readonly ServerCase[] = [
  {
    name: "fetch-files",
    fault: "S8",
    minMs: UNBOUNDED_MS,
    about: "40 names of one file of 10 MB, in a session and by /run_code",
    twin: "bodies",
    async play({ hostile, ...run }) {
      const session = await hostile.openSession(run.signal);
      const code = "open('a', 'wb').write(bytes(10_000_000))";
      const fetchFiles = Array.from({ length: 40 }, (_, at) => `${"./".repeat(at)}a`);
      const fetchOnce = async (lane: number) => {
        const response = lane === 0
          ? hostile.post(`${session}/exec`, { code, fetchFiles }, run)
          : hostile.post("/run_code", { code, fetch_files: fetchFiles }, run);
        run.tally.add((await response).status);
      };
      await Promise.all([0, 1].map(async (lane) => {
        for (let sent = 0; sent < 6; sent++) await fetchOnce(lane);
      }));
    },
  },
  {
    name: "openenv-waiting",
    fault: "S5",
    about: "sockets with 15 messages of 30 MB behind a program that sleeps",
    twin: "bodies",
    async play({ hostile, ...run }) {
      const large = new TextEncoder().encode(
        JSON.stringify({ type: "step", data: { code: "1", metadata: { text: "a".repeat(30 * MEGABYTE) } } }),
      );
      await Promise.all(Array.from({ length: 4 }, async () => {
        const socket = await hostile.openSocket(run.signal);
        await socket.send({ type: "step", data: { code: HOLD } });
        for (let sent = 0; sent < 15; sent++) await socket.sendFrame(large);
        run.tally.add("sent");
      }));
      await pauseMs(60_000, run.signal);
    },
  },
  {
    name: "openenv-fragments",
    fault: "S5",
    about: "WebSocket messages of endless fragments",
    twin: "bodies",
    async play({ hostile, ...run }) {
      const piece = new Uint8Array(MEGABYTE).fill(97);
      await Promise.all(Array.from({ length: 4 }, async () => {
        const socket = await hostile.openSocket(run.signal);
        for (let sent = 0; sent < 600 && !run.signal.aborted; sent++) {
          await socket.sendFrame(piece, { isFirst: sent === 0, isLast: false });
        }
        run.tally.add("accepted 600 MB");
      }));
      await pauseMs(60_000, run.signal);
    },
  },
  {
    name: "openenv-messages",
    fault: "S5",
    about: "many small messages on one socket, whose client does not read",
    async play({ hostile, ...run }) {
      await repeat(4, run, async () => {
        const socket = await hostile.openSocket(run.signal);
        for (let sent = 0; sent < 5_000; sent++) await socket.send({ type: "state" });
        return "sent 5,000";
      });
    },
  },
  {
    name: "waiting-bodies",
    fault: "rule 2",
    about: "requests of 30 MB that wait for a session",
    twin: "bodies",
    async play({ hostile, ...run }) {
      const body = new TextEncoder().encode(JSON.stringify({ code: HOLD, stdin: "a".repeat(30 * MEGABYTE) }));
      await repeat(40, run, async () => (await hostile.post("/run_code", body, run)).status);
    },
  },
  {
    name: "grade-flood",
    fault: "rule 1",
    about: "64 grades of a megabyte at once",
    twin: "bodies",
    async play({ hostile, ...run }) {
      const content = `${"some words and 12 numbers ".repeat(36_000)}\\boxed{4}`;
      const body = { grader: "math", task: { answer: "4" }, messages: [{ role: "assistant", content }] };
      await repeat(64, run, async () => (await hostile.post("/v1/grade", body, run)).status);
    },
  },
  {
    name: "batch-output",
    fault: "rule 2",
    about: "batches of 4,096 programs that print a megabyte each",
    twin: "programs",
    async play({ hostile, ...run }) {
      const items = Array.from({ length: 4096 }, () => ({ code: "print('a' * 1_000_000)" }));
      await repeat(2, run, async () => (await hostile.post("/v1/exec:batch", { items }, run)).status);
    },
  },
  {
    name: "remembered-responses",
    fault: "rule 2",
    about: "responses of 15 MB that the server remembers by their request ids",
    twin: "bodies",
    permittedBytes: KEPT_BYTES,
    async play({ hostile, ...run }) {
      const session = await hostile.openSession(run.signal);
      const body = { code: "print('a' * 15_000_000)" };
      await repeat(2, run, async () => {
        const headers = { "x-request-id": crypto.randomUUID() };
        return (await hostile.post(`${session}/exec`, body, { ...run, headers })).status;
      });
    },
  },
  {
    name: "env-conversations",
    fault: "rule 2",
    about: "envs whose tasks are 30 MB each",
    twin: "bodies",
    async play({ hostile, ...run }) {
      const body = new TextEncoder().encode(
        JSON.stringify({ tasks: [{ query: "a".repeat(30 * MEGABYTE) }] }),
      );
      await repeat(2, run, async () => (await hostile.post("/v1/envs", body, run)).status);
    },
  },
  {
    name: "pipelined-requests",
    fault: "S12",
    about: "requests one after the other on a connection, whose responses are not read",
    async play({ hostile, signal, tally }) {
      await Promise.all(Array.from({ length: 8 }, async () => {
        const connection = await hostile.connect(signal);
        const requests = hostile.head("GET /openapi.json").repeat(100);
        for (let sent = 0; sent < 100 && !signal.aborted; sent++) await writeAll(connection, requests);
        tally.add("sent 10,000");
      }));
      await pauseMs(60_000, signal);
    },
  },
];
