import { assertEquals } from "@std/assert";
import * as library from "@modelcontextprotocol/client";
import type * as declared from "../../../src/tools/mcp/sdk.d.ts";
import * as sdk from "../../../src/tools/mcp/sdk.ts";

Deno.test("sdk.d.ts declares what the MCP library exports", async () => {
  const Client: typeof declared.Client = library.Client; // the types are compared by the type checker
  const { StreamableHTTPClientTransport }: Pick<typeof declared, "StreamableHTTPClientTransport"> = library;
  const { serializeMessage }: Pick<typeof declared, "serializeMessage"> = library;
  const { SdkError, SdkHttpError } = library;
  const expected = {
    Client,
    SdkError,
    SdkHttpError,
    serializeMessage,
    StreamableHTTPClientTransport,
  };
  assertEquals<unknown>({ ...sdk }, expected);
  const file = await Deno.readTextFile(new URL("../../../src/tools/mcp/sdk.d.ts", import.meta.url));
  const names = file.matchAll(/^export (?:class|function) (\w+)/gm).map(([, name = ""]) => name);
  assertEquals([...names].toSorted(), Object.keys(sdk).toSorted());
});

Deno.test("tools, messages and errors of the MCP library have the types of sdk.d.ts", () => {
  const tool = (tool: library.Tool): declared.Tool => tool;
  const message = (message: library.JSONRPCMessage): declared.JSONRPCMessage => message;
  const error = (error: library.SdkHttpError): declared.SdkHttpError => error;
  assertEquals([tool, message, error].map((convert) => convert.length), [1, 1, 1]);
});
