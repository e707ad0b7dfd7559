import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ClientSession } from "./client_session.ts";

/** The sessions of a client, in which the client's tools run. */
export interface ToolSessions {
  /** True if the client can make checkpoints. */
  readonly hasCheckpoints: boolean;
  /** True if each call names a session, as the client has no connection to which a session belongs. */
  readonly hasHandles: boolean;
  /**
   * Runs a tool in a session.
   *
   * @param handle handle of the session; without a handle, the client's only session, or a new session
   * @throws {ServerError} `not_found` if the client has no such session.
   */
  use(
    handle: string | undefined,
    work: (session: ClientSession) => Promise<CallToolResult>,
  ): Promise<CallToolResult>;
}

/** Returns the only session of a client. */
export function onlySession(client: ClientSession): ToolSessions {
  return { hasCheckpoints: client.hasCheckpoints, hasHandles: false, use: (_, work) => work(client) };
}
