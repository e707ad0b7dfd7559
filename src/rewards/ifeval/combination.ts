import { z } from "zod";
import { type Checkers, makeChecker } from "./checker.ts";

/** Instructions about responses with several parts. */
export const COMBINATION_CHECKERS: Checkers = {
  "combination:two_responses": makeChecker({}, (response) => {
    const parts = response.split("******").map((part) => part.trim());
    const [first, second, ...others] = parts.filter((part) => part !== "");
    return !parts.slice(1, -1).includes("") && second !== undefined && first !== second &&
      others.length === 0;
  }),
  "combination:repeat_prompt": makeChecker(
    { prompt_to_repeat: z.string().trim().min(1) },
    (response, { prompt_to_repeat }) =>
      response.trim().toLowerCase().startsWith(prompt_to_repeat.toLowerCase()),
  ),
};
