import { type CallToolResult, McpServer, type ServerContext } from "@modelcontextprotocol/server";
import * as z from "zod";
import { ArgumentTypeError } from "../../errors.ts";
import { shownBundlesOf } from "../../sandbox/display.ts";
import type { ExecResult, MimeBundle } from "../../sandbox/exec.ts";
import { stickyMatch } from "../../tools/parsers/json_scan.ts";
import { PADDOCK_VERSION } from "../../version.ts";
import { toPublicError } from "../http/errors.ts";
import { type ClientSession, isPng } from "./client_session.ts";
import { OutputLog, type RunningLog } from "./output_log.ts";

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
    return toToolResult(() => run(client, python_code, { inputs: global_variables, context, log }));
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
      const files = await (await client.current()).files.list(mcpReq.signal);
      return text(files.map(({ path, bytes }) => `${path}\t${bytes}`).join("\n"));
    }));
  if (client.hasCheckpoints) registerCheckpointTools(server, client);
  return server;
}

function registerCheckpointTools(server: McpServer, client: ClientSession): void {
  server.registerTool("checkpoint", {
    description:
      "Keep the state of the session: variables, files and open files. Returns the name of the checkpoint, " +
      "to which `restore` returns. The session goes on.",
    inputSchema: z.strictObject({}),
  }, (_, { mcpReq }) =>
    toToolResult(async () => {
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
    }),
  }, ({ checkpoint }, { mcpReq }) =>
    toToolResult(async () => {
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

type Content = CallToolResult["content"][number];

/** Returns what a program showed: its forms beside text, or text if it has no other. */
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
 * Formats a result as clients of `run_python_code` expect it. `output` is the printed text, in order. Tags in it are
 * escaped, so that a program cannot close its element.
 */
export function formatRun(result: ExecResult, output: string): string {
  const printed = output === "" ? [] : [element("output", output)];
  if (result.status === "ok") {
    const value = jsonOfRepr(result.value ?? "") ?? result.value;
    const returned = value ? [element("return_value", value)] : [];
    return ["<status>success</status>", ...printed, ...returned].join("\n");
  }
  const raised = "error" in result ? result.error.traceback : `SystemExit: ${result.exitCode}`;
  return ["<status>run-error</status>", ...printed, element("error", raised)].join("\n");
}

function element(name: string, text: string): string {
  const tag = new RegExp(`</?\\s*${name}(?:[^\\n<>]*>)?`, "gi");
  const safe = text.replace(tag, (found) => found.replaceAll("<", "&lt;").replaceAll(">", "&gt;"));
  return `<${name}>\n${safe.replace(/\n$/, "")}\n</${name}>`;
}

const STRING = /'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"/y;
const NUMBER = /-?\d+(?:\.\d+)?(?:e[-+]\d+)?(?!\w)/y;
const SIGN = /True\b|False\b|None\b|,\)|[[\](){},:]/y;
const SPACE = / */y;

const SIGNS: Readonly<Record<string, string>> = {
  True: "true",
  False: "false",
  None: "null",
  "(": "[",
  ")": "]",
  ",)": "]",
};
const LETTERS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
const ESCAPE = /\\(?:x(..)|u(.{4})|U(.{8})|(.))/g;

/** Maximum length of a repr that is converted: the thread that serves everyone parses it. */
const MAX_REPR_CHARACTERS = 65_536;

/** Marks a number that is kept as a string, so that it loses no digits. */
const MARK = "\0";
const MARKED = /"\\u0000([^"]+)"(:?)/g;

/**
 * Converts a Python repr to indented JSON; a string is returned as it is. Returns `undefined` if the value contains
 * more than strings, numbers, booleans, None, lists, tuples and dicts, or is longer than 65,536 characters.
 */
export function jsonOfRepr(repr: string): string | undefined {
  try {
    if (repr.length > MAX_REPR_CHARACTERS) return undefined;
    const value: unknown = repr.includes("\\x00") ? undefined : JSON.parse(toMarkedJson(repr));
    if (typeof value === "string" && !value.startsWith(MARK)) return value;
    return JSON.stringify(value, null, 2)
      ?.replace(MARKED, (_, number, colon) => colon === "" ? number : `"${number}":`);
  } catch {
    return undefined; // another kind of value, or nested too deeply
  }
}

function toMarkedJson(repr: string): string {
  const pieces: string[] = [];
  let at = 0;
  while (at < repr.length) {
    const piece = stickyMatch(STRING, repr, at) ?? stickyMatch(NUMBER, repr, at) ??
      stickyMatch(SIGN, repr, at);
    if (piece === undefined) throw new SyntaxError(`there is no literal at character ${at}`);
    pieces.push(jsonOf(piece));
    at += piece.length;
    at += stickyMatch(SPACE, repr, at)?.length ?? 0;
  }
  return pieces.join("");
}

function jsonOf(piece: string): string {
  if (/^['"]/.test(piece)) return JSON.stringify(unescape(piece.slice(1, -1)));
  if (/^[-\d]/.test(piece)) return JSON.stringify(MARK + piece);
  return SIGNS[piece] ?? piece;
}

function unescape(text: string): string {
  return text.replace(ESCAPE, (_, x, u, long, letter) => {
    const code = x ?? u ?? long;
    return code === undefined ? LETTERS[letter] ?? letter : String.fromCodePoint(Number.parseInt(code, 16));
  });
}
