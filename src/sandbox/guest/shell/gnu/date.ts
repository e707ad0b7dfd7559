import { errorText, type GnuCommand, pathOf, unicodeText, UsageError } from "./command.ts";
import { parseOptions } from "./options.ts";
import { type Zone, zoneOf } from "./time_zone.ts";

const OPTIONS = "d,date=:f,file=:I?:iso-8601?:R,rfc-email:rfc-822:rfc-2822:rfc-3339=:r,reference=:s,set=:" +
  "u,utc:universal:debug:resolution:help:version";

const DAY_MS = 86_400_000;
const MONTHS = "january february march april may june july august september october november december".split(
  " ",
);
const WEEKDAYS = "sunday monday tuesday wednesday thursday friday saturday".split(" ");
const MERIDIAN = /^([ap])\.?m\.?$/;
const MAX_OFFSET_MINUTES = 24 * 60;

/** Offsets of zones, in hours. */
const ZONES: Readonly<Record<string, number>> = {
  utc: 0,
  gmt: 0,
  z: 0,
  est: -5,
  edt: -4,
  cst: -6,
  cdt: -5,
  mst: -7,
  mdt: -6,
  pst: -8,
  pdt: -7,
  bst: 1,
  cet: 1,
  cest: 2,
  jst: 9,
};
const UNITS: Readonly<Record<string, readonly [unit: "year" | "month" | "day" | "second", factor: number]>> =
  {
    year: ["year", 1],
    month: ["month", 1],
    fortnight: ["day", 14],
    week: ["day", 7],
    day: ["day", 1],
    hour: ["second", 3600],
    minute: ["second", 60],
    min: ["second", 60],
    second: ["second", 1],
    sec: ["second", 1],
  };
const ORDINALS: Readonly<Record<string, number>> = {
  last: -1,
  this: 0,
  next: 1,
  first: 1,
  third: 3,
  fourth: 4,
  fifth: 5,
  sixth: 6,
  seventh: 7,
  eighth: 8,
  ninth: 9,
  tenth: 10,
};
const DAY_WORDS: Readonly<Record<string, number>> = { today: 0, now: 0, yesterday: -1, tomorrow: 1 };

/** Fields of a date, as its text gives them. */
interface Fields {
  date?: { year: number; month: number; day: number };
  time?: { hour: number; minute: number; second: number };
  weekday?: { day: number; ordinal: number };
  offsetMinutes?: number;
  /** True if the text has a relative part, even an empty part such as `now`. */
  isRelative?: boolean;
  readonly relative: { year: number; month: number; day: number; second: number };
}

/** Reads a date as GNU's `date -d` and `touch -d` do. Returns milliseconds, or `undefined` for no date. */
export function parseDate(text: string, nowMs: number, zone: Zone): number | undefined {
  const [, seconds] = /^\s*@([-+]?\d+(?:\.\d+)?)\s*$/.exec(text) ?? [];
  if (seconds !== undefined) return Number(seconds) * 1000;
  const now = new Date(nowMs + zone(nowMs).minutes * 60_000);
  const fields = readFields(text.toLowerCase().replace(/\([^)]*\)/g, " "), now.getUTCFullYear());
  return fields && toTime(fields, now, zone);
}

function readFields(input: string, thisYear: number): Fields | undefined {
  const fields: Fields = { relative: { year: 0, month: 0, day: 0, second: 0 } };
  let rest = input;
  const take = (pattern: RegExp) => {
    const match = pattern.exec(rest);
    if (match) rest = rest.slice(match[0].length);
    return match;
  };
  for (;;) {
    take(/^[\s,]+/);
    if (rest === "") return fields;
    if (!readItem(fields, take, thisYear)) return undefined;
  }
}

type Take = (pattern: RegExp) => RegExpExecArray | null;

function readItem(fields: Fields, take: Take, thisYear: number): boolean {
  return readNumericDate(fields, take, thisYear) || readTime(fields, take) ||
    readNamedDate(fields, take, thisYear) ||
    readRelative(fields, take) || readWord(fields, take) || readDigits(fields, take);
}

function setDate(fields: Fields, year: number, month: number, day: number): boolean {
  if (fields.date) return false;
  fields.date = { year, month, day };
  return true;
}

function fullYear(text: string): number {
  const year = Number(text);
  return text.length > 2 ? year : year + (year < 69 ? 2000 : 1900);
}

function readNumericDate(fields: Fields, take: Take, thisYear: number): boolean {
  const iso = take(/^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:t(?=\d)|(?!\d))/);
  if (iso) return setDate(fields, Number(iso[1]), Number(iso[2]), Number(iso[3]));
  const short = take(/^(\d{1,2})\/(\d{1,2})(?:\/(\d{4}|\d\d))?(?!\d)/);
  if (!short) return false;
  return setDate(fields, short[3] ? fullYear(short[3]) : thisYear, Number(short[1]), Number(short[2]));
}

function readTime(fields: Fields, take: Take): boolean {
  const match = take(/^t?(\d{1,2}):(\d\d)(?::(\d\d(?:[.,]\d+)?))?\s*([ap]\.?m\.?(?![a-z]))?/) ??
    take(/^(\d{1,2})()()\s*([ap]\.?m\.?)(?![a-z])/);
  if (!match) return false;
  if (fields.time) return false;
  const [, hourText, minute = "", second = "", meridian] = match;
  let hour = Number(hourText);
  if (meridian) {
    if (hour < 1 || hour > 12) return false;
    hour = hour % 12 + (MERIDIAN.exec(meridian)?.[1] === "p" ? 12 : 0);
  }
  fields.time = { hour, minute: Number(minute || 0), second: Number(second.replace(",", ".") || 0) };
  const offset = meridian ? null : take(/^\s*([-+])\s*(\d{1,2})(?::?(\d\d))?(?!\d)/); // even that of `12:00 + 1 day`
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3] ?? 0);
    if (minutes > MAX_OFFSET_MINUTES) return false;
    fields.offsetMinutes = offset[1] === "-" ? -minutes : minutes;
  }
  return true;
}

function monthOf(name: string): number {
  const short = name.replace(/\.$/, "");
  return short.length < 3
    ? 0
    : 1 + MONTHS.findIndex((month) =>
      month === short || short === month.slice(0, 3) ||
      (short === "sept" && month === "september")
    );
}

function readNamedDate(fields: Fields, take: Take, thisYear: number): boolean {
  const first = take(
    /^(\d{1,2})(?:\s+|-)((?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\.?(?:[\s-]+(\d{4})(?!\d|:))?/,
  );
  if (first) {
    const month = monthOf(first[2] ?? "");
    return month > 0 && setDate(fields, first[3] ? Number(first[3]) : thisYear, month, Number(first[1]));
  }
  const second = take(
    /^((?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\.?[\s-]+(\d{1,2})(?![\d:])(?:,?[\s-]*(\d{4})(?![\d:]))?/,
  );
  if (!second) return false;
  const month = monthOf(second[1] ?? "");
  return month > 0 && setDate(fields, second[3] ? Number(second[3]) : thisYear, month, Number(second[2]));
}

function readRelative(fields: Fields, take: Take): boolean {
  const match = take(
    /^(?:([-+]?\s*\d+)\s*|(last|this|next|first|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\s+)?(year|month|fortnight|week|day|hour|minute|min|second|sec)s?(?![a-z])(\s+ago(?![a-z]))?/,
  );
  if (!match) return false;
  const [, number, ordinal, name = "", ago] = match;
  const [unit, factor] = UNITS[name] ?? ["day", 1];
  const count = number !== undefined
    ? Number(number.replace(/\s/g, ""))
    : ordinal
    ? ORDINALS[ordinal] ?? 1
    : 1;
  fields.isRelative = true;
  fields.relative[unit] += count * factor * (ago ? -1 : 1);
  return true;
}

function readWord(fields: Fields, take: Take): boolean {
  const ordinal = take(
    /^(last|this|next|first|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\s+(?=[a-z])/,
  )?.[1];
  const word = take(/^[a-z]+\.?/)?.[0].replace(/\.$/, "");
  if (word === undefined) return false;
  const weekday = word.length < 3
    ? -1
    : WEEKDAYS.findIndex((name) =>
      name === word || name.slice(0, 3) === word ||
      (["tues", "wednes", "thur", "thurs"].includes(word) && name.startsWith(word))
    );
  if (weekday >= 0) {
    if (fields.weekday) return false;
    fields.weekday = { day: weekday, ordinal: ordinal ? ORDINALS[ordinal] ?? 0 : 0 };
    return true;
  }
  if (ordinal) return false;
  const days = DAY_WORDS[word];
  if (days !== undefined) {
    fields.relative.day += days;
    fields.isRelative = true;
    return true;
  }
  const hours = ZONES[word];
  if (hours === undefined || fields.offsetMinutes !== undefined) return false;
  fields.offsetMinutes = hours * 60;
  return true;
}

/** Reads digits alone: a date of eight, or a time of two or four; behind a date and a time, a year. */
function readDigits(fields: Fields, take: Take): boolean {
  const [digits] = take(/^\d+(?![\d:])/) ?? [];
  if (digits === undefined) return false;
  if (fields.date && fields.time && digits.length === 4) {
    fields.date.year = Number(digits);
    return true;
  }
  if (digits.length === 8) {
    return setDate(fields, Number(digits.slice(0, 4)), Number(digits.slice(4, 6)), Number(digits.slice(6)));
  }
  if (fields.time || digits.length > 4 || digits.length === 3) return false;
  const [hour, minute] = digits.length <= 2 ? [digits, "0"] : [digits.slice(0, 2), digits.slice(2)];
  fields.time = { hour: Number(hour), minute: Number(minute), second: 0 };
  return true;
}

function toTime(fields: Fields, now: Date, zone: Zone): number | undefined {
  const { date, time, weekday, relative, offsetMinutes } = fields;
  const { year, month, day } = date ??
    { year: now.getUTCFullYear(), month: now.getUTCMonth() + 1, day: now.getUTCDate() };
  const isEmpty = !fields.isRelative && !time;
  const isAtMidnight = date !== undefined || weekday !== undefined || isEmpty;
  const clockTime = time ?? (isAtMidnight ? { hour: 0, minute: 0, second: 0 } : {
    hour: now.getUTCHours(),
    minute: now.getUTCMinutes(),
    second: now.getUTCSeconds() + now.getUTCMilliseconds() / 1000,
  });
  if (clockTime.hour > 23 || clockTime.minute > 59 || clockTime.second >= 61) return undefined;
  const given = new Date(Date.UTC(year, month - 1, day));
  given.setUTCFullYear(year, month - 1, day);
  if (given.getUTCMonth() !== month - 1 || given.getUTCDate() !== day) return undefined;
  const moved = new Date(given);
  moved.setUTCFullYear(year + relative.year, month - 1 + relative.month, day + relative.day);
  if (weekday && !date) {
    const distance = (weekday.day - moved.getUTCDay() + 7) % 7;
    const ordinal = weekday.ordinal - (weekday.ordinal > 0 && distance !== 0 ? 1 : 0);
    moved.setUTCDate(moved.getUTCDate() + distance + 7 * ordinal);
  }
  const seconds = clockTime.hour * 3600 + clockTime.minute * 60 + clockTime.second;
  const local = moved.getTime() + Math.round(seconds * 1e6) / 1000;
  const utc = offsetMinutes === undefined ? fromLocal(local, zone) : local - offsetMinutes * 60_000;
  return utc + relative.second * 1000;
}

/** Converts a local time of a zone to UTC. */
function fromLocal(localMs: number, zone: Zone): number {
  const first = localMs - zone(localMs).minutes * 60_000;
  return localMs - zone(first).minutes * 60_000;
}

/** Number of the week of ISO 8601 and its year. */
function isoWeek(local: Date): { year: number; week: number } {
  const thursday = new Date(local);
  thursday.setUTCDate(local.getUTCDate() + 3 - (local.getUTCDay() + 6) % 7);
  const year = thursday.getUTCFullYear();
  return { year, week: 1 + Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY_MS)) };
}

interface Field {
  readonly text: string;
  readonly width: number;
  readonly pad: "0" | "_" | "";
}

const title = (name = "") => name.charAt(0).toUpperCase() + name.slice(1);

/** Formats a time as `strftime` of glibc does in the locale C, with the flags of `date`. */
export function formatDate(format: string, timeMs: number, zone: Zone): string {
  const offset = zone(timeMs).minutes;
  const local = new Date(Math.floor(timeMs) + offset * 60_000);
  return format.replace(
    /%([-_0^#+]*)(\d*)([EO]?)(:{0,3})([a-zA-Z%])/g,
    (all, flags: string, width: string, _modifier, colons: string, letter: string) => {
      if (colons !== "" && letter !== "z") return all;
      const field = colons !== "" || letter === "z"
        ? { text: offsetText(offset, colons.length), width: 0, pad: "" } as const
        : fieldOf(letter, { local, timeMs, zone });
      if (field === undefined) return all;
      return flagged(field, flags, Number(width || 0), letter);
    },
  );
}

function flagged(field: Field, flags: string, width: number, letter: string): string {
  let { text } = field;
  const flag = /[-_0]/.exec([...flags].reverse().join(""))?.[0];
  if (letter === "N") {
    if (flag === "-") return text.replace(/0+$/, "") || "0";
    return width > 0 ? text.slice(0, width).padEnd(width, "0") : text;
  }
  const pad = flag === "-" ? "" : flag ?? field.pad;
  const size = flag === "-" ? 0 : width || field.width;
  const sign = text.startsWith("-") ? "-" : "";
  const filler = pad === "0" ? "0" : " ";
  if (size > 0) {
    text = filler === "0"
      ? sign + text.slice(sign.length).padStart(size - sign.length, "0")
      : text.padStart(size, " ");
  }
  if (flags.includes("^")) text = text.toUpperCase();
  if (flags.includes("#")) text = letter === "Z" || letter === "p" ? text.toLowerCase() : text.toUpperCase();
  return text;
}

function offsetText(minutes: number, colons: number): string {
  const sign = minutes < 0 ? "-" : "+";
  const hour = String(Math.floor(Math.abs(minutes) / 60)).padStart(2, "0");
  const minute = String(Math.abs(minutes) % 60).padStart(2, "0");
  if (colons === 0) return `${sign}${hour}${minute}`;
  if (colons === 1) return `${sign}${hour}:${minute}`;
  if (colons === 2) return `${sign}${hour}:${minute}:00`;
  return minute === "00" ? `${sign}${hour}` : `${sign}${hour}:${minute}`;
}

/** Directives that stand for several others. */
const COMPOUND: Readonly<Record<string, string>> = {
  c: "%a %b %e %H:%M:%S %Y",
  D: "%m/%d/%y",
  F: "%Y-%m-%d",
  h: "%b",
  r: "%I:%M:%S %p",
  R: "%H:%M",
  T: "%H:%M:%S",
  x: "%m/%d/%y",
  X: "%H:%M:%S",
  n: "\n",
  t: "\t",
};

function fieldOf(
  letter: string,
  { local, timeMs, zone }: { local: Date; timeMs: number; zone: Zone },
): Field | undefined {
  const compound = COMPOUND[letter];
  if (compound !== undefined) return { text: formatDate(compound, timeMs, zone), width: 0, pad: "_" };
  const number = (value: number, width: number, pad: Field["pad"] = "0") => ({
    text: String(value),
    width,
    pad,
  });
  const word = (text: string) => ({ text, width: 0, pad: "_" as const });
  const yearStart = Date.UTC(local.getUTCFullYear(), 0, 1);
  const dayOfYear = Math.floor((local.getTime() - yearStart) / DAY_MS);
  const [weekday, hour] = [local.getUTCDay(), local.getUTCHours()];
  const fields: Readonly<Record<string, () => Field>> = {
    "%": () => word("%"),
    a: () => word(title(WEEKDAYS[weekday]?.slice(0, 3))),
    A: () => word(title(WEEKDAYS[weekday])),
    b: () => word(title(MONTHS[local.getUTCMonth()]?.slice(0, 3))),
    B: () => word(title(MONTHS[local.getUTCMonth()])),
    C: () => number(Math.floor(local.getUTCFullYear() / 100), 2),
    d: () => number(local.getUTCDate(), 2),
    e: () => number(local.getUTCDate(), 2, "_"),
    g: () => number(isoWeek(local).year % 100, 2),
    G: () => number(isoWeek(local).year, 4),
    H: () => number(hour, 2),
    I: () => number(hour % 12 || 12, 2),
    j: () => number(dayOfYear + 1, 3),
    k: () => number(hour, 2, "_"),
    l: () => number(hour % 12 || 12, 2, "_"),
    m: () => number(local.getUTCMonth() + 1, 2),
    M: () => number(local.getUTCMinutes(), 2),
    N: () => word(String(Math.round((((timeMs % 1000) + 1000) % 1000) * 1e6)).padStart(9, "0")),
    p: () => word(hour < 12 ? "AM" : "PM"),
    P: () => word(hour < 12 ? "am" : "pm"),
    q: () => number(1 + Math.floor(local.getUTCMonth() / 3), 1),
    s: () => number(Math.floor(timeMs / 1000), 1),
    S: () => number(local.getUTCSeconds(), 2),
    u: () => number(weekday || 7, 1),
    U: () => number(Math.floor((dayOfYear + 7 - weekday) / 7), 2),
    V: () => number(isoWeek(local).week, 2),
    w: () => number(weekday, 1),
    W: () => number(Math.floor((dayOfYear + 7 - (weekday + 6) % 7) / 7), 2),
    y: () => number(local.getUTCFullYear() % 100, 2),
    Y: () => number(local.getUTCFullYear(), 4),
    Z: () => word(zone(timeMs).name),
  };
  return Object.hasOwn(fields, letter) ? fields[letter]?.() : undefined;
}

const ISO_FORMATS: Readonly<Record<string, string>> = {
  "": "%Y-%m-%d",
  date: "%Y-%m-%d",
  hours: "%Y-%m-%dT%H%:z",
  minutes: "%Y-%m-%dT%H:%M%:z",
  seconds: "%Y-%m-%dT%H:%M:%S%:z",
  ns: "%Y-%m-%dT%H:%M:%S,%N%:z",
};
const RFC_3339_FORMATS: Readonly<Record<string, string>> = {
  date: "%Y-%m-%d",
  seconds: "%Y-%m-%d %H:%M:%S%:z",
  ns: "%Y-%m-%d %H:%M:%S.%N%:z",
};

/** `date` of GNU coreutils 9.1. */
export const date: GnuCommand = (args, { files, cwd, variables, stdin, print, warn }) => {
  const joined = args.map((word) =>
    /^-[uR]*I./.test(word) && !word.startsWith("--") ? word.replace("I", "-iso-8601=") : word
  );
  const flat = joined.flatMap((word) => {
    const [, flags, iso] = /^-([uR]*)(-iso-8601=.*)$/.exec(word) ?? [];
    return iso === undefined ? [word] : [...flags ? [`-${flags}`] : [], `-${iso}`];
  });
  const options = parseOptions(flat, OPTIONS);
  const fail = (message: string): never => {
    throw new UsageError(message, { hasHint: false });
  };
  if (options.has("s")) fail("cannot set the date in the sandbox");
  const zone = zoneOf({ files, variables: options.has("u") || options.has("universal") ? {} : variables });
  let format: string | undefined;
  for (const { name, value } of options.given) {
    if (name === "R" || name === "rfc-822" || name === "rfc-2822") format = "%a, %d %b %Y %H:%M:%S %z";
    if (name === "I" || name === "iso-8601") {
      format = ISO_FORMATS[value] ?? fail(`invalid argument '${value}' for '--iso-8601'`);
    }
    if (name === "rfc-3339") {
      format = RFC_3339_FORMATS[value] ?? fail(`invalid argument '${value}' for '--rfc-3339'`);
    }
  }
  const [operand, extra] = options.operands;
  if (extra !== undefined) throw new UsageError(`extra operand '${unicodeText(extra)}'`);
  if (operand !== undefined) {
    if (!operand.startsWith("+")) {
      fail(
        /^\d+$/.test(operand)
          ? "cannot set the date in the sandbox"
          : `invalid date '${unicodeText(operand)}'`,
      );
    }
    if (format !== undefined) fail("multiple output formats specified");
    format = operand.slice(1);
  }
  const show = (timeMs: number) => {
    print(`${formatDate(format ?? "%a %b %e %H:%M:%S %Z %Y", timeMs, zone)}\n`);
  };
  const text = options.value("d");
  const listName = options.value("f");
  const reference = options.value("r");
  if ([text, listName, reference].filter((value) => value !== undefined).length > 1) {
    throw new UsageError("the options to specify dates for printing are mutually exclusive");
  }
  try {
    if (reference !== undefined) show(files.status(pathOf(cwd, reference)).changedMs);
    else if (listName !== undefined) {
      const lines = listName === "-" ? stdin : String.fromCharCode(...files.read(pathOf(cwd, listName)));
      let failed = false;
      for (const line of lines.replace(/\n$/, "").split("\n")) {
        const timeMs = parseDate(line, Date.now(), zone);
        if (timeMs !== undefined) show(timeMs);
        else {
          warn(`invalid date '${unicodeText(line)}'`);
          failed = true;
        }
      }
      return failed ? 1 : 0;
    } else if (text !== undefined) {
      show(parseDate(text, Date.now(), zone) ?? fail(`invalid date '${unicodeText(text)}'`));
    } else show(Date.now());
    return 0;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    warn(`${unicodeText(reference ?? listName ?? "")}: ${errorText(error)}`);
    return 1;
  }
};
