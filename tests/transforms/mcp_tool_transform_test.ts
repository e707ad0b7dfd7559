import { assert, assertThrows } from "@std/assert";
import { MCPToolTransform, type MCPToolTransformOptions } from "../../src/transforms/mcp_tool_transform.ts";

Deno.test("new MCPToolTransform() refuses TorchRL's tools and schemas, and names ToolTransform", () => {
  const options: readonly (readonly [unknown, string])[] = [
    [
      { tools: { add: () => 1 }, toolSchemas: { add: {} } },
      "found [tools, toolSchemas]. Functions are the 'tools' of",
    ],
    [
      { tools: [], timeoutMs: 5 },
      "ToolTransform: describe each with tool({ name, description, parameters, run })",
    ],
    [{ toolSchemas: {} }, "as it must have 'servers' or 'clients': found [toolSchemas]"],
    [{}, "as it must have 'servers' or 'clients': found []"],
    [undefined, "as it must have 'servers' or 'clients': found []"],
  ];
  for (const [given, message] of options) {
    assertThrows(() => new MCPToolTransform(given as MCPToolTransformOptions), TypeError, message);
  }
});

Deno.test("new MCPToolTransform() refuses unknown options, and takes all known ones", () => {
  const servers = { time: { command: "time" } };
  for (const unknown of ["foo", "toolSchemas", "constructor"]) {
    const options = { servers, [unknown]: 1 };
    const message = `found [${unknown}]`;
    assertThrows(() => new MCPToolTransform(options), TypeError, message);
  }
  const known = { servers, startTimeoutMs: 5, detected: [], onWarning: () => {}, maxResultCharacters: 9 };
  const calls = { timeoutMs: 5, stopOnError: true, passState: true, maxCalls: 2, maxTotalCharacters: 9 };
  assert(new MCPToolTransform({ ...known, ...calls, toolName: "tool", resultStyle: "json", rateLimits: {} }));
});
