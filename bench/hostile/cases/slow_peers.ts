import type { Attack, ServerCase } from "../case.ts";
import { pauseMs, readSome, repeat, type Tenant, writeAll } from "../tenant.ts";

/** Time that a guest takes to print or write so much. */
const SLOW_MS = 20_000;

/** Time after which a new client counts as locked out. */
const ANSWER_MS = 8_000;
/** A usual limit of descriptors; containers often have no more. */
const DESCRIPTORS = 1024;
/** 8 MiB as pieces of one byte to alternate streams. */
const ALTERNATE = [
  "import os",
  "for at in range(4_000_000):",
  "    os.write(1, b'o')",
  "    os.write(2, b'e')",
].join("\n");

/** Peers that do not send, do not read, or say too little. */
export const SLOW_PEERS: readonly ServerCase[] = [
  {
    name: "bodies-that-never-arrive",
    fault: "S16",
    about: "1,157 requests without a token whose body never arrives; the server has 1,024 descriptors",
    descriptors: DESCRIPTORS,
    minMs: SLOW_MS,
    async play(attack) {
      await withNewClients(connections(
        1157,
        (hostile) => hostile.head("POST /run_code", { authorization: "", "content-length": 1000 }),
      ))(attack);
      const open = await attack.openFiles();
      if (open > DESCRIPTORS / 2) attack.breach(`the server still holds ${open} descriptors after 20 s`);
    },
  },
  {
    name: "idle-connections",
    fault: "S16",
    about: "1,157 connections that send nothing; the server has 1,024 descriptors",
    descriptors: DESCRIPTORS,
    minMs: SLOW_MS,
    play: withNewClients(connections(1157, () => "")),
  },
  {
    name: "slow-requests",
    fault: "S16",
    about: "250 requests whose head arrives byte by byte, and 250 whose body does",
    async play(attack) {
      const body = (hostile: Tenant) => hostile.head("POST /run_code", { "content-length": 1_000_000 });
      await Promise.all([
        connections(250, () => "GET /v1/health HTTP/1.1\r\nx-slow: ", { drip: "a" })(attack),
        connections(250, body, { drip: " " })(attack),
      ]);
    },
  },
  {
    name: "unread-streams",
    fault: "S12",
    minMs: SLOW_MS,
    about: "clients of E2B's /execute and of /stream that do not read what a program prints alternately",
    twin: "programs",
    async play(attack) {
      const { hostile, signal } = attack;
      const session = await hostile.openSession(signal);
      await Promise.all([
        unread("/execute", () => ({ code: ALTERNATE, language: "python" }), 1)(attack),
        unread(`${session}/stream`, () => ({ code: ALTERNATE }), 1)(attack),
      ]);
    },
  },
  {
    name: "unread-responses",
    fault: "S12",
    minMs: SLOW_MS,
    about: "clients of /run_code that do not read 15 MB",
    twin: "programs",
    play: unread("/run_code", () => ({ code: "print('a' * 15_000_000)", language: "python" }), 64),
  },
  {
    name: "no-host",
    fault: "S21",
    about: "HTTP/1.1 without Host, which must be refused",
    async play({ hostile, signal, tally, breach }) {
      const { host: _, ...headers } = { host: "", authorization: `Bearer ${hostile.token}` };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
      const connection = await hostile.connect(signal);
      await writeAll(connection, `GET /v1/health HTTP/1.1\r\n${lines}\r\n`);
      const [status = ""] = (await readSome(connection)).split("\r\n");
      tally.add(status);
      if (status.includes(" 200")) breach("a request without Host was served");
    },
  },
  {
    name: "malformed-requests",
    fault: "S21",
    about: "heads that are no HTTP: controls, two lengths, a length with a chunked body, 10 MB of header",
    async play({ hostile, signal, tally, breach }) {
      for (const request of malformed(hostile)) {
        const connection = await hostile.connect(signal);
        await writeAll(connection, request).catch(() => {}); // the server may close first
        const [status = ""] = (await readSome(connection)).split("\r\n");
        tally.add(status === "" ? "closed" : status.slice(9, 12));
        if (/ 5\d\d/.test(status)) breach(`a malformed head had the status ${status}`);
      }
    },
  },
  {
    name: "wrong-tokens",
    fault: "S18",
    about: "guesses of tokens, as fast as possible: at most 50 a second are compared",
    async play({ hostile, ...run }) {
      const startedAt = performance.now();
      let number = 0;
      let refused = 0;
      await repeat(16, run, async () => {
        const headers = { authorization: `Bearer guess-${number++}` };
        const { status } = await hostile.post("/v1/sessions", {}, { ...run, headers });
        if (status === 401) refused++;
        return status;
      });
      const perSecond = refused / (performance.now() - startedAt) * 1000;
      if (perSecond > 50) run.breach(`${Math.round(perSecond)} guesses a second were compared`);
    },
  },
];

/**
 * Plays a case, and meanwhile connects as new honest clients: those of the honest tenant keep their connections, which
 * stay open when no more can be accepted.
 */
function withNewClients(play: (attack: Attack) => Promise<void>): (attack: Attack) => Promise<void> {
  return async (attack) => {
    const { honest, signal, tally, breach } = attack;
    const connect = async () => {
      while (!signal.aborted) {
        await pauseMs(2_000, signal);
        const late = AbortSignal.timeout(ANSWER_MS);
        const status = await healthOf(honest, AbortSignal.any([signal, late])).catch(() => "");
        if (status.includes(" 200")) tally.add("new client served");
        else if (late.aborted || !signal.aborted) breach("a new client was not served");
      }
    };
    await Promise.all([play(attack), connect()]);
  };
}

async function healthOf(honest: Tenant, signal: AbortSignal): Promise<string> {
  const connection = await honest.connect(signal);
  await writeAll(connection, honest.head("GET /v1/health", { connection: "close" }));
  const text = await readSome(connection);
  return text.split("\r\n")[0] ?? "";
}

/** Opens connections that send a start and, with `drip`, one more byte each second. */
function connections(
  count: number,
  start: (hostile: Tenant) => string,
  { drip }: { drip?: string } = {},
): (attack: Attack) => Promise<void> {
  return async ({ hostile, signal, tally }) => {
    const open: Deno.TcpConn[] = [];
    for (let at = 0; at < count && !signal.aborted; at++) {
      try {
        const connection = await hostile.connect(signal);
        open.push(connection);
        await writeAll(connection, start(hostile));
      } catch {
        tally.add("refused");
      }
    }
    tally.add(`open ${open.length}`);
    while (!signal.aborted) {
      await pauseMs(1_000, signal);
      if (drip === undefined) continue;
      await Promise.all(open.map((connection) => writeAll(connection, drip).catch(() => {}))); // it was closed
    }
  };
}

/** Sends programs on connections that are never read. */
function unread(path: string, body: () => object, lanes = 4): (attack: Attack) => Promise<void> {
  return async ({ hostile, signal, tally }) => {
    await Promise.all(Array.from({ length: lanes }, async () => {
      await hostile.sendUnread(path, body(), signal);
      tally.add("sent");
    }));
    await pauseMs(60_000, signal);
  };
}

function malformed(hostile: Tenant): string[] {
  const chunked = { "transfer-encoding": "chunked" };
  return [
    "\x00\x01\x02\r\n\r\n",
    "GET  HTTP/1.1\r\n\r\n",
    `${hostile.head("POST /run_code", { ...chunked, "content-length": 5 })}zz\r\n`,
    `${hostile.head("POST /run_code", chunked)}ffffffffffffffff\r\n`,
    hostile.head("POST /run_code", { "content-length": -1 }),
    hostile.head("GET /v1/health", { "x-long": "a".repeat(10_000_000) }),
    hostile.head("GET /v1/%00%ff/../..//"),
    hostile.head("GET http://[::1]:1/v1/health"),
    hostile.head("CONNECT example.org:443"),
  ];
}
