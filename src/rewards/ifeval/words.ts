/** Letters with their combining marks, digits and connectors. */
const WORD = /[\p{L}\p{M}\p{N}\p{Pc}]+/gu;
/** Characters that the Penn Treebank tokenizer separates from words. */
const SEPARATED = /[*,;:@#$%&?!"“”()[\]{}<>]|--|\.{3}/g;
const CLITIC = /([^'\s])('(?:s|m|d|ll|re|ve)|n't)(?=\s|$)/gi;
const MERGED = /\b(can)(not)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b|\b(gim|lem)(me)\b/gi;

/** Counts runs of letters, digits and underscores. */
export function countWords(text: string): number {
  return text.match(WORD)?.length ?? 0;
}

/** Counts words in capitals. Each part of `DON'T` and of `CANNOT` counts. */
export function countCapitalWords(text: string): number {
  const separated = text.replace(SEPARATED, " ").replace(CLITIC, "$1 $2")
    .replace(MERGED, (match) => `${match.slice(0, 3)} ${match.slice(3)}`);
  return separated.split(/\s+/).filter(isUpperCase).length;
}

/** Returns true if a text has cased letters and all of them are capitals. */
export function isUpperCase(text: string): boolean {
  return /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
}

/** Returns true if a text has cased letters and none of them is a capital. */
export function isLowerCase(text: string): boolean {
  return /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);
}
