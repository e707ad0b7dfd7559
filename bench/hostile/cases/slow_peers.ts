import type { Attack, ServerCase } from "../case.ts";
import { pauseMs, readSome, repeat, type Tenant, writeAll } from "../tenant.ts";

/** Time that a guest takes to print or write so much. */
const SLOW_MS = 20_000;

/** A usual limit of descriptors; containers often have no more. */
const DESCRIPTORS = 1024;
/** 8 MiB as pieces of one byte to alternate streams. */
const ALTERNATE = [
  "import sys",
  "for at in range(4_000_000):",
  "    sys.stdout.write('o')",
  "    sys.stderr.write('e')",
].join("\n");

/** Peers that do not send, do not read, or say too little. */
export const SLOW_PEERS: readonly ServerCase[] = [
  {
    name: "bodies-that-never-arrive",
    fault: "S16",
    about: "1,157 requests without a token whose body never arrives; the server has 1,024 descriptors",
    descriptors: DESCRIPTORS,
    play: connections(
      1157,
      (hostile) => hostile.head("POST /run_code", { authorization: "", "content-length": 1000 }),
    ),
  },
  {
    name: "idle-connections",
    fault: "S16",
    about: "1,157 connections that send nothing; the server has 1,024 descriptors",
    descriptors: DESCRIPTORS,
    play: connections(1157, () => ""),
  },
  {
    name: "slow-heads",
    fault: "S16",
    about: "500 requests whose head arrives byte by byte",
    play: connections(500, () => "GET /v1/health HTTP/1.1\r\nx-slow: ", { drip: "a" }),
  },
  {
    name: "slow-bodies",
    fault: "S16",
    about: "500 requests whose body arrives byte by byte",
    play: connections(500, (hostile) => hostile.head("POST /run_code", { "content-length": 1_000_000 }), {
      drip: " ",
    }),
  },
  {
    name: "unread-e2b",
    fault: "S12",
    minMs: SLOW_MS,
    about: "E2B clients that do not read what a program prints alternately to stdout and stderr",
    twin: "programs",
    play: unread("/execute", () => ({ code: ALTERNATE, language: "python" })),
  },
  {
    name: "unread-stream",
    fault: "S12",
    minMs: SLOW_MS,
    about: "clients of /stream that do not read",
    twin: "programs",
    async play(attack) {
      const session = await attack.hostile.openSession(attack.signal);
      await unread(`${session}/stream`, () => ({ code: ALTERNATE }))(attack);
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
    about: "guesses of tokens, as fast as possible",
    async play({ hostile, ...run }) {
      let number = 0;
      await repeat(16, run, async () => {
        const headers = { authorization: `Bearer guess-${number++}` };
        return (await hostile.post("/v1/sessions", {}, { ...run, headers })).status;
      });
    },
  },
];

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
