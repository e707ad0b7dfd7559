/** A choice letter with the text of the choice, as `\textbf{(C)}\ 12`. */
export interface Choice {
  readonly letter: string;
  readonly text: string;
}

/** `\textbf{(C)}\ 12`, `\text{C.} 12`. */
const SET_APART =
  /^\\(?:text|textbf|textrm|textit|mathrm|mathbf|mbox)\s?\{\s?(?:\(\s?([A-J])\s?\)|([A-J])[).:])[.:]?\s?\}(.*)$/s;
/** `(C) 12`, `C. 12`, `C) 12`, where the text begins like a number, a formula or a word. */
const PLAIN = /^(?:\(([A-J])\)|([A-J])(?:[.)]|:(?=\s)))(?=\s|\\[ a-z,;]|~)(.*)$/s;
/** `\text{(C) 12}`. */
const WRAPPED = /^\\(?:text|textbf|textrm|textit|mathrm|mathbf|mbox)\s?\{([^{}]*)\}$/;
const SPACES = /^(?:\s|\\[ ,;:]|\\q?quad(?![a-zA-Z])|~|:)+/;
/** An operator after `(C)`, which is then a name in a formula. */
const OPERATOR =
  /^(?:[+*/^=<>&|,!]|-\s|\\(?:cup|cap|cdot|times|div|pm|setminus|subset|le|ge|ne|lt|gt|to|in)(?![a-zA-Z]))/;
/** Words after a letter that say something about it, as `(C) is wrong`. */
const PREDICATE = /^(?:is|isn['’]t|was|wasn['’]t|are|cannot|can['’]t|not|or|and)(?![a-zA-Z])/i;
/** Another letter, as in `(C) 12 or (D) 13`. */
const ANOTHER =
  /(?<![A-Za-z])(?:\([A-J]\)|[A-J][).:])|(?:(?<![a-z])(?:or|and)|,)[\s$\\{(a-z]{0,12}[A-J](?![A-Za-z])/;

/** Returns the choice of an answer; `undefined` if it has no letter, or nothing after the letter. */
export function choiceOf(answer: string): Choice | undefined {
  const text = answer.trim().replace(/^\$([^$]*)\$$/, "$1").trim();
  const inside = WRAPPED.exec(text)?.[1];
  if (inside !== undefined) return inside.startsWith("\\") ? undefined : plainChoice(inside.trim());
  const [, inBrackets, bare, rest = ""] = SET_APART.exec(text) ?? [];
  const letter = inBrackets ?? bare;
  return letter === undefined ? plainChoice(text) : choiceWith(letter, rest);
}

function plainChoice(text: string): Choice | undefined {
  const [, inBrackets, bare, rest = ""] = PLAIN.exec(text) ?? [];
  const letter = inBrackets ?? bare;
  const content = rest.replace(SPACES, "");
  return letter === undefined || OPERATOR.test(content) || PREDICATE.test(content)
    ? undefined
    : choiceWith(letter, rest);
}

function choiceWith(letter: string, rest: string): Choice | undefined {
  const text = rest.replace(SPACES, "").trim();
  return text === "" || ANOTHER.test(text) ? undefined : { letter, text };
}

/**
 * Returns whether two answers are the same choice; `undefined` if neither is a choice with a text. Letter and text both have to
 * be the same where both answers have them; else the letter or the text is enough.
 */
export function isSameChoice(
  given: string,
  truth: string,
  isSame: (given: string, truth: string) => boolean,
): boolean | undefined {
  const [first, second] = [choiceOf(given), choiceOf(truth)];
  if (first !== undefined && second !== undefined) {
    return first.letter === second.letter && isSame(first.text, second.text);
  }
  if (first !== undefined) return isSame(first.letter, truth) || isSame(first.text, truth);
  if (second !== undefined) return isSame(given, second.letter) || isSame(given, second.text);
  return undefined;
}
