import { ArgumentTypeError } from "../../errors.ts";
import { type CallToolResult, McpServer, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import { pythonStr } from "../../tools/python_repr.ts";
import { PADDOCK_VERSION } from "../../version.ts";
import { toPublicError } from "../server_error.ts";
import { type ClientSession, isPng } from "./client_session.ts";
import { OutputLog, type RunningLog } from "./output_log.ts";
import { formatRun } from "./run_text.ts";

const FRESH = "The interpreter is a fresh one: variables of earlier calls are gone.";

const path = z.string().describe("relative to the working directory");

const runArguments = z.strictObject({
  python_code: z.string().describe("Python code to run"),
  global_variables: z.looseObject({}).default({})
    .describe("Map of global variables in context when the code is executed"),
});

/** Creates an MCP server whose tools use the session of one client. */
export function createPythonServer(client: ClientSession): McpServer {
  const about = { name: "paddock", version: PADDOCK_VERSION };
  const server = new McpServer(about, { capabilities: { logging: {} } });
  const logs = new OutputLog(server);
  server.registerTool("run_python_code", {
    description: "Run Python code in a sandbox and return what it prints and the value of its last " +
      "expression. Variables and files are kept between calls. There is no network.",
    inputSchema: runArguments,
  }, ({ python_code, global_variables }, context) => {
    const log = logs.begin(context);
    return toToolResult(() => run(client, python_code, { variables: global_variables, context, log }));
  });
  server.registerTool("reset_session", {
    description: "Forget all variables and files.",
    inputSchema: z.strictObject({}),
  }, (_, { mcpReq }) =>
    toToolResult(async () => {
      await (await client.current()).reset({ signal: mcpReq.signal });
      return text("reset");
    }));
  server.registerTool("read_file", {
    description: "Read a file of the working directory: a text, an image, or base64.",
    inputSchema: z.strictObject({ path }),
  }, ({ path }) => toToolResult(async () => contents(await (await client.current()).readFile(path))));
  server.registerTool("write_file", {
    description: "Write a file in the working directory.",
    inputSchema: z.strictObject({
      path,
      content: z.string(),
      encoding: z.enum(["utf8", "base64"]).default("utf8"),
    }),
  }, ({ path, content, encoding }) =>
    toToolResult(async () => {
      const bytes = encoding === "utf8" ? content : fromBase64(content);
      await (await client.current()).writeFile(path, bytes);
      return text(`wrote ${path}`);
    }));
  server.registerTool("list_files", {
    description: "List the files of the working directory, with their sizes in bytes.",
    inputSchema: z.strictObject({}),
  }, (_, { mcpReq }) =>
    toToolResult(async () => {
      const files = await (await client.current()).listFiles(mcpReq.signal);
      return text(files.map(({ path, bytes }) => `${path}\t${bytes}`).join("\n"));
    }));
  return server;
}

async function run(
  client: ClientSession,
  code: string,
  { variables, context, log }: { variables: object; context: ServerContext; log: RunningLog },
): Promise<CallToolResult> {
  const { signal } = context.mcpReq;
  const isSet = Object.keys(variables).length > 0;
  const before = isSet ? `globals().update(${pythonStr(variables)})` : undefined;
  const onOutput = log.write.bind(log);
  const { result, output, images, isFresh } = await client.run(code, { before, signal, onOutput });
  await log.end();
  return {
    content: [
      ...text(formatRun(result, output)).content,
      ...(isFresh ? text(FRESH).content : []),
      ...images.map(image),
    ],
  };
}

/** Runs a tool and converts an error to a result with its public message. */
async function toToolResult(work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await work();
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
