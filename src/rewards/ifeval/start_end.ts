import { z } from "zod";
import { checker, type Checkers } from "./checker.ts";

/** Instructions on how a response begins and ends. */
export const START_END_CHECKERS: Checkers = {
  "startend:end_checker": checker(
    { end_phrase: z.string().trim().min(1) },
    (response, { end_phrase }) => unquoted(response).toLowerCase().endsWith(end_phrase.toLowerCase()),
  ),
  "startend:quotation": checker({}, (response) => {
    const text = response.trim();
    return text.length > 1 && text.startsWith('"') && text.endsWith('"');
  }),
};

/** The text without white space, and then without the quotes, around it. */
function unquoted(response: string): string {
  const text = response.trim();
  let end = text.length;
  while (text[end - 1] === '"') end--;
  return text.slice(0, end);
}
