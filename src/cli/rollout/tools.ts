import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { McpError } from "../../errors.ts";
import { parseJsonc } from "../../jsonc.ts";
import { escapeLine } from "../../terminal_text.ts";
import type { PythonTools } from "../../plugins/python/python_tools.ts";
import type { CodeToolNames } from "../../tools/code_mode/python_names.ts";
import type { McpServer } from "../../tools/mcp/mcp_server.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import type { AllowedCaller, Tool } from "../../tools/tool.ts";
import { ToolTransform } from "../../transforms/tool_transform.ts";
import type { Transform } from "../../transforms/transform.ts";
import { checkUsage, rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { readText } from "../input.ts";
import { currentIo } from "../io.ts";
import { lookUp } from "../options.ts";
import { writeText } from "../output.ts";
import {
  isPythonPath,
  openPythonFile,
  printFor,
  type PythonFileFlags,
  type PythonFileOwner,
} from "./python_files.ts";
import { isJsonObject } from "../../json.ts";

/** Flags that select tools. */
export interface ToolFlags extends PythonFileFlags {
  /** JSONC file with MCP servers. */
  mcp?: string;
  /** TypeScript or Python files with tools. */
  tool?: readonly string[];
  /** Call style. */
  calls?: string;
  /**
   * Who calls the tools: the model in replies, the code of Python blocks, or both, with commas between.
   *
   * @default "model"
   */
  toolCallers?: string;
  /** Where code finds the tools. */
  toolNames?: CodeToolNames;
  /** Timeout of a call, in milliseconds. */
  timeoutMs: number;
}

/** Who may call the tools of a run. */
const TOOL_CALLERS: readonly AllowedCaller[] = ["model", "code"];

/** The tools that all episodes of a run share. */
export interface RunTools {
  /** True if the code of Python blocks may call them. */
  readonly areForCode: boolean;
  /** Tools that need no episode: tools of TypeScript files and of MCP servers. */
  readonly shared: readonly Tool[];
  /** Where code finds them. */
  readonly names: CodeToolNames | undefined;
  /** Makes the transforms of an episode. */
  readonly transforms: () => readonly Transform[];
  /** Makes the transforms of an episode whose code gets recorded results. */
  readonly transformsOfModel: () => readonly Transform[];
}

/**
 * Opens the tools that all episodes of a run share. Starts the servers, so that a server that cannot start is reported
 * once and not by each episode.
 *
 * @param options `size` is the number of episodes that run at the same time.
 * @throws {UsageError} if a tool or server cannot be opened.
 */
export async function openTools(
  flags: ToolFlags,
  options: { stack: AsyncDisposableStack; signal: AbortSignal; size: number },
): Promise<RunTools> {
  const { stack, signal } = options;
  const callers = parseCallers(flags.toolCallers);
  const { timeoutMs } = flags;
  const { parser } = lookUp(CALL_STYLES, flags.calls ?? "tag", "call style");
  const { tools, ofPython } = await openToolFiles(flags.tool ?? [], { flags, owner: options });
  const servers = flags.mcp === undefined ? undefined : await readMcpFile(flags.mcp);
  const mcp = servers && await openServers(servers, { parser: parser(), timeoutMs, stack, signal });
  const transforms = (allowedCallers: readonly AllowedCaller[]) => {
    const options = () => ({ parser: parser(), timeoutMs, allowedCallers });
    return [
      ...(mcp === undefined ? [] : [mcp.transform(allowedCallers)]),
      ...(tools.length === 0 ? [] : [new ToolTransform({ tools, ...options() })]),
      ...ofPython.map((file) => file.makeTransform(options())),
    ];
  };
  return {
    areForCode: callers.includes("code"),
    shared: [...tools, ...mcp?.tools ?? []],
    names: flags.toolNames,
    transforms: () => transforms(callers),
    transformsOfModel: () => callers.includes("model") ? transforms(["model"]) : [],
  };
}

function parseCallers(text: string | undefined): readonly AllowedCaller[] {
  const callers = (text ?? "model").split(",").map((name) => name.trim());
  const unknown = callers.find((name) => !TOOL_CALLERS.some((known) => known === name));
  if (unknown === undefined) return TOOL_CALLERS.filter((caller) => callers.includes(caller));
  throw new UsageError(
    `Cannot offer tools as each of --tool-callers must be ${TOOL_CALLERS.join(" or ")}: found '${
      escapeLine(unknown)
    }'`,
  );
}

/** Opens Python files with tools, each in separate sandboxes. */
async function openPythonTools(
  paths: readonly string[],
  options: { flags: PythonFileFlags; owner: PythonFileOwner },
): Promise<PythonTools[]> {
  if (paths.length === 0) return [];
  const { pythonTools } = await import("../../plugins/python/python_tools.ts");
  return await Promise.all(paths.map((path) => openPythonFile(path, pythonTools, options)));
}

/** Tools in files. */
export interface ToolFiles {
  /** Tools of TypeScript files, each in a separate process, which all episodes share. */
  readonly tools: readonly Tool[];
  /** Tools of Python files, which run in a session of each episode. */
  readonly ofPython: readonly PythonTools[];
}

/**
 * Opens tool files.
 *
 * @throws {UsageError} if a file cannot be opened, or two tools have the same name.
 */
export async function openToolFiles(
  paths: readonly string[],
  options: { flags: PythonFileFlags; owner: PythonFileOwner },
): Promise<ToolFiles> {
  const tools = await openModuleTools(paths.filter((path) => !isPythonPath(path)), options.owner.stack);
  const ofPython = await openPythonTools(paths.filter(isPythonPath), options);
  const specs = ofPython.flatMap(({ specs }) => specs);
  checkUsage(() => new ToolTransform({ tools: [...tools, ...specs.map((spec) => ({ ...spec, run() {} }))] }));
  return { tools, ofPython };
}

async function openModuleTools(paths: readonly string[], stack: AsyncDisposableStack): Promise<Tool[]> {
  if (paths.length === 0) return [];
  const { toolFile } = await import("../../tools/file/tool_file.ts");
  return await Promise.all(
    paths.map((path) => {
      const onPrint = (text: string) => printFor(path, text);
      return rethrowAsUsageError(async () => stack.use(await toolFile(path, { onPrint })));
    }),
  );
}

/** The tools of MCP servers. */
interface McpTools {
  readonly tools: readonly Tool[];
  readonly transform: (allowedCallers: readonly AllowedCaller[]) => Transform;
}

/** Loads the MCP library on demand, since the library takes longer to load than all other modules. */
async function openServers(
  servers: Record<string, McpServer>,
  options: Omit<ConstructorParameters<typeof ToolTransform>[0], "tools"> & {
    stack: AsyncDisposableStack;
    signal: AbortSignal;
  },
): Promise<McpTools> {
  const { stack, signal, ...calls } = options;
  const { McpClients } = await import("../../tools/mcp/mcp_clients.ts");
  const { MCPToolTransform } = await import("../../transforms/mcp_tool_transform.ts");
  return await rethrowAsUsageError(async () => {
    const onWarning = (warning: string) =>
      void writeText(
        currentIo().stderr,
        `warning: ${escapeLine(warning)}
`,
      ).catch(() => {});
    const clients = stack.use(new McpClients({ servers, onWarning }));
    const tools = await clients.tools(signal);
    return {
      tools,
      transform: (allowedCallers) => new MCPToolTransform({ ...calls, clients, allowedCallers }),
    };
  }, { kinds: [TypeError, McpError] });
}

const MAX_BYTES = 1024 * 1024;

/**
 * Reads the MCP servers of a JSONC file in the common format `{ "mcpServers": { name: server } }`. Relative paths are
 * resolved from the folder of the file, which is also the working directory of the servers.
 *
 * @throws {UsageError} if the file cannot be read, is not valid, or has no servers. The message has the line and the
 * column of a key that is there twice.
 */
export async function readMcpFile(path: string): Promise<Record<string, McpServer>> {
  const text = await readText(path, { maxBytes: MAX_BYTES });
  const servers = serversOf(await rethrowAsUsageError(() => parseJsonc(text, `'${path}'`)));
  if (servers === undefined) {
    throw new UsageError(`Cannot read '${path}' as it must have an object 'mcpServers': it has none`);
  }
  const folder = dirname(resolve(path));
  return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, placed(server, folder)]));
}

function serversOf(value: unknown): Record<string, unknown> | undefined {
  const servers = isJsonObject(value) ? value.mcpServers : undefined;
  return isJsonObject(servers) && Object.values(servers).every(isJsonObject) ? servers : undefined;
}

/** Checks the outer structure only; the client that starts a server checks the server's keys. */
function placed(server: unknown, folder: string): McpServer {
  const { module, cwd, ...rest } = server as Record<string, unknown>;
  if ("url" in rest) return rest as unknown as McpServer;
  const place = { ...rest, cwd: resolve(folder, typeof cwd === "string" ? cwd : ".") };
  if (typeof module !== "string") return place as unknown as McpServer;
  const isFile = module.startsWith(".") || module.startsWith("/");
  return { ...place, module: isFile ? pathToFileURL(resolve(folder, module)).href : module };
}
