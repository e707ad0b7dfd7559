import { requireKnownOptions } from "../options.ts";
import { BlockCounter, type BlocksNotRun, type NotRunReason } from "./code_blocks/blocks_not_run.ts";
import { type CodeBlock, codeBlocks } from "./code_blocks/code_blocks.ts";

/**
 * Returns the Python programs in a message: blocks whose tag names Python, in any case, such as `python`, `py`,
 * `python3.11`, `{.python}`, `ipython` and `tool_code`, and blocks of the tags `<python>` and `<tool_code>`.
 *
 * Blocks in quotes of Markdown and in thoughts count, blocks inside of other blocks and of results of tools do not.
 * {@linkcode findPrograms} returns the programs that run. Fences are ``` or ~~~. A ``` inside a Python string or comment
 * does not close a block; a fence after code on the same line does. A last block without a closing fence counts. Line ends
 * become `\n`, and the last line end is removed.
 */
export function pythonBlocks(text: string): string[] {
  return codeBlocks(text)
    .filter(({ language, place }) => language === "python" && (place === undefined || place === "quote"))
    .map(({ code }) => code);
}

/** Which blocks of a reply are programs, beside blocks of Python outside of thoughts. */
export interface RunnableBlocks {
  /**
   * If true, blocks without a tag, and `<code>`, are programs.
   * @default false
   */
  runUnlabeled?: boolean | undefined;
  /**
   * If true, blocks inside of thoughts, in any tag of them, are programs, as in TorchRL.
   * @default false
   */
  runThoughts?: boolean | undefined;
}

/** Options of {@linkcode findPrograms}. */
export interface FindProgramsOptions extends RunnableBlocks {
  /**
   * If true, a block without an end is no program: a limit has cut the reply inside the block.
   * @default false
   */
  skipUnclosed?: boolean | undefined;
}

/** Programs of a reply, and the blocks that do not run. */
export interface FoundPrograms {
  readonly programs: readonly string[];
  /** At most 16; further tags are counted under the tag `…`. */
  readonly notRun: readonly BlocksNotRun[];
}

/**
 * Returns the programs of a reply that an interpreter runs, and the other blocks with the reasons. Blocks
 * of Python outside of other blocks, quotes, results of tools and thoughts are programs.
 */
export function findPrograms(text: string, options: FindProgramsOptions = {}): FoundPrograms {
  requireKnownOptions("call findPrograms", options, {
    skipUnclosed: true,
    runUnlabeled: true,
    runThoughts: true,
  });
  const programs: string[] = [];
  const notRun = new BlockCounter();
  for (const block of codeBlocks(text)) {
    const reason = reasonNotToRun(block, options);
    if (reason === undefined) programs.push(block.code);
    else notRun.add(reason, block.tag.toLowerCase());
  }
  return { programs, notRun: notRun.counts };
}

function reasonNotToRun(block: CodeBlock, options: FindProgramsOptions): NotRunReason | undefined {
  const { language, place, inThought = false, isClosed } = block;
  const { runUnlabeled = false, runThoughts = false, skipUnclosed = false } = options;
  if (place !== undefined) return place;
  if (language === "other") return "language";
  if (language === "transcript") return language;
  if (language === "unlabeled" && !runUnlabeled) return language;
  if (inThought && !runThoughts) return "thought";
  return skipUnclosed && !isClosed ? "unclosed" : undefined;
}
