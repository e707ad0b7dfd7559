/** Fenced block of a Markdown text. */
export interface Block {
  /** Heading of its section. */
  readonly section: string;
  readonly language: string;
  readonly text: string;
}

/** Returns the fenced blocks of a Markdown text, in order. */
export function readmeBlocks(markdown: string): Block[] {
  const found = markdown.matchAll(
    /^##? (?<section>.+)$|^(?<fence>`{3,})(?<language>\w+).*\n(?<text>[^]*?)^\k<fence>$/gm,
  );
  const blocks: Block[] = [];
  let heading = "";
  for (const { groups = {} } of found) {
    const { section, language = "", text = "" } = groups;
    if (section !== undefined) heading = section;
    else blocks.push({ section: heading, language, text });
  }
  return blocks;
}
