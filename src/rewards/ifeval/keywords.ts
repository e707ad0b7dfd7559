import { z } from "zod";
import { type Checkers, compareCount, count, makeChecker, relation } from "./checker.ts";

const keyword = z.string().trim().min(1);

/** Instructions about words and letters, which ignore case. */
export const KEYWORD_CHECKERS: Checkers = {
  "keywords:existence": makeChecker(
    { keywords: z.array(keyword).min(1) },
    (response, { keywords }) => keywords.every((word) => countOccurrences(response, word) > 0),
  ),
  "keywords:frequency": makeChecker(
    { keyword, frequency: count, relation },
    (response, { keyword, frequency, relation }) =>
      compareCount(countOccurrences(response, keyword), { relation, than: frequency }),
  ),
  "keywords:forbidden_words": makeChecker(
    { forbidden_words: z.array(keyword).min(1) },
    (response, { forbidden_words }) => !forbidden_words.some((word) => wholeWordPattern(word).test(response)),
  ),
  "keywords:letter_frequency": makeChecker(
    { letter: z.string().trim().length(1), let_frequency: count, let_relation: relation },
    (response, { letter, let_frequency, let_relation }) => {
      const letters = response.toLowerCase().split(letter.toLowerCase()).length - 1;
      return compareCount(letters, { relation: let_relation, than: let_frequency });
    },
  ),
};

/** Counts the occurrences of a word in a text, including inside other words. */
function countOccurrences(text: string, word: string): number {
  return text.match(new RegExp(RegExp.escape(word), "giu"))?.length ?? 0;
}

function wholeWordPattern(word: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}_])${RegExp.escape(word)}(?![\\p{L}\\p{N}_])`, "iu");
}
