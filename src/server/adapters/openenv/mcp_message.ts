import { z } from "zod";

const request = z.strictObject({
  jsonrpc: z.literal("2.0"),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
  id: z.union([z.string(), z.int()]).nullable().default(null),
});

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** Handles a JSON-RPC request given as text. */
export function handleMcpText(text: string): object {
  try {
    return handleMcpMessage(JSON.parse(text));
  } catch {
    return refusal(null, PARSE_ERROR, "Parse error"); // not JSON
  }
}

/** Handles a JSON-RPC request. Envs of this server have no MCP tools. */
export function handleMcpMessage(message: unknown): object {
  const { success, data, error } = request.safeParse(message);
  if (!success) {
    const issues = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    return refusal(null, INVALID_REQUEST, `Invalid request: ${issues.join("; ")}`);
  }
  const { id, method } = data;
  if (method === "tools/list" || method === "tools/call") {
    return refusal(id, INTERNAL_ERROR, "Environment does not support MCP");
  }
  return refusal(id, METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 80)}`);
}

function refusal(id: string | number | null, code: number, message: string): object {
  return { jsonrpc: "2.0", id, error: { code, message, data: null } };
}
