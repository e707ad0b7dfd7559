import { z } from "zod";
import { checker, type Checkers } from "./checker.ts";
import { KNOWN_LANGUAGES, languageOf } from "./language_of.ts";

const language = z.string().trim().toLowerCase().transform((code) => code.replace(/[-_].*$/, ""))
  .refine((code) => KNOWN_LANGUAGES.has(code), {
    error: "must be the code of a language that is told apart",
  });

/** The instruction on the language of a response; one that has no letters is in every language. */
export const LANGUAGE_CHECKERS: Checkers = {
  "language:response_language": checker({ language }, (response, { language }) => {
    const found = languageOf(response);
    return found === undefined || found === language;
  }),
};
