import { type GnuCommand, readInputs } from "../command.ts";
import { fail, quoted } from "../files/operands.ts";
import { parseOptions } from "../options.ts";

const SHORT = 70 ** 2 * 10;
const LINE_COST = SHORT;
const [SENTENCE_BONUS, NO_BREAK_COST, PAREN_BONUS, PUNCTUATION_BONUS] = [50 ** 2, 600 ** 2, 40 ** 2, 40 ** 2];
const [WIDOW_COST, ORPHAN_COST] = [200 ** 2, 150 ** 2];

interface Word {
  readonly text: string;
  /** Spaces behind the word. */
  readonly space: number;
  readonly isOpening: boolean;
  readonly isPunctuated: boolean;
  readonly isPeriod: boolean;
  readonly isFinal: boolean;
}

/** `fmt` of GNU coreutils 9.1, which breaks the lines of paragraphs where they look best. */
export const fmt: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "c,crown-margin:p,prefix=:s,split-only:t,tagged-paragraph:u,uniform-spacing:w,width=:g,goal=",
    { rewrite: (word) => /^-\d+$/.test(word) ? ["-w", word.slice(1)] : undefined },
  );
  for (const name of ["c", "t", "p"]) {
    if (options.has(name)) fail(`the option -${name} is not available in the sandbox`);
  }
  const width = Number(options.value("w") ?? 75);
  if (!(Number.isInteger(width) && width >= 0 && width <= 2500)) {
    fail(`invalid width: ${quoted(options.value("w") ?? "")}`);
  }
  const goal = options.has("g") ? Number(options.value("g")) : Math.floor(width * (2 * (100 - 7) + 1) / 200);
  const { inputs, failed } = readInputs(options.operands, context);
  for (const { text } of inputs) {
    for (const paragraph of paragraphsOf(text, options.has("s"))) {
      context.poll();
      if (typeof paragraph === "string") context.print(paragraph);
      else context.print(format(paragraph, { width, goal, isUniform: options.has("u") }));
    }
  }
  return failed ? 1 : 0;
};

interface Paragraph {
  readonly indent: number;
  readonly lines: readonly string[];
}

/** Splits text into paragraphs, which have the same indentation in all lines, and blank lines. */
function* paragraphsOf(text: string, isSplit: boolean): Generator<Paragraph | string> {
  let current: { indent: number; lines: string[] } | undefined;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    if (text === "") return;
    const expanded = expand(line);
    if (expanded.trim() === "") {
      if (current) yield current;
      current = undefined;
      yield "\n";
      continue;
    }
    const indent = expanded.length - expanded.trimStart().length;
    if (current && (isSplit || current.indent !== indent)) {
      yield current;
      current = undefined;
    }
    current ??= { indent, lines: [] };
    current.lines.push(expanded.trim());
  }
  if (current) yield current;
}

function expand(line: string): string {
  let text = "";
  for (const sign of line) text += sign === "\t" ? " ".repeat(8 - text.length % 8) : sign;
  return text;
}

function wordsOf({ lines }: Paragraph, isUniform: boolean): Word[] {
  const words: Word[] = [];
  for (const line of lines) {
    const parts = [...line.matchAll(/(\S+)( *)/g)];
    for (const [at, [, text = "", spaces = ""]] of parts.entries()) {
      const isLast = at === parts.length - 1;
      const core = text.replace(/["')\]]+$/, "");
      const isPeriod = /[.?!]$/.test(core);
      const isFinal = isPeriod && (isLast || spaces.length > 1);
      const space = isLast || isUniform ? (isFinal ? 2 : 1) : spaces.length;
      words.push({
        text,
        space,
        isOpening: /^["'([`]/.test(text),
        isPunctuated: /[!-\/:-@[-`{-~]$/.test(text),
        isPeriod,
        isFinal,
      });
    }
  }
  const last = words.pop();
  return last ? [...words, { ...last, isPeriod: true, isFinal: true }] : [];
}

/** Breaks a paragraph into the lines of which the sum of costs is least. */
function format(
  paragraph: Paragraph,
  { width, goal, isUniform }: { width: number; goal: number; isUniform: boolean },
): string {
  const words = wordsOf(paragraph, isUniform);
  const { indent } = paragraph;
  const count = words.length;
  const best = Array<number>(count + 1).fill(0);
  const next = Array<number>(count + 1).fill(count);
  const length = Array<number>(count + 1).fill(0);
  for (let start = count - 1; start >= 0; start--) {
    best[start] = Infinity;
    let size = indent + (words[start]?.text.length ?? 0);
    for (let end = start + 1;; end++) {
      let cost = lineCost(end, size) + (best[end] ?? 0);
      if (start === 0) cost += 0;
      if (cost < (best[start] ?? Infinity)) {
        best[start] = cost;
        next[start] = end;
        length[start] = size;
      }
      if (end === count) break;
      size += (words[end - 1]?.space ?? 1) + (words[end]?.text.length ?? 0);
      if (size >= width) break;
    }
    best[start] = (best[start] ?? 0) + baseCost(start);
  }
  let text = "";
  for (let at = 0; at < count; at = next[at] ?? count) {
    const line = words.slice(at, next[at]);
    const body = line.map(({ text: word, space }, index) =>
      index === line.length - 1 ? word : word + " ".repeat(space)
    );
    text += `${" ".repeat(indent)}${body.join("")}\n`;
  }
  return text;

  function baseCost(at: number): number {
    const [word, before, second] = [words[at], words[at - 1], words[at - 2]];
    let cost = LINE_COST;
    if (before) {
      if (before.isPeriod) cost += before.isFinal ? -SENTENCE_BONUS : NO_BREAK_COST;
      else if (before.isPunctuated) cost -= PUNCTUATION_BONUS;
      else if (second?.isFinal) cost += Math.floor(WIDOW_COST / (before.text.length + 2));
    }
    if (word?.isOpening) cost -= PAREN_BONUS;
    else if (word?.isFinal) cost += Math.floor(ORPHAN_COST / (word.text.length + 2));
    return cost;
  }

  function lineCost(end: number, size: number): number {
    if (end === count) return 0;
    const short = (goal - size) * 10;
    let cost = short * short;
    if ((next[end] ?? count) !== count) {
      const ragged = (size - (length[end] ?? 0)) * 10;
      cost += Math.floor(ragged * ragged / 2);
    }
    return cost;
  }
}
