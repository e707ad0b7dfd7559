import { UnsupportedError } from "../jinja_errors.ts";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAY_MS = 86_400_000;

/**
 * Returns a local time as Python's `strftime` on Linux in the locale C, without a time zone.
 *
 * @throws {UnsupportedError} for a directive that is not known.
 */
export function strftime(date: Date, format: string): string {
  return format.replace(/%([-_0^#]?)([^]?)/gu, (all, flag: string, kind: string) => {
    if (kind === "") return all;
    if (kind === "%") return "%";
    const composed = COMPOSED[kind];
    if (composed !== undefined) return strftime(date, composed);
    const text = TEXTS[kind]?.(date);
    if (text !== undefined) return flag === "^" || (flag === "#" && kind !== "p") ? text.toUpperCase() : text;
    const number = NUMBERS[kind];
    if (number === undefined) {
      throw new UnsupportedError(`the directive '%${flag}${kind}' of strftime is not supported`);
    }
    const [value, width, fill] = number(date);
    if (flag === "-") return `${value}`;
    return `${value}`.padStart(width, flag === "_" ? " " : flag === "0" ? "0" : fill);
  });
}

const COMPOSED: Readonly<Record<string, string>> = {
  c: "%a %b %e %H:%M:%S %Y",
  D: "%m/%d/%y",
  F: "%Y-%m-%d",
  h: "%b",
  r: "%I:%M:%S %p",
  R: "%H:%M",
  T: "%H:%M:%S",
  x: "%m/%d/%y",
  X: "%H:%M:%S",
};

const TEXTS: Readonly<Record<string, (date: Date) => string>> = {
  A: (date) => DAYS[date.getDay()] as string,
  a: (date) => (DAYS[date.getDay()] as string).slice(0, 3),
  B: (date) => MONTHS[date.getMonth()] as string,
  b: (date) => (MONTHS[date.getMonth()] as string).slice(0, 3),
  f: (date) => `${date.getMilliseconds() * 1000}`.padStart(6, "0"),
  n: () => "\n",
  p: (date) => date.getHours() < 12 ? "AM" : "PM",
  P: (date) => date.getHours() < 12 ? "am" : "pm",
  t: () => "\t",
  Z: () => "",
  z: () => "",
};

/** Value, width and fill of numbers. */
const NUMBERS: Readonly<Record<string, (date: Date) => [number, number, string]>> = {
  C: (date) => [Math.floor(date.getFullYear() / 100), 2, "0"],
  d: (date) => [date.getDate(), 2, "0"],
  e: (date) => [date.getDate(), 2, " "],
  G: (date) => [isoWeek(date).year, 4, "0"],
  g: (date) => [isoWeek(date).year % 100, 2, "0"],
  H: (date) => [date.getHours(), 2, "0"],
  I: (date) => [date.getHours() % 12 || 12, 2, "0"],
  j: (date) => [dayOfYear(date) + 1, 3, "0"],
  k: (date) => [date.getHours(), 2, " "],
  l: (date) => [date.getHours() % 12 || 12, 2, " "],
  M: (date) => [date.getMinutes(), 2, "0"],
  m: (date) => [date.getMonth() + 1, 2, "0"],
  S: (date) => [date.getSeconds(), 2, "0"],
  s: (date) => [Math.floor(date.getTime() / 1000), 1, "0"],
  U: (date) => [Math.floor((dayOfYear(date) + 7 - date.getDay()) / 7), 2, "0"],
  u: (date) => [date.getDay() || 7, 1, "0"],
  V: (date) => [isoWeek(date).week, 2, "0"],
  W: (date) => [Math.floor((dayOfYear(date) + 7 - (date.getDay() + 6) % 7) / 7), 2, "0"],
  w: (date) => [date.getDay(), 1, "0"],
  Y: (date) => [date.getFullYear(), 1, "0"],
  y: (date) => [date.getFullYear() % 100, 2, "0"],
};

/** Days since the first of January. Counted in UTC, as a local day can have 23 or 25 hours. */
function dayOfYear(date: Date): number {
  return (dayNumber(date.getFullYear(), date.getMonth(), date.getDate()) -
    dayNumber(date.getFullYear(), 0, 1)) / DAY_MS;
}

function dayNumber(year: number, month: number, day: number): number {
  return Date.UTC(year, month, day);
}

/** The week of ISO 8601 belongs to the year of the week's Thursday. */
function isoWeek(date: Date): { year: number; week: number } {
  const weekday = (date.getDay() + 6) % 7;
  const thursday = new Date(dayNumber(date.getFullYear(), date.getMonth(), date.getDate() - weekday + 3));
  const year = thursday.getUTCFullYear();
  return { year, week: Math.floor((thursday.getTime() - dayNumber(year, 0, 1)) / DAY_MS / 7) + 1 };
}
