import type { Transport } from "@modelcontextprotocol/client";
import { resolve } from "node:path";
import {
  type DenoCommand,
  denoCommand,
  fetchModules,
  requireOwnModules,
} from "../../sandbox/process/deno_program.ts";
import { setprivPrefix } from "../../sandbox/process/command.ts";
import type { Layer } from "../../sandbox/profile/schema.ts";
import { ChildTransport } from "./child_transport.ts";
import { HttpTransport } from "./http_transport.ts";
import type { McpCommand, McpModule, McpServer } from "./mcp_server.ts";

/** Makes the transport to a server. Fetches the imports of a module first. */
export async function createMcpTransport(
  server: McpServer,
  options: { layers: ReadonlySet<Layer>; signal?: AbortSignal | undefined },
): Promise<Transport> {
  const { layers, signal } = options;
  if ("url" in server) return new HttpTransport(server);
  if ("command" in server) return new ChildTransport(plainCommand(server, layers), server.cwd);
  const program = moduleProgram(server, layers);
  await fetchModules(program, signal);
  await requireOwnModules(program, signal);
  return new ChildTransport(await denoCommand(program), server.cwd);
}

/**
 * Returns the command of a program. It keeps the privileges of the user but is killed when this process
 * ends.
 */
function plainCommand({ command, args = [], env = {} }: McpCommand, layers: ReadonlySet<Layer>): DenoCommand {
  const prefix = layers.has("parentDeath") ? setprivPrefix(new Set<Layer>(["parentDeath"])) : [];
  const [program = command, ...rest] = [...prefix, command, ...args];
  return { program, args: rest, env };
}

function moduleProgram({ module, ...rest }: McpModule, layers: ReadonlySet<Layer>) {
  const specifier = /^[a-z]+:/.test(module) ? module : resolve(rest.cwd ?? "", module);
  return { ...rest, module: specifier, layers };
}
