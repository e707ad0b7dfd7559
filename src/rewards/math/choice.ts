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
  /(?<![A-Za-z])(?:\([A-J]\)|[A-J][).:])|(?:(?<![a-z])(?:or|and)|,)[\s$\\{}(a-z]{0,12}[A-J](?![A-Za-z])/;

/** A letter alone, without typesetting: `A`, `(A)`, `A.`. */
const LETTER = /^(?:\(\s?([A-J])\s?\)|([A-J]))[.):]?$/;
/** Two letters in a row, without typesetting: `(A) B`, `A (B)`. */
const TWO_LETTERS = /^\(?\s?([A-J])\s?[).:]*(?:\s|,|=|\(){0,3}([A-J])\s?[).:]*$/;
const LEAD = /^(?:the )?(?:correct )?(?:answer|option|choice)(?: is)?[\s:]{0,3}(?=\(?[A-J](?![a-zA-Z]))/i;
const TYPESETTING = /\\(?:text|math)?(?:bf|rm|it|sf|tt|normal)?(?![a-zA-Z])|\\(?:mbox|boxed|fbox)|[{}$~*]/g;

/** Returns the choice of an answer; `undefined` if it has no letter, or nothing after the letter. */
function choiceOf(answer: string): Choice | undefined {
  const lettered = letteredOf(answer);
  return lettered === undefined || lettered.text === "" || ANOTHER.test(lettered.text) ? undefined : lettered;
}

/** Returns the letter that an answer begins with, and the rest, which may name other letters. */
function letteredOf(answer: string): Choice | undefined {
  const text = answer.trim().replace(/^\$([^$]*)\$$/, "$1").trim();
  const inside = WRAPPED.exec(text)?.[1];
  if (inside !== undefined) return inside.startsWith("\\") ? undefined : plainChoice(inside.trim());
  const [, inBrackets, bare, rest = ""] = SET_APART.exec(text) ?? [];
  const letter = inBrackets ?? bare;
  return letter === undefined ? plainChoice(text) : { letter, text: rest.replace(SPACES, "").trim() };
}

function plainChoice(answer: string): Choice | undefined {
  const [, inBrackets, bare, rest = ""] = PLAIN.exec(answer) ?? [];
  const letter = inBrackets ?? bare;
  const text = rest.replace(SPACES, "").trim();
  return letter === undefined || OPERATOR.test(text) || PREDICATE.test(text) ? undefined : { letter, text };
}

function withoutTypesetting(answer: string): string {
  const text = answer.replace(/\\[ ,;:!]|\\q?quad(?![a-zA-Z])/g, " ").replace(TYPESETTING, " ");
  return text.replace(/\s+/g, " ").trim().replace(LEAD, "");
}

/** Returns the letter of an answer that is a letter alone. */
function letterOf(answer: string): string | undefined {
  const [, inBrackets, bare] = LETTER.exec(withoutTypesetting(answer)) ?? [];
  return inBrackets ?? bare;
}

/** Returns true if an answer names several letters, as `(A) B` and `\textbf{(A)}\ 7, (B)`. */
function isHedge(answer: string): boolean {
  const [, first, second] = TWO_LETTERS.exec(withoutTypesetting(answer)) ?? [];
  if (first !== undefined) return first !== second;
  const lettered = letteredOf(answer);
  return lettered !== undefined && ANOTHER.test(lettered.text);
}

/**
 * Returns whether two answers are the same choice; `undefined` if neither is a choice with a text. Letter and text
 * both have to be the same where both answers have them; else the letter or the text is enough. Where a letter is
 * expected, only the letter of the reply counts: `(A) B` is neither A nor B.
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
  if (second !== undefined) {
    return isLetter(given, second.letter, isSame) ||
      (letterOf(second.text) === undefined && isSame(given, second.text));
  }
  const expected = letterOf(truth);
  if (expected !== undefined && (first !== undefined || letterOf(given) !== undefined || isHedge(given))) {
    return isLetter(given, expected, isSame);
  }
  return first && (isSame(first.letter, truth) || isSame(first.text, truth));
}

function isLetter(
  given: string,
  expected: string,
  isSame: (given: string, truth: string) => boolean,
): boolean {
  if (isHedge(given)) return false;
  return letterOf(given) === expected || isSame(choiceOf(given)?.letter ?? given, expected);
}
