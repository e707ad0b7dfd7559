// The part of template.ts that chats use. See docs/decisions/hand_written_types.md.

export interface GenerationMarks {
  readonly start: string;
  readonly end: string;
}

export interface RenderTemplateOptions {
  readonly marks?: GenerationMarks | undefined;
  readonly now?: (() => Date) | undefined;
}

export interface Template {
  readonly hasGeneration: boolean;
  render(variables: Readonly<Record<string, unknown>>, options?: RenderTemplateOptions): string;
}

export const Template: new (source: string) => Template;
