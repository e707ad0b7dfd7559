import { z } from "zod";
import { type Checkers, makeChecker } from "./checker.ts";
import { KNOWN_LANGUAGES, languageOf } from "./language_of.ts";

const language = z.string().trim().toLowerCase().transform((code) => code.replace(/[-_].*$/, ""))
  .refine((code) => KNOWN_LANGUAGES.has(code), {
    error: "must be the code of a supported language",
  });

/** Instruction about the language of a response. A response without letters passes for each language. */
export const LANGUAGE_CHECKERS: Checkers = {
  "language:response_language": makeChecker({ language }, (response, { language }) => {
    const detected = languageOf(response);
    return detected === undefined || detected === language;
  }),
};
