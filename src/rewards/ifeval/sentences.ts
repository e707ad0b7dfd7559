/**
 * Sentence marks with their closing quotes and brackets, before white space or the end. A run of marks is
 * matched only from the start, to keep long runs linear.
 */
const END = /(?:(?<![.?!…])[.?!…]+["'”’»)\]}*_]*(?=\s|$)|[。！？।॥۔؟]["'”’»)\]}」』]*)/gu;
/** Abbreviations that never end a sentence, because a name or a number follows. */
const TITLES = words(
  "mr mrs ms messrs mme dr drs prof st mt ft gen col maj capt cmdr lt sgt cpl adm gov sen rep " +
    "rev hon pres supt fr sr vs cf fig figs nos vol vols pp ca approx e.g i.e viz al",
);
/** Abbreviations that end a sentence only before a word that starts sentences. */
const SHORT = words(
  "jr inc co corp ltd bros etc a.m p.m u.s u.k u.n e.u d.c b.c a.d ph.d m.d b.a m.a dept est " +
    "ave blvd rd jan feb apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri",
);
const STARTERS = words(
  "the a an this that these those it he she they we i you there here his her its their our my " +
    "your but and so or yet if when while after before although though because since as at by for from in on to " +
    "with however moreover therefore then what who why how where which not no now one some many most all each both",
);

/**
 * Counts the sentences of a text. A sentence ends at `.`, `?` or `!` before white space, unless the full
 * stop belongs to an abbreviation, an initial, or an ellipsis before a lower-case letter. Other scripts have
 * their own marks. Words after the last end count as a sentence, and so does the `1.` of a list, as in
 * NLTK's splitter.
 *
 * Abbreviations are English; a rare abbreviation ends a sentence.
 */
export function countSentences(text: string): number {
  let sentences = 0;
  let start = 0;
  for (const { index, 0: mark } of text.matchAll(END)) {
    const end = index + mark.length;
    if (!endsSentence(text.slice(start, index), mark, text.slice(end, end + 60))) continue;
    sentences++;
    start = end;
  }
  return /[\p{L}\p{N}]/u.test(text.slice(start)) ? sentences + 1 : sentences;
}

function endsSentence(before: string, mark: string, after: string): boolean {
  if (!/^(?:\.+|…)/.test(mark) || /[?!]/.test(mark)) return true;
  const next = /^\s+["'“‘(*_]*([\p{L}\p{N}]*)/u.exec(after)?.[1] ?? "";
  if (/^(?:\.{2,}|…)/.test(mark)) return !/^\p{Ll}/u.test(next);
  const last = /[\p{L}\p{N}.]{0,20}$/u.exec(before.slice(-40))?.[0] ?? "";
  const isInitial = /^\p{Lu}$/u.test(last);
  const word = last.toLowerCase();
  if (TITLES.has(word) || (word === "no" && /^\d/.test(next))) return false;
  if (!isInitial && !SHORT.has(word)) return true;
  return /^\p{Lu}/u.test(next) && STARTERS.has(next.toLowerCase());
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

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
