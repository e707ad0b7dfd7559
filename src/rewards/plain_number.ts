const NUMBER =
  /(?<![\w.])[-+\u2212]?\$?[-+\u2212]?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?/gi;
const STATEMENT = /####|\banswer is\b/gi;
/** What floating point may lose: as a share of the number, and never more than this. */
const ROUNDING = 1e-12;
const MAX_ROUNDING = 1e-6;
const DECIMAL = /^(-?)(\d*)\.?(\d*)(?:e([-+]?\d{1,9}))?$/;

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
  const [first, second] = [decimalOf(given), decimalOf(wanted)];
  if (first !== undefined && first === second) return true;
  const isWhole = /^-?\d+$/;
  if (isWhole.test(given) && isWhole.test(wanted)) return false;
  const [value, truth] = [Number(given), Number(wanted)];
  if (!Number.isFinite(value) || !Number.isFinite(truth)) return false;
  return Math.abs(value - truth) <= Math.min(ROUNDING * Math.abs(truth), MAX_ROUNDING);
}

/** A number as its digits and an exponent, the same for each way to write it; `undefined` when it is too large. */
function decimalOf(number: string): string | undefined {
  const [matched, sign, whole = "", decimals = "", exponent = "0"] = DECIMAL.exec(number) ?? [];
  if (matched === undefined) return undefined;
  const all = `${whole}${decimals}`.replace(/^0+/, "");
  let length = all.length;
  while (all[length - 1] === "0") length--;
  return length === 0
    ? "0"
    : `${sign}${all.slice(0, length)}e${Number(exponent) - decimals.length + all.length - length}`;
}
