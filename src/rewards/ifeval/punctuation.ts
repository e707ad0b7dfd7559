import { checker, type Checkers } from "./checker.ts";

/** Instructions about punctuation. */
export const PUNCTUATION_CHECKERS: Checkers = {
  "punctuation:no_comma": checker({}, (response) => !response.includes(",")),
};
