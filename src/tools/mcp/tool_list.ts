import { errorMessage } from "../../errors.ts";
import type { Tool as McpTool } from "./sdk.ts";
import { isJsonObject } from "../../json.ts";

/** Tools of a server, and why other offered tools are left out. */
export interface ToolList {
  readonly tools: readonly McpTool[];
  /** Tools that are left out, by name or position, with the reason. */
  readonly leftOut: readonly string[];
}

/** Maximum number of pages; a server may offer 1,000 tools. */
const MAX_PAGES = 1_000;
const MAX_NAME = 80;

/**
 * Lists the tools of a server, page by page. A tool that cannot be called costs only itself. The list ends at a cursor
 * that is null, empty, or has come before.
 *
 * @param fetchPage requests the page at a cursor
 * @throws {Error} if a page has no list of tools, or the pages do not end.
 */
export async function listTools(
  fetchPage: (cursor: unknown) => Promise<Readonly<Record<string, unknown>>>,
): Promise<ToolList> {
  const listed: unknown[] = [];
  const cursors = new Set<unknown>();
  let cursor: unknown;
  do {
    const { tools, nextCursor } = await fetchPage(cursor);
    if (!Array.isArray(tools) && tools !== null) throw new Error("its list of tools is no list");
    listed.push(...tools ?? []);
    cursor = nextCursor === null || nextCursor === "" ? undefined : nextCursor;
    if (cursors.has(cursor)) break;
    cursors.add(cursor);
    if (cursors.size > MAX_PAGES) throw new Error(`its list of tools has more than ${MAX_PAGES} pages`);
  } while (cursor !== undefined);
  return selectTools(listed);
}

function selectTools(listed: readonly unknown[]): ToolList {
  const tools = new Map<string, McpTool>();
  const leftOut: string[] = [];
  for (const [at, value] of listed.entries()) {
    try {
      const tool = toTool(value);
      if (tools.has(tool.name)) throw new TypeError("another tool has the same name");
      tools.set(tool.name, tool);
    } catch (error) {
      leftOut.push(`${nameOf(value, at)}: ${errorMessage(error)}`);
    }
  }
  return { tools: [...tools.values()], leftOut };
}

/** @throws {TypeError} if no call can reach the tool. */
function toTool(value: unknown): McpTool {
  const { name, title, description, inputSchema, annotations } = Object(value);
  if (typeof name !== "string") throw new TypeError("it has no name");
  if (!/^[^\s<>"]+$/.test(name)) {
    throw new TypeError(`its name must not be empty or contain white space, '<', '>' or '"'`);
  }
  return {
    name,
    ...(typeof title === "string" && { title }),
    ...(typeof description === "string" && { description }),
    inputSchema: toInputSchema(inputSchema),
    ...(isJsonObject(annotations) && { annotations }),
  };
}

/** Returns a schema of objects. Arguments are always an object, so that a schema of objects and others accepts them. */
function toInputSchema(schema: unknown): McpTool["inputSchema"] {
  if (!isJsonObject(schema)) throw new TypeError("its 'inputSchema' must be an object");
  const { type = "object" } = schema;
  if (![type].flat().includes("object")) {
    throw new TypeError("the type of its 'inputSchema' must be 'object'");
  }
  return { ...schema, type: "object" };
}

function nameOf(value: unknown, at: number): string {
  const { name } = Object(value);
  return typeof name === "string" ? `'${name.slice(0, MAX_NAME)}'` : `tool ${at + 1}`;
}
