import { grantFlags, type Grants } from "../../sandbox/process/grants.ts";

/**
 * An MCP server that runs as a program with all permissions of the current user and talks over stdin and
 * stdout.
 */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /**
   * The complete environment of the process. Nothing is inherited from the host, not even `PATH` and `HOME`.
   */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Working directory.
   * @default the host's working directory
   */
  readonly cwd?: string | undefined;
}

/** An MCP server that Deno runs, a file or `npm:name@version`, with only the permissions that are granted. */
export interface McpModule {
  readonly module: string;
  readonly args?: readonly string[] | undefined;
  /**
   * Permissions, as in Deno's permission sets. A file can import only from the file's folder and from folders
   * where `read` is granted; otherwise the server does not start.
   * @default none
   */
  readonly permissions?: Grants | undefined;
  /** The complete environment of the process. The server needs the permission `env` to read the environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /**
   * Maximum heap size, in bytes.
   * @default 256 MiB
   */
  readonly memoryBytes?: number | undefined;
}

/** An MCP server that is reached over streamable HTTP. */
export interface McpUrl {
  readonly url: string | URL;
  /** Headers of each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An MCP server: a program, a module for Deno, or a URL. */
export type McpServer = McpCommand | McpModule | McpUrl;

const KINDS: Readonly<Record<"command" | "module" | "url", readonly string[]>> = {
  command: ["args", "env", "cwd"],
  module: ["args", "permissions", "env", "cwd", "memoryBytes"],
  url: ["headers"],
};

/**
 * Checks the definitions of MCP servers.
 *
 * @throws {TypeError} when there is no server, or when a server is not exactly a command, a module or a URL.
 */
export function checkServers(servers: Readonly<Record<string, McpServer>>): void {
  const entries = Object.entries(servers);
  if (entries.length === 0) throw new TypeError("Cannot use MCP servers as there must be at least one");
  for (const [name, server] of entries) requireServer(name, server);
}

function requireServer(name: string, server: McpServer): void {
  if (!/^[^\s<>"]+$/.test(name)) {
    throw new TypeError(
      `Cannot use MCP server as its name must not be empty or contain white space, '<', '>' or '"': current value is '${name}'`,
    );
  }
  const kinds = (["command", "module", "url"] as const).filter((kind) => kind in server);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    throw new TypeError(
      `Cannot use MCP server '${name}' as it must have exactly one of 'command', 'module' and 'url': it has ${
        kinds.join(" and ") || "none"
      }`,
    );
  }
  const known = [kind, ...KINDS[kind]];
  const unknown = Object.keys(server).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot use MCP server '${name}' as '${unknown}' is not allowed with '${kind}': allowed keys are ${
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
    `Cannot use MCP server '${name}' as its 'url' must be a URL of http or https: current value is '${url}'`,
  );
}
