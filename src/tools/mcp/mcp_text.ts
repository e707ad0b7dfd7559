import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { base64Bytes } from "../tool_parts.ts";

/**
 * Returns the text that a model reads for a tool result: text as it is, and a description of all other
 * content.
 */
export function mcpResultText({ content = [], structuredContent }: Partial<CallToolResult>): string {
  if (content.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return content.map(blockText).join("\n");
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType} ${base64Bytes(block.data)} bytes]`;
    case "resource_link":
      return `[resource link ${joinWords(block.name, block.uri, block.mimeType)}]`;
    case "resource": {
      const { uri, mimeType } = block.resource;
      if ("text" in block.resource) return `[resource ${joinWords(uri, mimeType)}]\n${block.resource.text}`;
      return `[resource ${joinWords(uri, mimeType)} ${base64Bytes(block.resource.blob)} bytes]`;
    }
  }
}

function joinWords(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join(" ");
}
