/**
 * Compares the Python blocks of generated Markdown with those that commonmark.js 0.31.2 finds. `--write` keeps some of the
 * documents for the suite: `deno run -A --no-lock tests/tools/code_blocks/commonmark_checks.ts --write`.
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { pythonBlocks } from "../../../src/tools/python_blocks.ts";
import { markdownDocuments } from "./markdown_documents.ts";

// Its types are not published, and no other code uses the package.
const COMMONMARK = "npm:commonmark@0.31.2";
const PYTHON = /^\s*(?:python3?|py)\b/i;

interface MarkdownNode {
  readonly type: string;
  readonly _isFenced: boolean;
  readonly info: string | null;
  readonly literal: string;
}

interface Commonmark {
  readonly Parser: new () => {
    parse(text: string): { walker(): { next(): { entering: boolean; node: MarkdownNode } | null } };
  };
}

const { Parser } = await import(COMMONMARK) as Commonmark;

function commonmarkBlocks(text: string): string[] {
  const blocks: string[] = [];
  const walker = new Parser().parse(text).walker();
  for (let event = walker.next(); event !== null; event = walker.next()) {
    const { type, _isFenced, info, literal } = event.node;
    if (type !== "code_block" || !_isFenced || !PYTHON.test(info ?? "")) continue;
    blocks.push(literal.replace(/\n$/, ""));
  }
  return blocks;
}

if (Deno.args.includes("--write")) {
  const documents = fc.sample(markdownDocuments, { numRuns: 4000, seed: 38 });
  const rows = [...new Set(documents)].map((text) => ({ text, blocks: commonmarkBlocks(text) }))
    .filter(({ text, blocks }) => blocks.length > 0 && text.length < 260).slice(0, 200);
  const lines = rows.map((row) => JSON.stringify(row)).join("\n");
  Deno.writeTextFileSync(new URL("commonmark.jsonl", import.meta.url), `${lines}\n`);
}

Deno.test("pythonBlocks() finds the blocks that commonmark.js finds in 20,000 documents", () => {
  fc.assert(
    fc.property(markdownDocuments, (text) => assertEquals(pythonBlocks(text), commonmarkBlocks(text))),
    { numRuns: 20_000 },
  );
});
