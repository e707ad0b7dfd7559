import type { JinjaTemplate } from "./chat_template.ts";

/** A zero-width space, which breaks a control token and is invisible. */
const BREAK = "\u200b";

/** Options of {@linkcode controlTokenEscaper}. */
export interface ControlTokenEscaperOptions {
  /** Texts that open, close or separate turns at any position. Texts of white space only are ignored. */
  controls: Iterable<string>;
  /** Words that open a turn when they are followed by a colon at the start of a line. */
  speakers?: readonly string[] | undefined;
  /** Separators of punctuation, with the white space around them. They are broken only beside such white space. */
  plain?: readonly string[] | undefined;
}

/**
 * Returns a function that makes text safe in a rendered chat: the result contains no control token, and no
 * line of the result opens a turn. The function inserts a zero-width space (U+200B) after the first character of each
 * control token and before the colon of a speaker, so `<|im_end|>` looks the same but is no longer that token. U+FFFD
 * replaces a control token of a single character.
 *
 * Text without control tokens is returned unchanged, and so is text that is already safe.
 */
export function controlTokenEscaper(options: ControlTokenEscaperOptions): (text: string) => string {
  const controls = [...new Set(options.controls)].filter((control) => control.trim() !== "");
  const single = controls.filter((control) => [...control].length === 1);
  const steps: ((text: string) => string)[] = [];
  if (single.length > 0) steps.push((text) => text.replace(new RegExp(oneOf(single), "gu"), "\ufffd"));
  const long = controls.filter((control) => !single.includes(control));
  // A lookahead matches overlapping tokens too, so that each of them is broken.
  const start = new RegExp(`(?=${oneOf(long)})[^]`, "gu");
  if (long.length > 0) steps.push((text) => text.replace(start, `$&${BREAK}`));
  for (const separator of options.plain ?? []) {
    const pattern = plainPattern(separator);
    // a single character without following white space is parted from the preceding white space
    const isLast = [...separator.trimStart()].length === 1;
    const broken = isLast ? `${BREAK}$1` : `$1${BREAK}`;
    steps.push((text) => text.replace(pattern, broken));
  }
  const { speakers = [] } = options;
  const line = new RegExp(`(?<=^|[${LINE_ENDS}])([^\\S${LINE_ENDS}]*(?:${oneOf(speakers)}))(?=\\s*:)`, "giu");
  if (speakers.length > 0) steps.push((text) => text.replace(line, `$1${BREAK}`));
  return (text) => steps.reduce((result, step) => step(result), text);
}

/** All characters that some program treats as the end of a line. */
const LINE_ENDS = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029";

/**
 * Matches a separator in the template's place: beside the same white space, or at the ends of the text, which other
 * white space of the template may follow.
 */
function plainPattern(separator: string): RegExp {
  const core = separator.trim();
  const [lead = "", trail = ""] = separator.split(core, 2).map((space) => RegExp.escape(space));
  const [first = "", ...rest] = [...core].map((character) => RegExp.escape(character));
  // the look behind comes after the first character; before, the engine would try it at each position of a long white
  // space
  return new RegExp(`(${first})(?<=(?:^\\s*|${lead})${first})(?=${rest.join("")}(?:${trail}|\\s*$))`, "gu");
}

function oneOf(texts: readonly string[]): string {
  return `(?:${texts.map((text) => RegExp.escape(text)).join("|")})`;
}

/** Texts that a template writes between turns and that are not special tokens. */
export interface TurnMarkers {
  /** Texts with other characters than letters, such as `[/INST]`. They mark a turn at any position. */
  readonly controls: readonly string[];
  /** Words that are followed by a colon. */
  readonly speakers: readonly string[];
  /** Separators of punctuation only, with their white space, such as ` -> `. */
  readonly plain: readonly string[];
}

const PLACEHOLDER = "\ue000";
const TALK = ["user", "assistant", "user"].map((role) => ({ role, content: PLACEHOLDER }));
const CHATS = [[{ role: "system", content: PLACEHOLDER }, ...TALK], TALK];
const NONE: TurnMarkers = { controls: [], speakers: [], plain: [] };

/**
 * Finds the texts that a template writes between turns, such as `[/INST]`, `### Response:` or `USER:`, by
 * rendering a small chat. Special tokens are excluded, and so are plain words, which mark a turn only next to
 * such tokens.
 *
 * @throws {TypeError} if turns are separated only by punctuation that stands directly beside the messages' texts: every
 * message could forge a turn.
 */
export function findTurnMarkers(
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
  specialTokens: readonly string[],
): TurnMarkers {
  const separators = findSeparators(template, variables);
  if (separators === undefined) return NONE;
  const markers = markersOf(separators, specialTokens);
  const bare = markers.plain.find((separator) => !/\s/.test(separator));
  if (bare === undefined) return markers;
  throw new TypeError(
    `Cannot use chat template '${template.name}' as it must write a word, a control token or white space between ` +
      `turns: found only '${bare}'`,
  );
}

function findSeparators(
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
): readonly string[] | undefined {
  for (const messages of CHATS) {
    try {
      return template.render({ messages, tools: null, ...variables }).split(PLACEHOLDER).slice(1, -1);
    } catch {
      // Some templates reject a system message, so the next chat has none.
    }
  }
  return undefined;
}

function markersOf(separators: readonly string[], specialTokens: readonly string[]): TurnMarkers {
  const isPlain = (separator: string) =>
    !hasWord(separator) && hasMark(separator) && !specialTokens.some((token) => separator.includes(token));
  const plain = [...new Set(separators.filter(isPlain))];
  const others = separators.filter((separator) => !isPlain(separator));
  const words = specialTokens.reduce((text, token) => text.replaceAll(token, "\n"), others.join("\n"));
  // a line of punctuation marks a turn only beside the words or tokens of the line's separator, which are broken
  const markers = words.split("\n").map((word) => word.trim()).filter((word) =>
    hasMark(word) && hasWord(word)
  );
  const speakers = markers.filter(isSpeaker);
  return {
    controls: markers.filter((word) => !speakers.includes(word)),
    speakers: speakers.map((word) => word.slice(0, -1).trim()),
    plain,
  };
}

// V8 takes a millisecond to compile each pattern of all letters, so texts of ASCII have patterns of their own.
const BEYOND_ASCII = /[^\0-\x7f]/;

function hasWord(text: string): boolean {
  return /[A-Za-z0-9]/.test(text) || (BEYOND_ASCII.test(text) && /[\p{L}\p{N}]/u.test(text));
}

/** True for a text with a character that is no letter, number or white space. */
function hasMark(text: string): boolean {
  return BEYOND_ASCII.test(text) ? /[^\p{L}\p{N}\s]/u.test(text) : /[^A-Za-z0-9\s]/.test(text);
}

function isSpeaker(text: string): boolean {
  if (!BEYOND_ASCII.test(text)) return /^[A-Za-z0-9][A-Za-z0-9_ -]*:$/.test(text);
  return /^[\p{L}\p{N}][\p{L}\p{N} _-]*:$/u.test(text);
}
