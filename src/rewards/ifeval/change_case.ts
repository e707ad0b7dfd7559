import { type Checkers, compareCount, count, makeChecker, relation } from "./checker.ts";
import { languageOf } from "./language_of.ts";
import { countCapitalWords, isLowerCase, isUpperCase } from "./words.ts";

/** Instructions about upper and lower case. */
export const CASE_CHECKERS: Checkers = {
  "change_case:capital_word_frequency": makeChecker(
    { capital_frequency: count, capital_relation: relation },
    (response, { capital_frequency, capital_relation }) =>
      compareCount(countCapitalWords(response), { relation: capital_relation, than: capital_frequency }),
  ),
  "change_case:english_capital": makeChecker({}, (response) => isUpperCase(response) && isEnglish(response)),
  "change_case:english_lowercase": makeChecker(
    {},
    (response) => isLowerCase(response) && isEnglish(response),
  ),
};

function isEnglish(response: string): boolean {
  return [undefined, "en"].includes(languageOf(response));
}
