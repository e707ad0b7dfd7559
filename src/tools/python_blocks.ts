import { type CodeBlock, codeBlocks } from "./code_blocks/code_blocks.ts";

/**
 * Returns the Python programs in a message: its blocks whose tag names Python, in any case, such as `python`, `py`,
 * `python3.11`, `{.python}`, `ipython` and `tool_code`, and those of the tags `<python>` and `<tool_code>`.
 *
 * Blocks in quotes of Markdown and in thoughts count, blocks inside of other blocks and of results of tools do not.
 * {@linkcode findPrograms} returns those that run. Fences are ``` or ~~~. A ``` inside a Python string or comment does
 * not close a block; one after code on the same line does. A last block without a closing fence counts. Line ends
 * become `\n`, and the last one is removed.
 */
export function pythonBlocks(text: string): string[] {
  return codeBlocks(text)
    .filter(({ language, place }) => language === "python" && (place === undefined || place === "quote"))
    .map(({ code }) => code);
}

/** Options of {@linkcode findPrograms}. */
export interface FindProgramsOptions {
  /**
   * If true, blocks without a tag, and `<code>`, are programs.
   * @default false
   */
  runUnlabeled?: boolean | undefined;
  /**
   * If true, blocks inside `<think>` are programs, as in TorchRL.
   * @default false
   */
  runThoughts?: boolean | undefined;
  /**
   * If true, a block without an end is no program: a limit has cut the reply inside the block.
   * @default false
   */
  skipUnclosed?: boolean | undefined;
}

/**
 * Why a block was not run: its tag is another language (`language`) or it has none (`unlabeled`), it is a transcript of
 * an interactive session (`transcript`), it stands inside another block (`block`), a quote (`quote`), results of tools
 * (`output`) or a thought (`thought`), or a limit cut the reply inside it (`unclosed`).
 */
export type NotRunReason =
  | "language"
  | "unlabeled"
  | "transcript"
  | "block"
  | "quote"
  | "output"
  | "thought"
  | "unclosed";

/** Blocks of one reply that were not run, with the same tag and reason. */
export interface BlocksNotRun {
  readonly reason: NotRunReason;
  /** Tag as written, in lower case; empty if there is none. */
  readonly tag: string;
  readonly count: number;
}

/** Programs of a reply, and its blocks that do not run. */
export interface FoundPrograms {
  readonly programs: readonly string[];
  /** At most 16; further tags are counted under the tag `…`. */
  readonly notRun: readonly BlocksNotRun[];
}

const MAX_NOT_RUN = 16;
/** Tag of the blocks whose own tags would exceed the limit. */
const FURTHER_TAGS = "…";

/**
 * Returns the programs of a reply that an interpreter runs, and the blocks that it does not run with the reasons. Blocks
 * of Python outside of other blocks, quotes, results of tools and thoughts are programs.
 */
export function findPrograms(text: string, options: FindProgramsOptions = {}): FoundPrograms {
  const programs: string[] = [];
  const notRun = new Map<string, BlocksNotRun>();
  for (const block of codeBlocks(text)) {
    const reason = reasonNotToRun(block, options);
    if (reason === undefined) programs.push(block.code);
    else count(notRun, { reason, tag: block.tag.toLowerCase() });
  }
  return { programs, notRun: [...notRun.values()] };
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

function count(counted: Map<string, BlocksNotRun>, { reason, tag }: Omit<BlocksNotRun, "count">): void {
  const key = `${reason} ${tag}`;
  const kept = counted.has(key) || counted.size < MAX_NOT_RUN - 1 ? tag : FURTHER_TAGS;
  const found = kept === tag ? key : FURTHER_TAGS;
  counted.set(found, { reason, tag: kept, count: (counted.get(found)?.count ?? 0) + 1 });
}
