import { type Checkers, makeChecker } from "./checker.ts";

/** Instructions about punctuation. */
export const PUNCTUATION_CHECKERS: Checkers = {
  "punctuation:no_comma": makeChecker({}, (response) => !response.includes(",")),
};
