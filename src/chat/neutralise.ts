/** Put inside a control token it breaks it, and nobody sees it. */
const BREAK = "\u200b";

/** What {@linkcode neutraliser} makes harmless. */
export interface NeutraliserOptions {
  /** Texts that open, close or separate turns, wherever they stand. White space alone is left as it is. */
  controls: Iterable<string>;
  /** Words that, before a colon, open a turn at the start of a line. */
  speakers?: readonly string[] | undefined;
}

/**
 * Gives a function that makes text harmless in a rendered chat: behind it no control token is left, and no line
 * begins as a turn does. It puts a zero-width space (U+200B) behind the first character of each control token,
 * and before the colon of a speaker: `<|im_end|>` still reads so, yet is no longer that token.
 *
 * Text without control tokens comes out as it went in, and neutralised text stays as it is.
 */
export function neutraliser(options: NeutraliserOptions): (text: string) => string {
  const controls = [...new Set(options.controls)].filter((control) => control.trim() !== "");
  const single = controls.filter((control) => [...control].length === 1);
  const steps: ((text: string) => string)[] = [];
  if (single.length > 0) steps.push((text) => text.replace(new RegExp(oneOf(single), "gu"), "\ufffd"));
  const long = controls.filter((control) => !single.includes(control));
  // Only looked ahead at, so that tokens which overlap are each broken.
  const start = new RegExp(`(?=${oneOf(long)})[^]`, "gu");
  if (long.length > 0) steps.push((text) => text.replace(start, `$&${BREAK}`));
  const { speakers = [] } = options;
  const line = new RegExp(`(?<=^|[${LINE_ENDS}])([^\\S${LINE_ENDS}]*(?:${oneOf(speakers)}))(?=\\s*:)`, "giu");
  if (speakers.length > 0) steps.push((text) => text.replace(line, `$1${BREAK}`));
  return (text) => steps.reduce((changed, step) => step(changed), text);
}

/** All that starts a new line somewhere. */
const LINE_ENDS = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029";

function oneOf(texts: readonly string[]): string {
  return `(?:${texts.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("|")})`;
}
