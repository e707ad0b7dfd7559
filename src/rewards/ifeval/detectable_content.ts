import { z } from "zod";
import { checker, type Checkers, count } from "./checker.ts";

/** Instructions on what a response must hold. */
export const CONTENT_CHECKERS: Checkers = {
  "detectable_content:number_placeholders": checker(
    { num_placeholders: count },
    (response, { num_placeholders }) => placeholders(response) >= num_placeholders,
  ),
  "detectable_content:postscript": checker(
    { postscript_marker: z.string().trim().min(1) },
    (response, { postscript_marker }) => postscript(postscript_marker).test(response),
  ),
};

/** How many `[…]` there are, none of them over the end of a line. */
function placeholders(response: string): number {
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

function postscript(marker: string): RegExp {
  if (marker === "P.P.S") return /p\.\s?p\.\s?s/iu;
  return marker === "P.S." ? /p\.\s?s\./iu : new RegExp(RegExp.escape(marker), "iu");
}
