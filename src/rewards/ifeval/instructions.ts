import { escape as escapeRegExp } from "@std/regexp";
import * as z from "zod";
import { errorMessage } from "../../errors.ts";
import type { GradedTask } from "../reply_grader.ts";
import {
  type Checkers,
  compareCount,
  count,
  type InstructionArguments,
  makeChecker,
  MAX_WORD_CHARACTERS,
  relation,
} from "./checker.ts";
import { FORMAT_CHECKERS } from "./detectable_format.ts";
import { LANGUAGE_CHECKERS, languageOf } from "./language.ts";
import { countCapitalWords, countSentences, countWords, isLowerCase, isUpperCase } from "./sentences.ts";

export { loadLanguages } from "./language.ts";

const keyword = z.string().trim().min(1).max(MAX_WORD_CHARACTERS);

/** Instructions about words and letters, which ignore case. */
const KEYWORD_CHECKERS: Checkers = {
  "keywords:existence": makeChecker(
    () => ({ keywords: z.array(keyword).min(1) }),
    (response, { keywords }) => keywords.every((word) => countOccurrences(response, word) > 0),
  ),
  "keywords:frequency": makeChecker(
    () => ({ keyword, frequency: count, relation }),
    (response, { keyword, frequency, relation }) =>
      compareCount(countOccurrences(response, keyword), { relation, than: frequency }),
  ),
  "keywords:forbidden_words": makeChecker(
    () => ({ forbidden_words: z.array(keyword).min(1) }),
    (response, { forbidden_words }) => !forbidden_words.some((word) => wholeWordPattern(word).test(response)),
  ),
  "keywords:letter_frequency": makeChecker(
    () => ({ letter: z.string().trim().length(1), let_frequency: count, let_relation: relation }),
    (response, { letter, let_frequency, let_relation }) => {
      const letters = response.toLowerCase().split(letter.toLowerCase()).length - 1;
      return compareCount(letters, { relation: let_relation, than: let_frequency });
    },
  ),
};

/** Counts the occurrences of a word in a text, including inside other words. */
function countOccurrences(text: string, word: string): number {
  return text.match(new RegExp(escapeRegExp(word), "giu"))?.length ?? 0;
}

function wholeWordPattern(word: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}_])${escapeRegExp(word)}(?![\\p{L}\\p{N}_])`, "iu");
}

const DIVIDER = /\s?\*\*\*\s?/;
const END_OF_FIRST_WORD = /[.,?!'"]/;

/** Instructions about the length of a response. */
const LENGTH_CHECKERS: Checkers = {
  "length_constraints:number_sentences": makeChecker(
    () => ({ num_sentences: count, relation }),
    (response, { num_sentences, relation }) =>
      compareCount(countSentences(response), { relation, than: num_sentences }),
  ),
  "length_constraints:number_words": makeChecker(
    () => ({ num_words: count, relation }),
    (response, { num_words, relation }) => compareCount(countWords(response), { relation, than: num_words }),
  ),
  "length_constraints:number_paragraphs": makeChecker(
    () => ({ num_paragraphs: count }),
    (response, { num_paragraphs }) => countDividedParagraphs(response) === num_paragraphs,
  ),
  "length_constraints:nth_paragraph_first_word": makeChecker(
    () => ({ num_paragraphs: count, nth_paragraph: z.number().int().positive(), first_word: z.string() }),
    (response, { num_paragraphs, nth_paragraph, first_word }) => {
      const paragraphs = response.split("\n\n");
      const filled = paragraphs.filter((paragraph) => paragraph.trim() !== "").length;
      const paragraph = nth_paragraph <= filled ? paragraphs[nth_paragraph - 1] ?? "" : "";
      return paragraph.trim() !== "" && filled === num_paragraphs &&
        firstWord(paragraph) === first_word.toLowerCase();
    },
  ),
};

/** Counts the paragraphs between `***` dividers; NaN if a paragraph between two dividers is empty. */
function countDividedParagraphs(response: string): number {
  const paragraphs = response.split(DIVIDER).map((paragraph) => paragraph.trim());
  if (paragraphs.slice(1, -1).includes("")) return NaN;
  return paragraphs.filter((paragraph) => paragraph !== "").length;
}

function firstWord(paragraph: string): string {
  const [word = ""] = paragraph.trim().split(/\s+/, 1);
  return word.replace(/^'+/, "").replace(/^"+/, "").split(END_OF_FIRST_WORD, 1)[0]?.toLowerCase() ?? "";
}

/** Instructions about required content. */
const CONTENT_CHECKERS: Checkers = {
  "detectable_content:number_placeholders": makeChecker(
    () => ({ num_placeholders: count }),
    (response, { num_placeholders }) => countPlaceholders(response) >= num_placeholders,
  ),
  "detectable_content:postscript": makeChecker(
    () => ({ postscript_marker: keyword }),
    (response, { postscript_marker }) => postscriptPattern(postscript_marker).test(response),
  ),
};

/** Counts `[…]` placeholders within single lines. */
function countPlaceholders(response: string): number {
  let found = 0;
  for (const line of response.split("\n")) {
    for (let at = line.indexOf("["); at >= 0; at = line.indexOf("[", at)) {
      at = line.indexOf("]", at);
      if (at < 0) break;
      found++;
    }
  }
  return found;
}

function postscriptPattern(marker: string): RegExp {
  if (marker === "P.P.S") return /p\.\s?p\.\s?s/iu;
  return marker === "P.S." ? /p\.\s?s\./iu : new RegExp(escapeRegExp(marker), "iu");
}

/** Instructions about responses with several parts. */
const COMBINATION_CHECKERS: Checkers = {
  "combination:two_responses": makeChecker(() => ({}), (response) => {
    const parts = response.split("******").map((part) => part.trim());
    const [first, second, ...others] = parts.filter((part) => part !== "");
    return !parts.slice(1, -1).includes("") && second !== undefined && first !== second &&
      others.length === 0;
  }),
  "combination:repeat_prompt": makeChecker(
    () => ({ prompt_to_repeat: z.string().trim().min(1) }),
    (response, { prompt_to_repeat }) =>
      response.trim().toLowerCase().startsWith(prompt_to_repeat.toLowerCase()),
  ),
};

/** Instructions about the beginning and end of a response. */
const START_END_CHECKERS: Checkers = {
  "startend:end_checker": makeChecker(
    () => ({ end_phrase: z.string().trim().min(1) }),
    (response, { end_phrase }) => stripQuotes(response).toLowerCase().endsWith(end_phrase.toLowerCase()),
  ),
  "startend:quotation": makeChecker(() => ({}), (response) => {
    const text = response.trim();
    return text.length > 1 && text.startsWith('"') && text.endsWith('"');
  }),
};

/** Returns the text without surrounding white space and trailing quotes. */
function stripQuotes(response: string): string {
  const text = response.trim();
  let end = text.length;
  while (text[end - 1] === '"') end--;
  return text.slice(0, end);
}

/** Instructions about upper and lower case. */
const CASE_CHECKERS: Checkers = {
  "change_case:capital_word_frequency": makeChecker(
    () => ({ capital_frequency: count, capital_relation: relation }),
    (response, { capital_frequency, capital_relation }) =>
      compareCount(countCapitalWords(response), { relation: capital_relation, than: capital_frequency }),
  ),
  "change_case:english_capital": makeChecker(
    () => ({}),
    (response) => isUpperCase(response) && isEnglish(response),
  ),
  "change_case:english_lowercase": makeChecker(
    () => ({}),
    (response) => isLowerCase(response) && isEnglish(response),
  ),
};

function isEnglish(response: string): boolean {
  return [undefined, "en"].includes(languageOf(response));
}

/** Instructions about punctuation. */
const PUNCTUATION_CHECKERS: Checkers = {
  "punctuation:no_comma": makeChecker(() => ({}), (response) => !response.includes(",")),
};

/** Checkers of the 25 instructions, by name. */
export const CHECKERS: Checkers = {
  ...KEYWORD_CHECKERS,
  ...LANGUAGE_CHECKERS,
  ...LENGTH_CHECKERS,
  ...CONTENT_CHECKERS,
  ...FORMAT_CHECKERS,
  ...COMBINATION_CHECKERS,
  ...START_END_CHECKERS,
  ...CASE_CHECKERS,
  ...PUNCTUATION_CHECKERS,
};

const fieldsSchema = z.object({
  instruction_id_list: z.array(z.string()).min(1),
  kwargs: z.array(z.record(z.string(), z.unknown()).nullable()).nullish(),
});

/** Instructions whose checks detect the language of a response. */
const LANGUAGE_READERS = /^(language:|change_case:english_)/;

/** True if an instruction of the task depends on the language of the response. */
export function readsLanguage({ fields = {} }: GradedTask): boolean {
  const names = fields.instruction_id_list;
  return Array.isArray(names) && names.some((name) => LANGUAGE_READERS.test(name));
}

/**
 * Returns the checks for the instructions in a task's fields; `null` if there are none.
 *
 * @throws {TypeError} when an instruction is unknown, or when arguments are invalid.
 */
export function makeInstructionChecks(
  { id, fields = {} }: GradedTask,
): ((response: string) => boolean)[] | null {
  if (fields.instruction_id_list === undefined || fields.instruction_id_list === null) return null;
  const parsed = fieldsSchema.safeParse(fields);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
    throw new TypeError(
      `Cannot check task '${id}' as its IFEval fields are invalid: ${faults.join("; ")}`,
    );
  }
  const { instruction_id_list, kwargs } = parsed.data;
  return instruction_id_list.map((name, at) => check(name, kwargs?.[at] ?? {}, id));
}

function check(name: string, args: InstructionArguments, id: string): (response: string) => boolean {
  const checker = Object.hasOwn(CHECKERS, name) ? CHECKERS[name] : undefined;
  if (checker === undefined) {
    throw new TypeError(
      `Cannot check task '${id}' as each instruction must be one of the 25 of IFEval: current value is '${name}'`,
    );
  }
  try {
    return checker(args);
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new TypeError(`Cannot check task '${id}' for '${name}' as ${reason}`, { cause });
  }
}
