import { checker, type Checkers, compares, count, relation } from "./checker.ts";
import { languageOf } from "./language_of.ts";
import { countCapitalWords, isLowerCase, isUpperCase } from "./words.ts";

/** Instructions about upper and lower case. */
export const CASE_CHECKERS: Checkers = {
  "change_case:capital_word_frequency": checker(
    { capital_frequency: count, capital_relation: relation },
    (response, { capital_frequency, capital_relation }) =>
      compares(countCapitalWords(response), { relation: capital_relation, than: capital_frequency }),
  ),
  "change_case:english_capital": checker({}, (response) => isUpperCase(response) && isEnglish(response)),
  "change_case:english_lowercase": checker({}, (response) => isLowerCase(response) && isEnglish(response)),
};

function isEnglish(response: string): boolean {
  return [undefined, "en"].includes(languageOf(response));
}
