import { ARABIC, CYRILLIC, DEVANAGARI, LATIN, type Profile } from "./common_words.ts";

type Group = Readonly<Record<string, Profile>>;

/** A script with its one language, or those that it is shared by. */
const SCRIPTS: readonly { readonly letters: RegExp; readonly language: string | Group }[] = [
  { letters: /\p{Script=Latin}/gu, language: LATIN },
  { letters: /\p{Script=Cyrillic}/gu, language: CYRILLIC },
  { letters: /\p{Script=Arabic}/gu, language: ARABIC },
  { letters: /\p{Script=Devanagari}/gu, language: DEVANAGARI },
  { letters: /\p{Script=Bengali}/gu, language: "bn" },
  { letters: /\p{Script=Gurmukhi}/gu, language: "pa" },
  { letters: /\p{Script=Gujarati}/gu, language: "gu" },
  { letters: /\p{Script=Tamil}/gu, language: "ta" },
  { letters: /\p{Script=Telugu}/gu, language: "te" },
  { letters: /\p{Script=Kannada}/gu, language: "kn" },
  { letters: /\p{Script=Malayalam}/gu, language: "ml" },
  { letters: /\p{Script=Thai}/gu, language: "th" },
  { letters: /\p{Script=Hangul}/gu, language: "ko" },
  { letters: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu, language: "ja" },
  { letters: /\p{Script=Han}/gu, language: "zh" },
  { letters: /\p{Script=Greek}/gu, language: "el" },
  { letters: /\p{Script=Hebrew}/gu, language: "he" },
];
/** Chinese characters also write Japanese: with this share of kana among them they do. */
const KANA_SHARE = 0.1;
/** What a letter that others do not have is worth, against a word; and a word of one letter, in any two languages. */
const LETTER_WEIGHT = 0.5;
const SHORT_WEIGHT = 0.25;
/** With less, nothing is told. */
const LEAST_SCORE = 0.5;

/** The codes of the languages that are told apart. */
export const KNOWN_LANGUAGES: ReadonlySet<string> = new Set(
  SCRIPTS.flatMap(({ language }) => typeof language === "string" ? [language] : Object.keys(language)),
);

/**
 * The language of a text as a code of ISO 639-1: that of the script of most of its letters, and among the languages
 * of one script the one with most common words. `undefined` when there are no letters; a text in Latin letters
 * without any known word counts as English.
 */
export function languageOf(text: string): string | undefined {
  const counts = SCRIPTS.map(({ letters, language }) => ({
    language,
    letters: text.match(letters)?.length ?? 0,
  }));
  const most = counts.reduce((most, next) => next.letters > most.letters ? next : most);
  if (most.letters === 0) return undefined;
  if (typeof most.language !== "string") return nearest(text, most.language);
  if (most.language !== "zh") return most.language;
  const kana = counts.find(({ language }) => language === "ja")?.letters ?? 0;
  return kana >= KANA_SHARE * most.letters ? "ja" : "zh";
}

/** The language of a group that a text is nearest to; its first one, or English, when nothing tells. */
function nearest(text: string, group: Group): string | undefined {
  const counts = wordCounts(text.toLowerCase());
  const [first] = Object.keys(group);
  let best = { language: first, score: LEAST_SCORE };
  for (const [language, profile] of Object.entries(group)) {
    const score = nearness(counts, profile);
    if (score > best.score) best = { language, score };
  }
  return best.language;
}

function wordCounts(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of text.matchAll(/[\p{L}\p{M}]+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function nearness(counts: ReadonlyMap<string, number>, { words, letters = "" }: Profile): number {
  const common = new Set(words.split(" "));
  const own = new Set(letters);
  let score = 0;
  for (const [word, count] of counts) {
    if (common.has(word)) score += count * (word.length === 1 ? SHORT_WEIGHT : 1);
    if (own.size > 0 && [...word].some((letter) => own.has(letter))) score += LETTER_WEIGHT * count;
  }
  return score;
}
