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
    about: "a list of five million zeros as the value of an MCP call",
    twin: "programs",
    play: mcpCalls("[0]*5_000_000"),
  },
  {
    name: "mcp-nested-value",
    fault: "S11",
    about: "a value of nested lists and dicts below the limit of output",
    twin: "programs",
    play: mcpCalls("[{str(i): [[]]} for i in range(400_000)]"),
  },
  {
    name: "alternating-writes",
    fault: "S11",
    minMs: SLOW_MS,
    about: "800,000 writes alternately to stdout and stderr",
    twin: "programs",
    play: programs(
      "/v1",
      "import sys\nfor at in range(400_000):\n    sys.stdout.write('o')\n    sys.stderr.write('e')",
    ),
  },
  {
    name: "alternating-writes-e2b",
    fault: "S11",
    minMs: SLOW_MS,
    about: "the same by E2B's /execute, read by its client",
    twin: "programs",
    play: programs(
      "/execute",
      "import sys\nfor at in range(400_000):\n    sys.stdout.write('o')\n    sys.stderr.write('e')",
    ),
  },
  {
    name: "large-value",
    fault: "S11",
    about: "a value whose repr has 15 MB, by /v1",
    twin: "programs",
    play: programs("/v1", "'a' * 15_000_000"),
  },
  {
    name: "output-flood",
    fault: "rule 2",
    about: "endless output by /run_code",
    twin: "programs",
    play: programs("/run_code", "while True: print('a' * 100_000)"),
  },
  {
    name: "jupyter-cells",
    fault: "rule 2",
    about: "1,000 cells that print a megabyte each",
    twin: "programs",
    async play({ hostile, ...run }) {
      const body = { cells: Array<string>(1000).fill("print('a' * 1_000_000)") };
      await repeat(3, run, async () => (await hostile.post("/run_jupyter", body, run)).status);
    },
  },
  {
    name: "memory",
    fault: "rule 2",
    about: "programs that fill their heap and their files",
    twin: "programs",
    play: programs(
      "/run_code",
      "open('a', 'wb').write(bytes(60_000_000))\nheld = []\nwhile True: held.append(bytes(1_000_000))",
    ),
  },
  {
    name: "crashes",
    fault: "rule 2",
    about: "programs that end their interpreter",
    twin: "programs",
    play: programs("/run_code", "import ctypes\nctypes.string_at(1 << 31)"),
  },
  {
    name: "tracebacks",
    fault: "S11",
    about: "exceptions with messages of 15 MB and chains of causes",
    twin: "programs",
    play: programs(
      "/v1",
      "cause = None\nfor at in range(500):\n    error = ValueError('x' * 30_000)\n    error.__cause__ = cause\n    cause = error\nraise error",
    ),
  },
];

/** Runs a program again and again in three lanes: in sessions of `/v1`, or by a route of another system. */
function programs(path: "/v1" | "/run_code" | "/execute", code: string): (attack: Attack) => Promise<void> {
  return async ({ hostile, ...run }) => {
    const paths = path === "/v1"
      ? await Promise.all([1, 2].map(async () => `${await hostile.openSession(run.signal)}/exec`))
      : [path, path];
    await repeat(
      paths.length,
      run,
      async (lane) => (await hostile.post(paths[lane] ?? path, { code }, run)).status,
    );
  };
}

function mcpCalls(code: string): (attack: Attack) => Promise<void> {
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
      const params = { name: "run_python_code", arguments: { python_code: code } };
      const message = { jsonrpc: "2.0", id: id++, method: "tools/call", params };
      return (await hostile.post("/mcp", message, { ...run, headers })).status;
    });
  };
}
