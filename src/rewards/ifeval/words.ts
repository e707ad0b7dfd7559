/** Letters with the marks that belong to them, digits, and what joins them. */
const WORD = /[\p{L}\p{M}\p{N}\p{Pc}]+/gu;
/** What stands apart from words, as the Penn Treebank has it. */
const APART = /[*,;:@#$%&?!"“”()[\]{}<>]|--|\.{3}/g;
const CLITIC = /([^'\s])('(?:s|m|d|ll|re|ve)|n't)(?=\s|$)/gi;
const MERGED = /\b(can)(not)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b|\b(gim|lem)(me)\b/gi;

/** How many runs of letters, digits and underscores a text has. */
export function countWords(text: string): number {
  return text.match(WORD)?.length ?? 0;
}

/** How many words of a text are all capitals, each part of `DON'T` and of `CANNOT` for itself. */
export function countCapitalWords(text: string): number {
  const parted = text.replace(APART, " ").replace(CLITIC, "$1 $2")
    .replace(MERGED, (whole) => `${whole.slice(0, 3)} ${whole.slice(3)}`);
  return parted.split(/\s+/).filter(isUpperCase).length;
}

/** Whether a text has letters with cases, and all of them are capitals. */
export function isUpperCase(text: string): boolean {
  return /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
}

/** Whether a text has letters with cases, and none of them is a capital. */
export function isLowerCase(text: string): boolean {
  return /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);
}
