const NUMBER =
  /(?<![\w.])[-+\u2212]?\$?[-+\u2212]?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?/gi;
const STATEMENT = /####|\banswer is\b/gi;
/** What floating point may lose, as a share of the number. */
const ROUNDING = 1e-9;

/** The numbers of a text in plain notation: no `$`, `,` or `+`, no zeros that say nothing. */
export function numbersIn(text: string): string[] {
  return Array.from(text.matchAll(NUMBER), ([number]) => {
    const plain = number.replace(/[$,+]/g, "").replaceAll("\u2212", "-").toLowerCase();
    const short = plain.replace(/\.0+$/, "").replace(/^(-?)0+(?=\d)/, "$1");
    return short === "-0" ? "0" : short;
  });
}

/** The first number behind the text's last `####` or `answer is`. */
export function statedNumber(text: string): string | undefined {
  const statement = [...text.matchAll(STATEMENT)].at(-1);
  return statement && numbersIn(text.slice(statement.index + statement[0].length))[0];
}

/** Whether two numbers in plain notation are one, but for what floating point loses. */
export function isSameNumber(given: string, wanted: string): boolean {
  if (given === wanted) return true;
  const isWhole = /^-?\d+$/;
  if (isWhole.test(given) && isWhole.test(wanted)) return false;
  return Math.abs(Number(given) - Number(wanted)) <= ROUNDING * Math.abs(Number(wanted));
}
