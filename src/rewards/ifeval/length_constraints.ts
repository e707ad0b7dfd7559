import { z } from "zod";
import { type Checkers, compareCount, count, makeChecker, relation } from "./checker.ts";
import { countSentences } from "./sentences.ts";
import { countWords } from "./words.ts";

const DIVIDER = /\s?\*\*\*\s?/;
const END_OF_FIRST_WORD = /[.,?!'"]/;

/** Instructions about the length of a response. */
export const LENGTH_CHECKERS: Checkers = {
  "length_constraints:number_sentences": makeChecker(
    { num_sentences: count, relation },
    (response, { num_sentences, relation }) =>
      compareCount(countSentences(response), { relation, than: num_sentences }),
  ),
  "length_constraints:number_words": makeChecker(
    { num_words: count, relation },
    (response, { num_words, relation }) => compareCount(countWords(response), { relation, than: num_words }),
  ),
  "length_constraints:number_paragraphs": makeChecker(
    { num_paragraphs: count },
    (response, { num_paragraphs }) => countDividedParagraphs(response) === num_paragraphs,
  ),
  "length_constraints:nth_paragraph_first_word": makeChecker(
    { num_paragraphs: count, nth_paragraph: z.number().int().positive(), first_word: z.string() },
    (response, { num_paragraphs, nth_paragraph, first_word }) => {
      const paragraphs = response.split("\n\n");
      const filled = paragraphs.filter((paragraph) => paragraph.trim() !== "").length;
      const paragraph = nth_paragraph <= filled ? paragraphs[nth_paragraph - 1] ?? "" : "";
      return paragraph.trim() !== "" && filled === num_paragraphs &&
        firstWord(paragraph) === first_word.toLowerCase();
    },
  ),
};

/** Counts the paragraphs between `***` dividers; NaN if one between two dividers is empty. */
function countDividedParagraphs(response: string): number {
  const paragraphs = response.split(DIVIDER).map((paragraph) => paragraph.trim());
  if (paragraphs.slice(1, -1).includes("")) return NaN;
  return paragraphs.filter((paragraph) => paragraph !== "").length;
}

function firstWord(paragraph: string): string {
  const [word = ""] = paragraph.trim().split(/\s+/, 1);
  return word.replace(/^'+/, "").replace(/^"+/, "").split(END_OF_FIRST_WORD, 1)[0]?.toLowerCase() ?? "";
}
