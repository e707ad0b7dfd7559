import { grantFlags, type Grants } from "../../sandbox/grants.ts";

/** A program that speaks the Model Context Protocol over its standard streams, with all that its user may do. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Its whole environment: nothing of the host's is handed on, `PATH` and `HOME` included. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Where it is started; the host's own folder unless given. */
  readonly cwd?: string | undefined;
}

/** The same as something that Deno runs, a file or `npm:name@version`, which may reach only what is granted. */
export interface McpModule {
  readonly module: string;
  readonly args?: readonly string[] | undefined;
  /**
   * What is granted to it, as in Deno's permission sets; nothing unless given. What a file imports lies in its
   * folder or where `read` is granted, else the server is not started.
   */
  readonly permissions?: Grants | undefined;
  /** Its whole environment, which it may read where the permission `env` says so. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** Bytes of memory for its objects; 256 MiB unless given. */
  readonly memoryBytes?: number | undefined;
}

/** A server somewhere else, reached over streamable HTTP. */
export interface McpUrl {
  readonly url: string | URL;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A server of the Model Context Protocol, and how it is reached. */
export type McpServer = McpCommand | McpModule | McpUrl;

const KINDS: Readonly<Record<"command" | "module" | "url", readonly string[]>> = {
  command: ["args", "env", "cwd"],
  module: ["args", "permissions", "env", "cwd", "memoryBytes"],
  url: ["headers"],
};

/**
 * Refuses servers that cannot be reached as they are written.
 *
 * @throws {TypeError} when there is none, or one is not a command, a module or a URL and nothing else.
 */
export function requireServers(servers: Readonly<Record<string, McpServer>>): void {
  const entries = Object.entries(servers);
  if (entries.length === 0) throw new TypeError("Cannot use MCP servers as there must be at least one");
  for (const [name, server] of entries) requireServer(name, server);
}

function requireServer(name: string, server: McpServer): void {
  if (!/^[^\s<>"]+$/.test(name)) {
    throw new TypeError(
      `Cannot use MCP server as its name must be free of white space, '<', '>' and '"': current value is '${name}'`,
    );
  }
  const kinds = (["command", "module", "url"] as const).filter((kind) => kind in server);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    throw new TypeError(
      `Cannot use MCP server '${name}' as it must have one of 'command', 'module' and 'url': it has ${
        kinds.join(" and ") || "none"
      }`,
    );
  }
  const known = [kind, ...KINDS[kind]];
  const unknown = Object.keys(server).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot use MCP server '${name}' as one with '${kind}' has no '${unknown}': known keys are ${
        known.join(", ")
      }`,
    );
  }
  if ("module" in server) grantFlags(server.permissions ?? {});
  if ("url" in server) requireHttp(name, server.url);
}

function requireHttp(name: string, url: string | URL): void {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return;
  throw new TypeError(
    `Cannot use MCP server '${name}' as its 'url' must be one of http or https: current value is '${url}'`,
  );
}
