import { base64Bytes } from "../tool_result.ts";
import { exactJson, isJsonOf } from "./marked_numbers.ts";
import { isJsonObject } from "../../json.ts";

/** Result of a tool in the form that a model reads. */
export interface CallResult {
  readonly text: string;
  readonly isError: boolean;
}

/** Number of characters of a content block of unknown type that are shown. */
const SHOWN = 500;

/**
 * Reads the result of a tool. The tool's effect has happened, so the model reads a result of any form. Text is passed on
 * unchanged, and other content is described. `structuredContent` follows as JSON unless the text has the same data.
 * The text of an error is never empty.
 */
export function readCallResult(result: Readonly<Record<string, unknown>>): CallResult {
  const { content, structuredContent, toolResult, isError } = result;
  const blocks = [content ?? []].flat();
  const lines = blocks.map(blockText);
  for (const data of [structuredContent, toolResult]) { // protocol 2024-10-07 has the latter
    if (data !== undefined && data !== null && !hasSameData(blocks, data)) lines.push(exactJson(data));
  }
  const text = lines.join("\n");
  if (isError !== true) return { text, isError: false };
  return { text: text.trim() === "" ? "the tool failed and gave no reason" : text, isError: true };
}

/**
 * Returns true if text blocks have the data. Servers write a text also as the only member of an object
 * (`{"content": text}` of server-filesystem); servers in Python wrap any value that is no object
 * as `{"result": value}`, and write a list as a block for each item.
 */
function hasSameData(blocks: readonly unknown[], data: unknown): boolean {
  const texts = blocks.map((block) => Object(block).text).filter((text) => typeof text === "string");
  if (texts.some((text) => isJsonOf(text, data))) return true;
  const [member, ...others] = isJsonObject(data) ? Object.entries(data) : [];
  if (member === undefined || others.length > 0) return false;
  const [name, value] = member;
  if (typeof value === "string" && texts.includes(value)) return true;
  if (name !== "result") return false;
  return texts.some((text) => isTextOf(text, value)) ||
    Array.isArray(value) && value.length === texts.length && value.length === blocks.length &&
      value.every((item, at) => isTextOf(texts[at] ?? "", item));
}

function isTextOf(text: string, value: unknown): boolean {
  return text === value || isJsonOf(text, value);
}

function blockText(block: unknown): string {
  if (typeof block === "string") return block;
  const { type, text, data, mimeType, name, uri, resource } = Object(block);
  if (type === "text" && typeof text === "string") return text;
  if ((type === "image" || type === "audio") && typeof data === "string") {
    return `[${joinWords(type, mimeType, `${base64Bytes(data)} bytes`)}]`;
  }
  if (type === "resource_link" && typeof uri === "string") {
    return `[${joinWords("resource link", name, uri, mimeType)}]`;
  }
  if (type === "resource" && isJsonObject(resource)) return resourceText(resource);
  return `[unknown content ${cut(exactJson(block), SHOWN)}]`;
}

function resourceText({ uri, mimeType, text, blob }: Readonly<Record<string, unknown>>): string {
  const size = typeof blob === "string" ? `${base64Bytes(blob)} bytes` : undefined;
  const line = `[${joinWords("resource", uri, mimeType, size)}]`;
  return typeof text === "string" ? `${line}\n${text}` : line;
}

function joinWords(...parts: readonly unknown[]): string {
  return parts.filter((part) => typeof part === "string" && part !== "").join(" ");
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
