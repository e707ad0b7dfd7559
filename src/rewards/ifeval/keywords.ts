import { z } from "zod";
import { checker, type Checkers, compares, count, relation } from "./checker.ts";

const keyword = z.string().trim().min(1);

/** Instructions about words and letters, which ignore case. */
export const KEYWORD_CHECKERS: Checkers = {
  "keywords:existence": checker(
    { keywords: z.array(keyword).min(1) },
    (response, { keywords }) => keywords.every((word) => countOccurrences(response, word) > 0),
  ),
  "keywords:frequency": checker(
    { keyword, frequency: count, relation },
    (response, { keyword, frequency, relation }) =>
      compares(countOccurrences(response, keyword), { relation, than: frequency }),
  ),
  "keywords:forbidden_words": checker(
    { forbidden_words: z.array(keyword).min(1) },
    (response, { forbidden_words }) => !forbidden_words.some((word) => wholeWordPattern(word).test(response)),
  ),
  "keywords:letter_frequency": checker(
    { letter: z.string().trim().length(1), let_frequency: count, let_relation: relation },
    (response, { letter, let_frequency, let_relation }) => {
      const letters = response.toLowerCase().split(letter.toLowerCase()).length - 1;
      return compares(letters, { relation: let_relation, than: let_frequency });
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
