import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { base64Bytes } from "../tool_parts.ts";

/** A server's answer as a model reads it: texts as they are, everything else described. */
export function mcpText({ content = [], structuredContent }: Partial<CallToolResult>): string {
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
      return `[resource link ${words(block.name, block.uri, block.mimeType)}]`;
    case "resource": {
      const { uri, mimeType } = block.resource;
      if ("text" in block.resource) return `[resource ${words(uri, mimeType)}]\n${block.resource.text}`;
      return `[resource ${words(uri, mimeType)} ${base64Bytes(block.resource.blob)} bytes]`;
    }
  }
}

function words(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join(" ");
}
