import { type CallToolResult, McpServer, type ServerContext } from "@modelcontextprotocol/server";
import * as z from "zod";
import { ArgumentTypeError } from "../../errors.ts";
import { shownBundlesOf } from "../../sandbox/display.ts";
import type { ExecResult, MimeBundle } from "../../sandbox/contract/exec.ts";
import { PADDOCK_VERSION } from "../../version.ts";
import { toPublicError } from "../http/http_errors.ts";
import { type ClientSession, isPng } from "./client_session.ts";
import { OutputLog, type RunningLog } from "./output_log.ts";
import { jsonOfRepr } from "./repr_json.ts";
import type { ToolSessions } from "./tool_sessions.ts";

const FRESH = "The interpreter is a fresh one: variables of earlier calls are gone.";

const path = z.string().describe("relative to the working directory");
const session = z.string().describe("session that run_python_code returned");
const newSession = z.string().optional()
  .describe("session that run_python_code returned; without it, a new one is opened");

/** Creates an MCP server with tools that use the sessions of a client. */
export function createPythonServer(sessions: ToolSessions): McpServer {
  const about = { name: "paddock", version: PADDOCK_VERSION };
  const server = new McpServer(about, { capabilities: { logging: {} } });
  const logs = new OutputLog(server);
  const named = sessions.hasHandles ? { session } : {};
  const opened = sessions.hasHandles ? { session: newSession } : {};
  const kept = sessions.hasHandles
    ? "The result states a `session`: pass it to later calls to keep variables and files. "
    : "Variables and files are kept between calls. ";
  server.registerTool("run_python_code", {
    description: "Run Python code in a sandbox and return what it prints and the value of its last " +
      `expression. ${kept}There is no network.`,
    inputSchema: z.strictObject({
      python_code: z.string().describe("Python code to run"),
      global_variables: z.looseObject({}).default({})
        .describe("Map of global variables in context when the code is executed"),
      ...opened,
    }),
  }, ({ python_code, global_variables, ...rest }, context) =>
    toToolResult(sessions, rest, (client) => {
      const log = logs.begin(context);
      return run(client, python_code, { inputs: global_variables, context, log });
    }));
  server.registerTool("reset_session", {
    description: "Forget all variables and files.",
    inputSchema: z.strictObject({ ...named }),
  }, (args, { mcpReq }) =>
    toToolResult(sessions, args, async (client) => {
      await (await client.current()).reset({ signal: mcpReq.signal });
      return text("reset");
    }));
  server.registerTool(
    "read_file",
    {
      description: "Read a file of the working directory: a text, an image, or base64.",
      inputSchema: z.strictObject({ path, ...named }),
    },
    ({ path, ...rest }) =>
      toToolResult(sessions, rest, async (client) => contents(await (await client.current()).readFile(path))),
  );
  server.registerTool("write_file", {
    description: "Write a file in the working directory.",
    inputSchema: z.strictObject({
      path,
      content: z.string(),
      encoding: z.enum(["utf8", "base64"]).default("utf8"),
      ...opened,
    }),
  }, ({ path, content, encoding, ...rest }) =>
    toToolResult(sessions, rest, async (client) => {
      const bytes = encoding === "utf8" ? content : fromBase64(content);
      await (await client.current()).writeFile(path, bytes);
      return text(`wrote ${path}`);
    }));
  server.registerTool("list_files", {
    description: "List the files of the working directory, with their sizes in bytes.",
    inputSchema: z.strictObject({ ...named }),
  }, (args, { mcpReq }) =>
    toToolResult(sessions, args, async (client) => {
      const files = await (await client.current()).files.list(mcpReq.signal);
      return text(files.map(({ path, bytes }) => `${path}\t${bytes}`).join("\n"));
    }));
  if (sessions.hasCheckpoints) registerCheckpointTools(server, sessions, named);
  return server;
}

function registerCheckpointTools(
  server: McpServer,
  sessions: ToolSessions,
  named: Readonly<Record<string, z.ZodString>>,
): void {
  server.registerTool("checkpoint", {
    description:
      "Keep the state of the session: variables, files and open files. Returns the name of the checkpoint, " +
      "to which `restore` returns. The session goes on.",
    inputSchema: z.strictObject({ ...named }),
  }, (args, { mcpReq }) =>
    toToolResult(sessions, args, async (client) => {
      const { name, deleted, isFresh } = await client.checkpoint(mcpReq.signal);
      const gone = deleted === undefined ? "" : `\nThe oldest checkpoint was deleted: ${deleted}`;
      return text(`checkpoint: ${name}${gone}${isFresh ? `\n${FRESH}` : ""}`);
    }));
  server.registerTool("restore", {
    description:
      "Return the session to a checkpoint: variables, files and open files are as they were then. No code " +
      "runs again. The checkpoint stays, so the session can return to it again.",
    inputSchema: z.strictObject({
      checkpoint: z.string().describe("name that `checkpoint` returned, such as c1"),
      ...named,
    }),
  }, ({ checkpoint, ...rest }, { mcpReq }) =>
    toToolResult(sessions, rest, async (client) => {
      await client.restore(checkpoint, mcpReq.signal);
      return text(`restored ${checkpoint}`);
    }));
}

async function run(
  client: ClientSession,
  code: string,
  { inputs, context, log }: { inputs: Record<string, unknown>; context: ServerContext; log: RunningLog },
): Promise<CallToolResult> {
  const { signal } = context.mcpReq;
  const onOutput = log.write.bind(log);
  const { result, output, images, isFresh } = await client.run(code, { inputs, signal, onOutput });
  await log.end();
  return {
    content: [
      ...text(formatRun(result, output)).content,
      ...(isFresh ? text(FRESH).content : []),
      ...shownBundlesOf(result).flatMap(({ bundle, isMain }) =>
        isMain ? richContents(bundle) : contentsOf(bundle)
      ),
      ...images.map(image),
    ],
  };
}

/** Runs a tool in the session of a call, and converts an error to a result with the public message. */
async function toToolResult(
  sessions: ToolSessions,
  args: { readonly session?: unknown },
  work: (client: ClientSession) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  try {
    return await sessions.use(typeof args.session === "string" ? args.session : undefined, work);
  } catch (error) {
    return { ...text(toPublicError(error).message), isError: true };
  }
}

function contents(bytes: Uint8Array): CallToolResult {
  if (isPng(bytes)) return { content: [image(bytes)] };
  try {
    return text(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return text(bytes.toBase64()); // binary data
  }
}

type Content = CallToolResult["content"][number];

/** Returns what a program showed: the forms beside text, or text if there is no other form. */
function contentsOf(bundle: MimeBundle): Content[] {
  const rich = richContents(bundle);
  const { "text/plain": plain } = bundle;
  return rich.length > 0 || typeof plain !== "string" ? rich : text(plain).content;
}

/** Returns images, and other forms as embedded resources. */
function richContents(bundle: MimeBundle): Content[] {
  return Object.entries(bundle).filter(([type]) => type !== "text/plain").map(([mimeType, data]): Content => {
    if (IMAGE.test(mimeType)) return { type: "image", data: String(data), mimeType };
    const contents = typeof data === "string" ? data : JSON.stringify(data);
    return { type: "resource", resource: { uri: `paddock://display/${mimeType}`, mimeType, text: contents } };
  });
}

/** Types of images that MCP clients show. */
const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/;

function image(bytes: Uint8Array): { type: "image"; data: string; mimeType: string } {
  return { type: "image", data: bytes.toBase64(), mimeType: "image/png" };
}

function text(value: string): { content: { type: "text"; text: string }[] } {
  return { content: [{ type: "text", text: value }] };
}

function fromBase64(content: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(content);
  } catch (cause) {
    throw new ArgumentTypeError(
      "Cannot write file as 'content' must be base64: found an invalid character or length",
      { cause },
    );
  }
}

/**
 * Formats a result for clients of `run_python_code`. `output` is the printed text, in order. Tags in the text are
 * escaped, so that a program cannot close the element.
 */
export function formatRun(result: ExecResult, output: string): string {
  const printed = output === "" ? [] : [element("output", output)];
  if (result.status === "ok") {
    const value = jsonOfRepr(result.value ?? "") ?? result.value;
    const returned = value ? [element("return_value", value)] : [];
    return ["<status>success</status>", ...printed, ...returned].join("\n");
  }
  const raised = "error" in result
    ? result.error.traceback
    : result.status === "exited"
    ? `SystemExit: ${result.exitCode}`
    : result.status;
  return ["<status>run-error</status>", ...printed, element("error", raised)].join("\n");
}

function element(name: string, text: string): string {
  const tag = new RegExp(`</?\\s*${name}(?:[^\\n<>]*>)?`, "gi");
  const safe = text.replace(tag, (found) => found.replaceAll("<", "&lt;").replaceAll(">", "&gt;"));
  return `<${name}>\n${safe.replace(/\n$/, "")}\n</${name}>`;
}
