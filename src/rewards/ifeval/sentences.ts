/**
 * Terminators with the quotes and brackets that belong to them, before white space or the end. A run of them is
 * read from its beginning alone, so that a long one takes no longer than it must.
 */
const END = /(?:(?<![.?!…])[.?!…]+["'”’»)\]}*_]*(?=\s|$)|[。！？।॥۔؟]["'”’»)\]}」』]*)/gu;
/** Never the end of a sentence: what they stand before is a name or a number. */
const TITLES = words(
  "mr mrs ms messrs mme dr drs prof st mt ft gen col maj capt cmdr lt sgt cpl adm gov sen rep " +
    "rev hon pres supt fr sr vs cf fig figs nos vol vols pp ca approx e.g i.e viz al",
);
/** The end of a sentence only before a word that begins sentences. */
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
 * How many sentences a text has. A sentence ends at `.`, `?` or `!` before white space, unless the full stop
 * belongs to an abbreviation, an initial, or dots that a small letter follows; in other scripts it ends at their
 * own marks. Words after the last end count too, and so does the `1.` of a list, as in NLTK's splitter.
 *
 * Abbreviations are those of English; a rare one ends a sentence.
 */
export function countSentences(text: string): number {
  let sentences = 0;
  let start = 0;
  for (const { index, 0: mark } of text.matchAll(END)) {
    const end = index + mark.length;
    if (!ends(text.slice(start, index), mark, text.slice(end, end + 60))) continue;
    sentences++;
    start = end;
  }
  return /[\p{L}\p{N}]/u.test(text.slice(start)) ? sentences + 1 : sentences;
}

function ends(before: string, mark: string, after: string): boolean {
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
