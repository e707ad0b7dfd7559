import { z } from "zod";
import { type Checkers, makeChecker } from "./checker.ts";

/** Instructions about the beginning and end of a response. */
export const START_END_CHECKERS: Checkers = {
  "startend:end_checker": makeChecker(
    { end_phrase: z.string().trim().min(1) },
    (response, { end_phrase }) => stripQuotes(response).toLowerCase().endsWith(end_phrase.toLowerCase()),
  ),
  "startend:quotation": makeChecker({}, (response) => {
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
