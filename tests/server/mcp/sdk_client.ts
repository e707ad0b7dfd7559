import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import type { Served } from "../served.ts";

/** Options of {@linkcode connect}. */
export interface ConnectOptions {
  readonly token?: string;
  /** How the client chooses a protocol; `initialize` of an earlier one without it. */
  readonly mode?: VersionNegotiationMode;
  /** Address of the server, if it has a socket. */
  readonly url?: string;
}

/** Connects the official client to `/mcp`, by default without a socket. */
export async function connect(
  { app }: Served,
  options: ConnectOptions = {},
): Promise<Client & AsyncDisposable> {
  const { token, mode, url = "http://localhost/mcp" } = options;
  const client = new Client(
    { name: "test", version: "1" },
    mode === undefined ? {} : { versionNegotiation: { mode } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    ...(options.url === undefined && { fetch: async (url, init) => await app.fetch(new Request(url, init)) }),
    ...(token !== undefined && { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
  });
  await client.connect(transport);
  return Object.assign(client, {
    async [Symbol.asyncDispose]() {
      await transport.terminateSession();
      await client.close();
    },
  });
}

/** Calls a tool. */
export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<CallToolResult> {
  return await client.callTool({ name, arguments: args }) as CallToolResult;
}

/** Returns the first text of a result. */
export function textOf({ content: [first] }: CallToolResult): string {
  return first?.type === "text" ? first.text : JSON.stringify(first);
}

/** Runs a program and returns the first text of its result. */
export async function run(client: Client, python_code: string, global_variables?: object): Promise<string> {
  return textOf(
    await call(client, "run_python_code", { python_code, ...(global_variables && { global_variables }) }),
  );
}
