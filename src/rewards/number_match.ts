import { finalReply } from "./final_reply.ts";
import type { Grader } from "./grader.ts";

const NUMBER =
  /(?<![\w.])[-+\u2212]?\$?[-+\u2212]?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?/gi;
const STATEMENT = /####|\banswer is\b/gi;
/** What floating point may lose, as a share of the number. */
const ROUNDING = 1e-9;

/**
 * Scores 1 when the number of the final reply is that of the task's answer, else 0; `null` when the task's
 * answer holds no number.
 *
 * A reply's number is the first one behind its last `####` or `answer is`, else its last one. `1,000`, `$1000`,
 * `1000.00` and `1000%` are one number, and so is what floating point makes of it.
 */
export function numberMatch(): Grader {
  return {
    name: "number_match",
    grade({ task, history }) {
      const wanted = numbersIn(task.answer ?? "").at(-1);
      if (wanted === undefined) return null;
      const given = statedNumber(finalReply(history));
      return given !== undefined && isSame(given, wanted) ? 1 : 0;
    },
  };
}

function statedNumber(reply: string): string | undefined {
  const statement = [...reply.matchAll(STATEMENT)].at(-1);
  const behind = statement === undefined ? "" : reply.slice(statement.index + statement[0].length);
  return numbersIn(behind)[0] ?? numbersIn(reply).at(-1);
}

/** The numbers of a text in plain notation: no `$`, `,` or `+`, no zeros that say nothing. */
function numbersIn(text: string): string[] {
  return Array.from(text.matchAll(NUMBER), ([number]) => {
    const plain = number.replace(/[$,+]/g, "").replaceAll("\u2212", "-").toLowerCase();
    const short = plain.replace(/\.0+$/, "").replace(/^(-?)0+(?=\d)/, "$1");
    return short === "-0" ? "0" : short;
  });
}

function isSame(given: string, wanted: string): boolean {
  if (given === wanted) return true;
  const isWhole = /^-?\d+$/;
  if (isWhole.test(given) && isWhole.test(wanted)) return false;
  return Math.abs(Number(given) - Number(wanted)) <= ROUNDING * Math.abs(Number(wanted));
}
