import type { FileStatus } from "../command.ts";
import { formatDate } from "../date.ts";
import type { Zone } from "../time_zone.ts";

/** The user and the group that own all files. */
export const OWNER = "pyodide";
const BLOCK_BYTES = 4096;
const KIND_SIGNS = { file: "-", directory: "d", link: "l", device: "c" } as const;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** Returns type and permissions as `ls -l` prints them, such as `-rw-r--r--`. */
export function modeText({ kind, mode }: FileStatus): string {
  const signs = [..."rwxrwxrwx"].map((sign, at) => mode >> (8 - at) & 1 ? sign : "-");
  const special = (at: number, bit: number, letter: string) => {
    if (mode & bit) signs[at] = signs[at] === "x" ? letter : letter.toUpperCase();
  };
  special(2, 0o4000, "s");
  special(5, 0o2000, "s");
  special(8, 0o1000, "t");
  return KIND_SIGNS[kind] + signs.join("");
}

/** Size on disk in blocks of 1024 bytes. */
export function blocksOf({ kind, size }: FileStatus): number {
  if (kind === "directory") return BLOCK_BYTES / 1024;
  if (kind !== "file") return 0;
  return Math.ceil(size / BLOCK_BYTES) * (BLOCK_BYTES / 1024);
}

/** A time in the parts that formats name. */
export interface TimeParts {
  readonly year: string;
  readonly month: string;
  readonly monthName: string;
  readonly day: string;
  readonly weekday: number;
  readonly hour: string;
  readonly minute: string;
  readonly second: string;
  /** Nine digits. */
  readonly nanoseconds: string;
  /** Difference from UTC, such as `+0000`. */
  readonly offset: string;
  /** Abbreviation of the zone. */
  readonly zone: string;
}

/** Splits a time in a zone. */
export function timeParts(timeMs: number, zone: Zone): TimeParts {
  const offsetMinutes = zone(timeMs).minutes;
  const local = new Date(timeMs + offsetMinutes * 60_000);
  const two = (value: number) => String(value).padStart(2, "0");
  const distance = Math.abs(offsetMinutes);
  const fraction = ((timeMs % 1000) + 1000) % 1000;
  return {
    year: String(local.getUTCFullYear()),
    month: two(local.getUTCMonth() + 1),
    monthName: MONTHS[local.getUTCMonth()] ?? "",
    day: two(local.getUTCDate()),
    weekday: local.getUTCDay(),
    hour: two(local.getUTCHours()),
    minute: two(local.getUTCMinutes()),
    second: two(local.getUTCSeconds()),
    nanoseconds: String(Math.round(fraction * 1e6)).padStart(9, "0"),
    offset: `${offsetMinutes < 0 ? "-" : "+"}${two(Math.floor(distance / 60))}${two(distance % 60)}`,
    zone: zone(timeMs).name,
  };
}

/** Returns what a directive of `find -printf` prints of a status; `undefined` if the directive is another. */
export function formatStatus(
  directive: string,
  status: FileStatus,
  zone: Zone,
): string | undefined {
  const timeMs = timeOf(status, directive);
  const time = () => timeParts(timeMs, zone);
  switch (directive) {
    case "s":
      return String(status.size);
    case "b":
      return String(blocksOf(status) * 2);
    case "k":
      return String(blocksOf(status));
    case "S":
      return "1";
    case "m":
      return (status.mode & 0o7777).toString(8);
    case "M":
      return modeText(status);
    case "i":
      return String(status.inode);
    case "u":
    case "g":
      return OWNER;
    case "U":
    case "G":
      return "0";
    case "a":
    case "c":
    case "t":
      return longTime(time());
    default:
      return /^[ACT]./.test(directive) ? timeField(directive.slice(1), timeMs, zone) : undefined;
  }
}

/** Returns the time that a directive such as `%a`, `%Cc` or `%T@` names. */
function timeOf({ accessedMs, changedMs, statusMs }: FileStatus, directive: string): number {
  if (/^(?:a$|A.)/.test(directive)) return accessedMs;
  return /^(?:c$|C.)/.test(directive) ? statusMs : changedMs;
}

/** `ctime` with a fraction of the second, as `find` prints it. */
function longTime({ weekday, monthName, day, hour, minute, second, nanoseconds, year }: TimeParts): string {
  return `${DAYS[weekday]} ${monthName} ${
    day.replace(/^0/, " ")
  } ${hour}:${minute}:${second}.${nanoseconds}0 ${year}`;
}

function timeField(letter: string, timeMs: number, zone: Zone): string | undefined {
  const parts = timeParts(timeMs, zone);
  const seconds = `${parts.second}.${parts.nanoseconds}0`;
  const fields: Readonly<Record<string, string>> = {
    "@": `${Math.floor(timeMs / 1000)}.${parts.nanoseconds}0`,
    "+": `${parts.year}-${parts.month}-${parts.day}+${parts.hour}:${parts.minute}:${seconds}`,
    H: parts.hour,
    M: parts.minute,
    S: seconds,
    T: `${parts.hour}:${parts.minute}:${seconds}`,
    Y: parts.year,
    y: parts.year.slice(-2),
    m: parts.month,
    d: parts.day,
    e: parts.day.replace(/^0/, " "),
    b: parts.monthName,
    h: parts.monthName,
    a: DAYS[parts.weekday] ?? "",
    D: `${parts.month}/${parts.day}/${parts.year.slice(-2)}`,
    F: `${parts.year}-${parts.month}-${parts.day}`,
    Z: parts.zone,
    z: parts.offset,
    w: String(parts.weekday),
    X: `${parts.hour}:${parts.minute}:${seconds}`,
    R: `${parts.hour}:${parts.minute}`,
  };
  return fields[letter] ?? (/[A-Za-z]/.test(letter) ? formatDate(`%${letter}`, timeMs, zone) : undefined);
}
