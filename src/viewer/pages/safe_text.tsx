import type { Child, FC } from "hono/jsx";
import { codeTokens } from "../code_tokens.ts";

/**
 * Characters that are not shown as themselves: controls, those that change the direction of text or hide it, and half
 * surrogates. A terminal or a browser could be misled by them.
 */
const HIDDEN = // deno-lint-ignore no-control-regex
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Cs}/gu;

/** Characters of a text that a page shows. */
export const SHOWN_CHARACTERS = 20_000;
/** Characters of a text that a page shows on request. */
export const MOST_CHARACTERS = 400_000;

/** Text of a model or a file. It is never markup, and hidden characters are shown by their codes. */
export const SafeText: FC<{ text: string; limit?: number | undefined }> = (
  { text, limit = SHOWN_CHARACTERS },
) => (
  <>
    {visiblePieces(text.length > limit ? text.slice(0, limit) : text)}
    <Remainder text={text} limit={limit} />
  </>
);

/** Says how much of a text is left out. */
const Remainder: FC<{ text: string; limit: number }> = ({ text, limit }) =>
  text.length > limit
    ? <span class="more">… {(text.length - limit).toLocaleString("en")} more characters</span>
    : null;

/** Code with colours. */
export const Code: FC<{ code: string; language: string; limit?: number | undefined }> = (
  { code, language, limit = SHOWN_CHARACTERS },
) => (
  <pre
    class="code"
    tabindex={0}
    role="region"
    aria-label={`Code${language ? `: ${language.slice(0, 20)}` : ""}`}
  ><code>
    {codeTokens(code.slice(0, limit), language).map(({ kind, text }) =>
      kind === "plain" ? <>{visiblePieces(text)}</> : <span class={`c-${kind}`}>{visiblePieces(text)}</span>
    )}
    <Remainder text={code} limit={limit} />
  </code></pre>
);

/** Returns the text with its hidden characters as marked codes. */
function visiblePieces(text: string): Child[] {
  const pieces: Child[] = [];
  let from = 0;
  for (const { index, 0: character } of text.matchAll(HIDDEN)) {
    if (index > from) pieces.push(text.slice(from, index));
    pieces.push(<span class="hidden-char">{codeOf(character)}</span>);
    from = index + character.length;
  }
  if (from < text.length) pieces.push(text.slice(from));
  return pieces;
}

/** Returns a name for use in a title or a label: one line without hidden characters. */
export function plainLabel(text: string, limit = 120): string {
  const shown = text.slice(0, limit).replace(HIDDEN, codeOf).replace(/\s+/g, " ");
  return text.length > limit ? `${shown}…` : shown;
}

function codeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u${code.length > 4 ? `{${code}}` : code}`;
}

/** A part of a text: prose, or code between fences of three backticks. */
export interface TextPart {
  readonly text: string;
  /** Language of the code; undefined for prose. */
  readonly language?: string;
}

/** Splits a text at its code fences. A fence that is not closed ends with the text. */
export function splitFences(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let prose: string[] = [];
  let code: { fence: string; language: string; lines: string[] } | undefined;
  const flush = () => {
    if (code) parts.push({ text: code.lines.join("\n"), language: code.language });
    else if (prose.length > 0) parts.push({ text: prose.join("\n") });
    prose = [];
  };
  for (const line of text.split("\n")) {
    const fence = /^ {0,3}(`{3,})([^`\s]*)/.exec(line);
    if (code && fence?.[2] === "" && (fence[1]?.length ?? 0) >= code.fence.length) {
      flush();
      code = undefined;
    } else if (!code && fence) {
      flush();
      code = { fence: fence[1] ?? "", language: fence[2] ?? "", lines: [] };
    } else (code?.lines ?? prose).push(line);
  }
  flush();
  return parts;
}
