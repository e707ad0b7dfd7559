import type { ContentPart } from "../message.ts";

/** A tool's result that is more than text: the parts of a message, in their order. */
export class ToolParts {
  readonly parts: readonly ContentPart[];

  constructor(parts: readonly ContentPart[]) {
    this.parts = parts;
  }

  /** The parts as one text; what is no text is described. */
  get text(): string {
    return this.parts.map(partText).join("\n");
  }

  /** Whether there is anything but text. */
  get mixed(): boolean {
    return this.parts.some(({ type }) => type !== "text");
  }
}

/** A part in words: its text, or what it is. */
export function partText(part: ContentPart): string {
  if (part.type === "text") return part.text ?? "";
  const bytes = part.size ?? (part.data === undefined ? undefined : base64Bytes(part.data));
  const about = [part.mime_type, part.name, part.url, bytes === undefined ? undefined : `${bytes} bytes`];
  return `[${[part.type, ...about.filter((it) => it !== undefined)].join(" ")}]`;
}

/** Bytes that so much base64 stands for. */
export function base64Bytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor(data.length / 4) * 3 - padding);
}
