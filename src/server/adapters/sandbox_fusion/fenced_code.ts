interface Block {
  readonly language: string;
  readonly code: string;
  readonly isClosed: boolean;
}

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  python: ["python", "python3", "py"],
  bash: ["bash", "sh", "shell"],
};

/**
 * Returns the program of a completion: the first closed block in the language, else the first closed block, else an
 * unclosed block, else an empty string.
 */
export function extractFencedCode(completion: string, language: string): string {
  const blocks = fencedBlocks(completion);
  const closed = blocks.filter(({ isClosed }) => isClosed);
  const found = closed.length > 0 ? closed : blocks;
  const names = ALIASES[language] ?? [language];
  return (found.find((block) => names.includes(block.language)) ?? found[0])?.code ?? "";
}

function fencedBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; lines: string[] } | undefined;
  for (const line of text.split("\n")) {
    const fence = line.indexOf("```");
    if (open === undefined && fence >= 0) {
      open = { language: line.slice(fence + 3).trim().toLowerCase(), lines: [] };
    } else if (open !== undefined && line.trimStart().startsWith("```")) {
      blocks.push({ language: open.language, code: open.lines.join("\n"), isClosed: true });
      open = undefined;
    } else open?.lines.push(line);
  }
  if (open !== undefined) {
    blocks.push({ language: open.language, code: open.lines.join("\n"), isClosed: false });
  }
  return blocks;
}
