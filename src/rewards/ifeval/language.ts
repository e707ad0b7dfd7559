import type { eld as Eld } from "eld/extrasmall";
import * as z from "zod";
import { type Checkers, makeChecker } from "./checker.ts";

/** A language that `eld` does not know. */
interface WordList {
  readonly language: string;
  /** Languages that `eld` finds in place of the language; otherwise `eld` finds no language for certain. */
  readonly mistakenFor?: string;
  /** Common words, which those languages do not have. */
  readonly words: string;
}

/** Scripts, each with the script's only language or with the default of the languages that share the script. */
const SCRIPTS: readonly { readonly letters: RegExp; readonly language: string; readonly isShared?: true }[] =
  [
    { letters: /\p{Script=Latin}/gu, language: "en", isShared: true },
    { letters: /\p{Script=Cyrillic}/gu, language: "ru", isShared: true },
    { letters: /\p{Script=Arabic}/gu, language: "ar", isShared: true },
    { letters: /\p{Script=Devanagari}/gu, language: "hi", isShared: true },
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
/** Languages beside `eld`'s languages. */
const WORD_LISTS: readonly WordList[] = [
  {
    language: "af",
    mistakenFor: "nl de",
    words: "nie sy hy vir ek jy hulle wees baie hierdie sal deur",
  },
  {
    language: "cy",
    words: "y yr yn i o a ac mae ar am gan sydd oedd fod bod eu ei hyn nid wedi gyda ond hefyd dros gall " +
      "rydym",
  },
  {
    language: "id",
    mistakenFor: "ms tl",
    words: "yang dan di ini itu dengan untuk tidak dari dalam akan pada juga saya ke karena ada oleh kami " +
      "mereka adalah kita bisa sudah anda atau seperti lebih dapat sangat telah bahwa tetapi",
  },
  {
    language: "so",
    words: "waa iyo in ka ku oo ayaa uu ah la waxay waxaa soo si aan loo isku ayay u leh badan markii kale " +
      "kuwa waxa",
  },
  {
    language: "sw",
    words: "na ya wa kwa ni katika za la kuwa hii hiyo huo au pia sana watu yake wake yangu mimi wewe sisi " +
      "yeye lakini kama cha vya hiki hili ili kila tu bila baada kabla hata zaidi ambayo ambao alikuwa " +
      "wote mwa nchi mtu ndani hapa",
  },
  {
    language: "mk",
    mistakenFor: "bg sr ru",
    words: "во што ќе сум беше каде многу кој ги дека овој оваа од со",
  },
  {
    language: "ne",
    mistakenFor: "hi mr",
    words:
      "छ छन् छन हुन्छ र यो त्यो गर्न भएको छैन पनि म मलाई थियो गरेको हुने गर्नुहोस् छु मा लाई भने धेरै हाम्रो मेरो गर्छ गर्ने भन्ने",
  },
];
/** Languages that `eld` detects. */
const DETECTED =
  "am ar az be bg bn ca cs da de el en es et eu fa fi fr gu he hi hr hu hy is it ja ka kn ko ku lo lt lv ml mr nl no or " +
  "pa pl pt ro ru sk sl sq sr sv ta te th tl tr uk ur vi yo zh";
/** Share of kana above which Chinese characters count as Japanese. */
const KANA_SHARE = 0.1;
/** Share of the words of a text that must be in the list of a language. */
const WORD_SHARE = 0.2;
/** Characters of a text that are examined. The language shows in the first sentences. */
const MAX_CHARACTERS = 20_000;

/** Codes of the supported languages. */
export const KNOWN_LANGUAGES: ReadonlySet<string> = new Set([
  ...SCRIPTS.map(({ language }) => language),
  ...WORD_LISTS.map(({ language }) => language),
  ...DETECTED.split(" "),
]);

let eld: typeof Eld | undefined;

/**
 * Loads the language detector, which takes 20 MB. {@linkcode languageOf} needs the detector. Returns `undefined` if
 * loaded.
 */
export function loadLanguages(): Promise<void> | undefined {
  if (eld !== undefined) return undefined;
  return import("eld/extrasmall").then((module) => {
    eld = module.eld;
  });
}

/**
 * Returns the language of a text as an ISO 639-1 code: the language of the script of most letters, and among languages
 * that share a script the language that `eld` detects. Returns `undefined` if there are no letters. Latin text in which no
 * language is certain counts as English.
 *
 * @throws {TypeError} if {@linkcode loadLanguages} has not ended.
 */
export function languageOf(whole: string): string | undefined {
  const text = whole.slice(0, MAX_CHARACTERS);
  const counts = SCRIPTS.map((script) => ({ ...script, count: text.match(script.letters)?.length ?? 0 }));
  const most = counts.reduce((most, next) => next.count > most.count ? next : most);
  if (most.count === 0) return /\p{L}/u.test(text) ? detectedLanguage(text) : undefined;
  if (most.isShared) return detectedLanguage(text) ?? most.language;
  if (most.language !== "zh") return most.language;
  const kana = counts.find(({ language }) => language === "ja")?.count ?? 0;
  return kana >= KANA_SHARE * most.count ? "ja" : "zh";
}

function detectedLanguage(text: string): string | undefined {
  if (eld === undefined) throw new TypeError("Cannot detect languages as 'loadLanguages' must end before");
  const result = eld.detect(text);
  const isReliable = result.isReliable();
  const found = text.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? [];
  const listed = WORD_LISTS.filter(({ mistakenFor }) =>
    mistakenFor === undefined ? !isReliable : mistakenFor.split(" ").includes(result.language)
  ).find(({ words }) => shareOf(words, found) >= WORD_SHARE);
  return listed?.language ?? (isReliable ? result.language : undefined);
}

function shareOf(words: string, found: readonly string[]): number {
  const list = new Set(words.split(" "));
  return found.filter((word) => list.has(word)).length / found.length;
}

const language = z.string().trim().toLowerCase().transform((code) => code.replace(/[-_].*$/, ""))
  .refine((code) => KNOWN_LANGUAGES.has(code), {
    error: "must be the code of a supported language",
  });

/** Instruction about the language of a response. A response without letters passes for each language. */
export const LANGUAGE_CHECKERS: Checkers = {
  "language:response_language": makeChecker(() => ({ language }), (response, { language }) => {
    const detected = languageOf(response);
    return detected === undefined || detected === language;
  }),
};
