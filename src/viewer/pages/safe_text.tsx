import { type Child, createContext, type FC, useContext } from "hono/jsx";
import { codeTokens } from "../code_tokens.ts";
import { formatNumber } from "./format.ts";

/**
 * Runs of characters that are not shown as themselves: controls, those that change the direction of text or are not
 * visible, and half surrogates. A terminal or a reader could be misled by them. Joiners and selectors are parts of
 * words and emoji, but more than two in a row are not.
 */
const HIDDEN = // deno-lint-ignore no-control-regex
  /(?:(?![\u200c\u200d\ufe0e\ufe0f])[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\p{Cs}\p{Default_Ignorable_Code_Point}])+|[\u200c\u200d\ufe0e\ufe0f]{3,}/gu;

/** Characters of a text that a page shows. */
const SHOWN_CHARACTERS = 20_000;

/** Text that is marked: the text of the search from which a page was opened. */
export const MarkedText = createContext<string | undefined>(undefined);

/** Text of a model or a file, never markup. Hidden characters are shown by their codes. */
export const SafeText: FC<{ text: string; limit?: number | undefined }> = (
  { text, limit = SHOWN_CHARACTERS },
) => (
  <>
    <Visible text={text.length > limit ? text.slice(0, limit) : text} />
    <Remainder text={text} limit={limit} />
  </>
);

/** Says how much of a text is left out. */
const Remainder: FC<{ text: string; limit: number }> = ({ text, limit }) =>
  text.length > limit
    ? <span class="more">{`… ${formatNumber(text.length - limit)} more characters`}</span>
    : null;

/** Code with colours; without colours if the code has the marked text, which may span several tokens. */
export const Code: FC<{ code: string; language: string; limit?: number | undefined }> = (
  { code, language, limit = SHOWN_CHARACTERS },
) => {
  const marked = useContext(MarkedText);
  const shown = code.slice(0, limit);
  const isMarked = marked !== undefined && shown.includes(marked);
  return (
    <pre
      class="code"
      tabindex={0}
      role="group"
      aria-label={language === "" ? "Code" : `Code: ${plainLabel(language, 20)}`}
    ><code>
      {codeTokens(shown, isMarked ? "" : language).map(({ kind, text }) =>
        kind === "plain" ? <Visible text={text} /> : <span class={`c-${kind}`}><Visible text={text} /></span>
      )}
      <Remainder text={code} limit={limit} />
    </code></pre>
  );
};

/** Places of a text that are marked. */
const MAX_MARKS = 500;

/** Text with hidden characters as codes, and with the searched text marked. */
const Visible: FC<{ text: string }> = ({ text }) => {
  const marked = useContext(MarkedText);
  const pieces: Child[] = [];
  let from = 0;
  for (let marks = 0; marked !== undefined && marks < MAX_MARKS; marks++) {
    const at = text.indexOf(marked, from);
    if (at === -1) break;
    pieces.push(visiblePieces(text.slice(from, at)), <mark>{visiblePieces(marked)}</mark>);
    from = at + marked.length;
  }
  return <>{pieces}{visiblePieces(text.slice(from))}</>;
};

/** Returns the text with each run of hidden characters as codes. */
function visiblePieces(text: string): Child[] {
  const pieces: Child[] = [];
  let from = 0;
  for (const { index, 0: characters } of text.matchAll(HIDDEN)) {
    if (index > from) pieces.push(text.slice(from, index));
    pieces.push(<span class="hidden-char">{codesOf(characters)}</span>);
    from = index + characters.length;
  }
  if (from < text.length) pieces.push(text.slice(from));
  return pieces;
}

/** Returns a name for use in a title or a label: a line without hidden characters. */
export function plainLabel(text: string, limit = 120): string {
  const shown = text.slice(0, limit).replace(HIDDEN, codesOf).replace(/\s+/g, " ");
  return text.length > limit ? `${shown}…` : shown;
}

function codesOf(characters: string): string {
  return Array.from(characters, codeOf).join("");
}

function codeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return `\\u${code.length > 4 ? `{${code}}` : code.padStart(4, "0")}`;
}

/**
 * Splits a reply into the reasoning in the leading `<think>` block and the rest. An unclosed block is the whole reply.
 */
export function splitReasoning(text: string): { reasoning: string | undefined; rest: string } {
  const start = /^\s*<think>\n?/.exec(text)?.[0];
  if (start === undefined) return { reasoning: undefined, rest: text };
  const end = text.indexOf("</think>", start.length);
  return end === -1
    ? { reasoning: text.slice(start.length), rest: "" }
    : { reasoning: text.slice(start.length, end), rest: text.slice(end + "</think>".length).trimStart() };
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
