import type { Attack, ServerCase } from "../case.ts";
import { repeat } from "../tenant.ts";

const MCP_HEADERS = { accept: "application/json, text/event-stream" };
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "hostile", version: "1" } },
};

/** Time that a guest takes to print or write so much. */
const SLOW_MS = 20_000;

/** Programs whose results or output cost the host more than the guest. */
export const PROGRAMS: readonly ServerCase[] = [
  {
    name: "mcp-large-value",
    fault: "S11",
    minMs: SLOW_MS,
    about: "a list of five million zeros, and nested lists and dicts, as the values of MCP calls",
    twin: "programs",
    play: mcpCalls(["[0]*5_000_000", "[{str(i): [[]]} for i in range(400_000)]"]),
  },
  {
    name: "large-results",
    fault: "S11",
    minMs: SLOW_MS,
    about:
      "800,000 writes alternately to stdout and stderr, a value of 15 MB, and a chain of 500 long exceptions",
    twin: "programs",
    async play({ hostile, ...run }) {
      const sessions = await Promise.all([1, 2].map(() => hostile.openSession(run.signal)));
      let number = 0;
      await repeat(sessions.length, run, async (lane) => {
        const code = LARGE_RESULTS[number++ % LARGE_RESULTS.length];
        return (await hostile.post(`${sessions[lane]}/exec`, { code }, run)).status;
      });
    },
  },
  {
    name: "costly-programs",
    fault: "rule 2",
    minMs: SLOW_MS,
    about:
      "programs that print without end, fill their heap and their files, unpack a gigabyte, or end their interpreter",
    twin: "programs",
    async play({ hostile, ...run }) {
      let number = 0;
      await repeat(3, run, async (lane) => {
        if (lane === 2) return (await hostile.post("/run_jupyter", { cells: CELLS }, run)).status;
        const code = COSTLY_PROGRAMS[number++ % COSTLY_PROGRAMS.length];
        return (await hostile.post("/run_code", { code }, run)).status;
      });
    },
  },
];

const LARGE_RESULTS: readonly string[] = [
  "import sys\nfor at in range(400_000):\n    sys.stdout.write('o')\n    sys.stderr.write('e')",
  "'a' * 15_000_000",
  "cause = None\nfor at in range(500):\n    error = ValueError('x' * 30_000)\n    error.__cause__ = cause\n    cause = error\nraise error",
];

const COSTLY_PROGRAMS: readonly string[] = [
  "while True: print('a' * 100_000)",
  "open('a', 'wb').write(bytes(60_000_000))\nheld = []\nwhile True: held.append(bytes(1_000_000))",
  "import ctypes\nctypes.string_at(1 << 31)",
  [
    "import io, zipfile",
    "held = io.BytesIO()",
    "with zipfile.ZipFile(held, 'w', zipfile.ZIP_DEFLATED) as archive:",
    "    for at in range(20): archive.writestr(str(at), bytes(10_000_000))",
    "zipfile.ZipFile(held).extractall('out')",
  ].join("\n"),
];

const CELLS: readonly string[] = Array<string>(1000).fill("print('a' * 1_000_000)");

function mcpCalls(programs: readonly string[]): (attack: Attack) => Promise<void> {
  return async ({ hostile, ...run }) => {
    const response = await fetch(`${hostile.url}/mcp`, {
      method: "POST",
      headers: {
        ...MCP_HEADERS,
        "content-type": "application/json",
        authorization: `Bearer ${hostile.token}`,
      },
      body: JSON.stringify(INITIALIZE),
      signal: run.signal,
    });
    await response.text();
    const headers = { ...MCP_HEADERS, "mcp-session-id": response.headers.get("mcp-session-id") ?? "" };
    await hostile.post("/mcp", { jsonrpc: "2.0", method: "notifications/initialized" }, { ...run, headers });
    let id = 2;
    await repeat(1, run, async () => {
      const params = { name: "run_python_code", arguments: { python_code: programs[id % programs.length] } };
      const message = { jsonrpc: "2.0", id: id++, method: "tools/call", params };
      return (await hostile.post("/mcp", message, { ...run, headers })).status;
    });
  };
}
