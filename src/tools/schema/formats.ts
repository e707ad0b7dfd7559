import { format as STANDARD } from "@cfworker/json-schema";
import { tryJsPattern } from "./python_pattern.ts";

/**
 * Formats of strings as JSON Schema defines them or as pydantic accepts them (pydantic 2.14, which writes the formats
 * for `datetime`, `date`, `time`, `timedelta`, `UUID`, `EmailStr`, addresses and URLs). Pydantic's dates need no zone, and
 * durations may be negative or have fractions.
 */
const ACCEPTED: Readonly<Record<string, (text: string) => boolean>> = {
  "date-time": isDateTime,
  date: isDateOrMidnight,
  time: (text) => TIME.test(text),
  duration: isDuration,
  uuid: (text) => UUID.test(text),
  email: (text) => EMAIL.test(text),
  ipv6: (text) => STANDARD.ipv6?.(text.replace(/%[\w.-]+$/, "")) === true,
  uri: (text) => URL.canParse(text),
  regex: (text) => text.length > MAX_PATTERN || tryJsPattern(text) !== undefined,
};

const PREFIX = "paddock:";
/** Length up to which a pattern in an argument is read: V8 takes 0.4 ms for a class of Unicode. */
const MAX_PATTERN = 256;

for (const [name, accepts] of Object.entries(ACCEPTED)) {
  // Separate names: other users of the library keep the standard formats.
  STANDARD[PREFIX + name] = (text) => STANDARD[name]?.(text) === true || accepts(text);
}

/** Returns the name by which the validator knows a format; unknown formats are not checked. */
export function toCheckedFormat(format: unknown): unknown {
  return typeof format === "string" && Object.hasOwn(ACCEPTED, format) ? PREFIX + format : format;
}

/** Returns an error of the validator with the schema's own name of a format. */
export function nameFormat(error: string): string {
  return error.replace(`"${PREFIX}`, '"');
}

const SIGN = "[+\\-\u2212]";
const ZONE = `(?:[Zz]|${SIGN}(?:[01]\\d|2[0-3]):?[0-5]\\d)`;
const CLOCK = String.raw`(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?`;
const TIME = new RegExp(`^${CLOCK}${ZONE}?$`);
const MIDNIGHT = new RegExp(String.raw`^00:00(?::00(?:[.,]0+)?)?${ZONE}?$`);
const DATE = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt _](.+))?$/;
const TIMESTAMP = new RegExp(String.raw`^${SIGN}?(?:\d+(?:\.\d*)?|\.\d+)$`);
/** A larger number of seconds is a number of milliseconds. */
const MAX_SECONDS = 2e10;
const [FIRST_SECOND, LAST_SECOND] = [-62_167_219_200, 253_402_300_799];

function isDateTime(text: string): boolean {
  const seconds = secondsOf(text);
  if (seconds !== undefined) return seconds >= FIRST_SECOND && seconds <= LAST_SECOND;
  const [, year, month, day, time] = text.match(DATE) ?? [];
  return isDay(year, month, day) && (time === undefined || TIME.test(time));
}

function isDateOrMidnight(text: string): boolean {
  const seconds = secondsOf(text);
  if (seconds !== undefined) return seconds % 86_400 === 0 && isDateTime(text);
  const [, year, month, day, time] = text.match(DATE) ?? [];
  return isDay(year, month, day) && (time === undefined || MIDNIGHT.test(time));
}

/** Returns the seconds since 1970 that a number stands for, or `undefined` if a text is no number. */
function secondsOf(text: string): number | undefined {
  if (!TIMESTAMP.test(text)) return undefined;
  const number = Number(text.replace("\u2212", "-"));
  return Math.abs(number) > MAX_SECONDS ? number / 1000 : number;
}

function isDay(year = "", month = "", day = ""): boolean {
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  return year !== "0000" && !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
}

const AMOUNT = String.raw`\d+(?:[.,]\d*)?`;
const ISO_DURATION = new RegExp(`^[+-]?P(?=\\d|T\\d)(?:${AMOUNT}[YMWD])*(?:T(?:${AMOUNT}[HMS])*)?$`);
const DAYS = new RegExp(`^[+-]?\\d+ ?d(?:ays?)?(?:(?:, ?| )${CLOCK})?$`, "i");
const HOURS = new RegExp(String.raw`^[+-]?\d\d+:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?$`);

function isDuration(text: string): boolean {
  return ISO_DURATION.test(text) || DAYS.test(text) || HOURS.test(text);
}

const HEX = "[0-9a-f]";
const UUID = new RegExp(
  `^(?:${HEX}{32}|(?:urn:uuid:)?${HEX}{8}(?:-${HEX}{4}){3}-${HEX}{12}|\\{${HEX}{8}(?:-${HEX}{4}){3}-${HEX}{12}\\})$`,
  "i",
);
const EMAIL = /^[^\s@<>"]{1,64}@[^\s@]{1,200}\.[^\s@]{2,}$/;
