import { z } from "zod";
import { type Checkers, count, makeChecker } from "./checker.ts";

/** Instructions about required content. */
export const CONTENT_CHECKERS: Checkers = {
  "detectable_content:number_placeholders": makeChecker(
    { num_placeholders: count },
    (response, { num_placeholders }) => countPlaceholders(response) >= num_placeholders,
  ),
  "detectable_content:postscript": makeChecker(
    { postscript_marker: z.string().trim().min(1) },
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
  return marker === "P.S." ? /p\.\s?s\./iu : new RegExp(RegExp.escape(marker), "iu");
}
