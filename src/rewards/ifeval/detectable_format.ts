import { escape as escapeRegExp } from "@std/regexp";
import * as z from "zod";
import { type Checkers, count, makeChecker, MAX_WORD_CHARACTERS } from "./checker.ts";

const OPTIONS = ["My answer is yes.", "My answer is no.", "My answer is maybe."];

/** Instructions about the format of a response. */
export const FORMAT_CHECKERS: Checkers = {
  "detectable_format:number_bullet_lists": makeChecker(
    () => ({ num_bullets: count }),
    (response, { num_bullets }) => countStarBullets(response) + countDashBullets(response) === num_bullets,
  ),
  "detectable_format:constrained_response": makeChecker(
    () => ({}),
    (response) => OPTIONS.some((option) => response.includes(option)),
  ),
  "detectable_format:number_highlighted_sections": makeChecker(
    () => ({ num_highlights: count }),
    (response, { num_highlights }) =>
      countNonBlank(response, /\*([^\n*]*)\*/g) + countNonBlank(response, /\*\*([^\n*]*)\*\*/g) >=
        num_highlights,
  ),
  "detectable_format:multiple_sections": makeChecker(
    () => ({ section_spliter: z.string().trim().min(1).max(MAX_WORD_CHARACTERS), num_sections: count }),
    (response, { section_spliter, num_sections }) => {
      const heading = new RegExp(`${escapeRegExp(section_spliter)}\\s?\\p{Nd}+`, "gu");
      return (response.match(heading)?.length ?? 0) >= num_sections;
    },
  ),
  "detectable_format:json_format": makeChecker(() => ({}), (response) => isJson(removeJsonFence(response))),
  "detectable_format:title": makeChecker(() => ({}), (response) => response.split("\n").some(hasTitle)),
};

/** Counts lines that begin with a single `*`. A line with only a star includes the next line. */
function countStarBullets(response: string): number {
  const lines = response.split("\n").map((line) => line.trimStart());
  let total = 0;
  for (let at = 0; at < lines.length; at++) {
    const isBullet = /^\*[^*]/.test(lines[at] ?? "");
    const takesNext = lines[at] === "*" && at + 1 < lines.length;
    if (isBullet || takesNext) total++;
    if (takesNext) at++;
  }
  return total;
}

function countDashBullets(response: string): number {
  return response.split("\n").filter((line) => line.trimStart().startsWith("-")).length;
}

/** Counts matches of a pattern whose content is not only white space. */
function countNonBlank(text: string, pattern: RegExp): number {
  return Array.from(text.matchAll(pattern), ([, inside = ""]) => inside.trim()).filter((inside) =>
    inside !== ""
  )
    .length;
}

function removeJsonFence(response: string): string {
  let text = response.trim();
  for (const fence of ["```json", "```Json", "```JSON", "```"]) {
    if (text.startsWith(fence)) text = text.slice(fence.length);
  }
  return (text.endsWith("```") ? text.slice(0, -3) : text).trim();
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // not JSON
  }
}

/** Returns true if a line has `<<…>>` around more than white space and brackets. */
function hasTitle(line: string): boolean {
  const start = line.indexOf("<<");
  const end = line.lastIndexOf(">>");
  return start >= 0 && end > start + 1 && /[^<>\s]/.test(line.slice(start + 2, end));
}
