import type { ContentPart } from "../message.ts";

/** Result of a tool that is more than text: content parts of a message, in order. */
export class ToolParts {
  readonly parts: readonly ContentPart[];

  constructor(parts: readonly ContentPart[]) {
    this.parts = parts;
  }

  /** The parts as one text. Other content is described. */
  get text(): string {
    return this.parts.map(describePart).join("\n");
  }

  /** True if any part is not text. */
  get hasMedia(): boolean {
    return this.parts.some(({ type }) => type !== "text");
  }
}

/** Returns the text of a part, or a description of other content. */
export function describePart(part: ContentPart): string {
  if (part.type === "text") return part.text ?? "";
  const bytes = part.size ?? (part.data === undefined ? undefined : base64Bytes(part.data));
  const details = [part.mime_type, part.name, part.url, bytes === undefined ? undefined : `${bytes} bytes`];
  return `[${[part.type, ...details.filter((it) => it !== undefined)].join(" ")}]`;
}

/** Returns the number of bytes that a base64 string encodes. */
export function base64Bytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor(data.length / 4) * 3 - padding);
}
