import { z } from "zod";
import { type Checkers, makeChecker } from "./checker.ts";
import { ARABIC, CYRILLIC, DEVANAGARI, type LanguageProfile, LATIN } from "./common_words.ts";

type Group = Readonly<Record<string, LanguageProfile>>;

/** Scripts, each with its only language or with the languages that share it. */
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
/** Share of kana above which Chinese characters count as Japanese. */
const KANA_SHARE = 0.1;
/**
 * Weight of a word with a letter that is unique to the language, and of a known word of one letter. A longer
 * known word counts 1.
 */
const LETTER_WEIGHT = 0.5;
const SHORT_WEIGHT = 0.25;
/** Minimum score to identify a language. */
const LEAST_SCORE = 0.5;

/** Codes of the supported languages. */
export const KNOWN_LANGUAGES: ReadonlySet<string> = new Set(
  SCRIPTS.flatMap(({ language }) => typeof language === "string" ? [language] : Object.keys(language)),
);

/**
 * Returns the language of a text as an ISO 639-1 code: that of the script of most letters, and among
 * languages that share a script the one with the most common words. Returns `undefined` if there are no
 * letters. Latin text without a known word counts as English.
 */
export function languageOf(text: string): string | undefined {
  const counts = SCRIPTS.map(({ letters, language }) => ({
    language,
    letters: text.match(letters)?.length ?? 0,
  }));
  const most = counts.reduce((most, next) => next.letters > most.letters ? next : most);
  if (most.letters === 0) return undefined;
  if (typeof most.language !== "string") return bestLanguage(text, most.language);
  if (most.language !== "zh") return most.language;
  const kana = counts.find(({ language }) => language === "ja")?.letters ?? 0;
  return kana >= KANA_SHARE * most.letters ? "ja" : "zh";
}

/** Returns the language of a group that fits a text best; its first one if no words are known. */
function bestLanguage(text: string, group: Group): string | undefined {
  const counts = wordCounts(text.toLowerCase());
  const [first] = Object.keys(group);
  let best = { language: first, score: LEAST_SCORE };
  for (const [language, profile] of Object.entries(group)) {
    const score = scoreLanguage(counts, profile);
    if (score > best.score) best = { language, score };
  }
  return best.language;
}

function wordCounts(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of text.matchAll(/[\p{L}\p{M}]+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function scoreLanguage(
  counts: ReadonlyMap<string, number>,
  { words, letters = "" }: LanguageProfile,
): number {
  const common = new Set(words.split(" "));
  const own = new Set(letters);
  let score = 0;
  for (const [word, count] of counts) {
    if (common.has(word)) score += count * (word.length === 1 ? SHORT_WEIGHT : 1);
    if (own.size > 0 && [...word].some((letter) => own.has(letter))) score += LETTER_WEIGHT * count;
  }
  return score;
}

const language = z.string().trim().toLowerCase().transform((code) => code.replace(/[-_].*$/, ""))
  .refine((code) => KNOWN_LANGUAGES.has(code), {
    error: "must be the code of a supported language",
  });

/** Instruction about the language of a response. A response without letters passes for each language. */
export const LANGUAGE_CHECKERS: Checkers = {
  "language:response_language": makeChecker({ language }, (response, { language }) => {
    const detected = languageOf(response);
    return detected === undefined || detected === language;
  }),
};
