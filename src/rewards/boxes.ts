const BOX = /\\(?:boxed|fbox)\s*\{/y;
/** A box without braces, up to the next white space. A word after `\boxed` is prose about boxes. */
const BARE =
  /\\(?:boxed|fbox)(?![a-zA-Z])\s*(?![a-zA-Z]{2})((?:(?!\\(?:boxed|fbox))\\[a-zA-Z]+|[^\s$\\{}]|\{[^{}]*\}){1,200})/y;
const BEGINNING = /\\(?:boxed|fbox)(?![a-zA-Z])/;
const BEGINNING_AT = /\\(?:boxed|fbox)(?![a-zA-Z])\s*(\{)?/y;

/** Returns true if a text has a box, including an unreadable box. */
export function hasBox(text: string): boolean {
  return BEGINNING.test(text);
}

interface Box {
  /** Range of the content. */
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the content of the last balanced `\boxed{…}` of a text, or of a later `\boxed 2`; `undefined` if
 * there is none.
 */
export function findLastBoxed(text: string): string | undefined {
  const last = findBoxes(text).at(-1);
  return last && text.slice(last.start, last.end).trim();
}

/** Text between two boxes that belong together. */
const JOINT =
  /^\}?[\s$]{0,5}(?:[a-z]{2,20}\s(?=and|or))?(?:\\[)\]\s(]|\\q?quad|\\text\s?\{[^{}]{0,40}\}|,|and|or|[\s$]){0,9}(?:[a-zA-Z](?:_\{?\w\}?)?\s?=\s?)?\\(?:boxed|fbox)\s?\{?$/;
/** Maximum length of such a text, in characters. */
const MAX_JOINT = 100;
const FINAL_ANSWER = /final answer is/i;

/** Returns the contents of the last boxes that are joined by `,`, `and` or the like, with commas. */
export function findJoinedBoxes(text: string): string | undefined {
  const boxes = findBoxes(text);
  let first = boxes.length - 1;
  const last = boxes[first];
  if (last === undefined || FINAL_ANSWER.test(text.slice(last.end))) return undefined;
  for (; first > 0; first--) {
    const between = text.slice(boxes[first - 1]?.end, boxes[first]?.start);
    if (between.length > MAX_JOINT || !JOINT.test(between)) break;
  }
  return [...new Set(boxes.slice(first).map(({ start, end }) => text.slice(start, end).trim()))].join(", ");
}

/**
 * Returns true if the last box of a text is not closed, as in a reply that a limit has cut: `\boxed{5` may be the
 * beginning of `\boxed{57}`.
 */
export function endsInBox(text: string): boolean {
  const last = Math.max(text.lastIndexOf("\\boxed"), text.lastIndexOf("\\fbox"));
  if (last < 0) return false;
  BEGINNING_AT.lastIndex = last;
  const opened = BEGINNING_AT.exec(text);
  if (opened === null) return false;
  const start = BEGINNING_AT.lastIndex;
  if (opened[1] === undefined) return start === text.length;
  let open = 1;
  for (let at = start; at < text.length && open > 0; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "{") open++;
    else if (text[at] === "}") open--;
  }
  return open > 0;
}

/** Returns the balanced boxes of a text that are in no other box, in order. */
function findBoxes(text: string): Box[] {
  const open: { readonly start: number; readonly isBox: boolean }[] = [];
  const found: Box[] = [];
  for (let at = startOfBoxes(text); at < text.length; at++) {
    const mayBegin = text[at] === "\\" &&
      (text.startsWith("boxed", at + 1) || text.startsWith("fbox", at + 1));
    BOX.lastIndex = at;
    const box = mayBegin ? BOX.exec(text) : null;
    if (box !== null) at = BOX.lastIndex - 1;
    BARE.lastIndex = at;
    const bare = mayBegin && box === null ? BARE.exec(text) : null;
    if (bare !== null) found.push({ start: BARE.lastIndex - (bare[1]?.length ?? 0), end: BARE.lastIndex });
    if (box !== null || text[at] === "{") {
      open.push({ start: at + 1, isBox: box !== null });
    } else if (text[at] === "\\") {
      at++; // `\{` and `\}` are literal braces
    } else if (text[at] === "}") {
      const closed = open.pop();
      if (closed?.isBox && closed.start > (found.at(-1)?.start ?? -1)) {
        found.push({ start: closed.start, end: at });
      }
    }
  }
  return found;
}

/** Returns the index of the first box, or of the preceding backslashes, each of which may escape the next. */
function startOfBoxes(text: string): number {
  const starts = [text.indexOf("\\boxed"), text.indexOf("\\fbox")].filter((start) => start >= 0);
  if (starts.length === 0) return text.length;
  let at = Math.min(...starts);
  while (text[at - 1] === "\\") at--;
  return at;
}
