import { assertThrows } from "@std/assert";
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
