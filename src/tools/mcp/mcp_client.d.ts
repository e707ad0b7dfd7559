// The part of mcp_client.ts that McpClients uses. See docs/decisions/hand_written_types.md.
import type { Layer } from "../../sandbox/profile/schema.ts";
import type { McpServer } from "./mcp_server.ts";
import type { Tool } from "./sdk.d.ts";

export interface McpClientOptions {
  readonly name: string;
  readonly server: McpServer;
  readonly startTimeoutMs: number;
  readonly layers: () => Promise<ReadonlySet<Layer>>;
  readonly onWarning: (warning: string) => void;
}

export interface McpClient extends AsyncDisposable {
  tools(signal?: AbortSignal): Promise<readonly Tool[]>;
  call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string>;
}

export const McpClient: new (options: McpClientOptions) => McpClient;
