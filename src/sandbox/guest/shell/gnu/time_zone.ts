import type { CommandContext } from "./command.ts";

/** Returns offset from UTC, in minutes, and abbreviation of a zone at a time in milliseconds. */
export type Zone = (timeMs: number) => { readonly minutes: number; readonly name: string };

const UTC: Zone = () => ({ minutes: 0, name: "UTC" });
const DIRECTORY = "/usr/share/zoneinfo/";
const HEADER_BYTES = 44;

/** Zones that were read from files, by name. */
const zones = new Map<string, Zone>();

/** Returns the zone that `TZ` names. As for the C library, an unknown name is UTC under that name. */
export function zoneOf({ files, variables }: Pick<CommandContext, "files" | "variables">): Zone {
  const name = (variables["TZ"] ?? "").replace(/^:/, "");
  if (name === "" || name === "UTC") return UTC;
  if (!name.split("/").includes("..")) {
    try {
      const zone = zones.get(name) ?? parseZoneFile(files.read(DIRECTORY + name));
      if (zone) zones.set(name, zone);
      return zone ?? UTC;
    } catch {
      // The name is no file's: it may be a rule.
    }
  }
  const known = /^[A-Za-z]+/.exec(name)?.[0] ?? "UTC";
  return parseRule(name) ?? (() => ({ minutes: 0, name: known }));
}

/** Parses the data of 64 bits of a file in the format TZif. */
function parseZoneFile(bytes: Uint8Array): Zone | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const counts = (at: number) => [0, 1, 2, 3, 4, 5].map((index) => view.getUint32(at + 20 + 4 * index));
  const [utcs = 0, standards = 0, leaps = 0, times = 0, types = 0, letters = 0] = counts(0);
  const second = HEADER_BYTES + times * 5 + types * 6 + letters + leaps * 8 + standards + utcs;
  if (view.getUint32(0) !== 0x545a6966 || view.getUint8(4) < 0x32) return undefined;
  const [utcs2 = 0, standards2 = 0, leaps2 = 0, timeCount = 0, typeCount = 0, letterCount = 0] = counts(
    second,
  );
  const start = second + HEADER_BYTES;
  const typesAt = start + timeCount * 9;
  const lettersAt = typesAt + typeCount * 6;
  const footerAt = lettersAt + letterCount + leaps2 * 12 + standards2 + utcs2;
  const text = (from: number, end: string) => {
    let to = from;
    while (to < bytes.length && bytes[to] !== end.charCodeAt(0)) to++;
    return String.fromCharCode(...bytes.subarray(from, to));
  };
  const typeOf = (index: number) => ({
    minutes: view.getInt32(typesAt + index * 6) / 60,
    name: text(lettersAt + view.getUint8(typesAt + index * 6 + 5), "\0"),
  });
  const changes = Array.from({ length: timeCount }, (_, index) => ({
    at: Number(view.getBigInt64(start + index * 8)) * 1000,
    type: view.getUint8(start + timeCount * 8 + index),
  }));
  const rule = parseRule(text(footerAt + 1, "\n"));
  return (timeMs) => {
    const last = changes.at(-1);
    if (rule && (!last || timeMs >= last.at)) return rule(timeMs);
    return typeOf(changes.findLast(({ at }) => at <= timeMs)?.type ?? 0);
  };
}

const NAME = "([A-Za-z]{3,}|<[-+\\w]+>)";
const OFFSET = "([-+]?\\d{1,3}(?::\\d\\d){0,2})";
const RULE = new RegExp(`^${NAME}${OFFSET}(?:${NAME}${OFFSET}?(?:,([^,]+),([^,]+))?)?$`);

/** Parses a rule of POSIX such as `EST5EDT,M3.2.0,M11.1.0`. */
function parseRule(text: string): Zone | undefined {
  const [, name, offset, summerName, summerOffset, start = "M3.2.0", end = "M11.1.0"] = RULE.exec(text) ?? [];
  if (name === undefined || offset === undefined) return undefined;
  const plain = (word: string) => word.replace(/[<>]/g, "");
  const standard = { minutes: -minutesOf(offset), name: plain(name) };
  if (summerName === undefined) return () => standard;
  const summer = {
    minutes: summerOffset === undefined ? standard.minutes + 60 : -minutesOf(summerOffset),
    name: plain(summerName),
  };
  return (timeMs) => {
    const year = new Date(timeMs + standard.minutes * 60_000).getUTCFullYear();
    const from = changeOf(start, year) - standard.minutes * 60_000;
    const to = changeOf(end, year) - summer.minutes * 60_000;
    const isSummer = from < to ? timeMs >= from && timeMs < to : timeMs >= from || timeMs < to;
    return isSummer ? summer : standard;
  };
}

function minutesOf(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[-+]/, "").split(":").map(Number);
  return (text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes + seconds / 60);
}

/** Local time, in milliseconds, of a change such as `M3.2.0/2` in a year. */
function changeOf(rule: string, year: number): number {
  const [day = "", time = "2"] = rule.split("/");
  const hours = minutesOf(time) * 60_000;
  const [, month, week, weekday] = /^M(\d+)\.(\d)\.(\d)$/.exec(day)?.map(Number) ?? [];
  if (month !== undefined && week !== undefined && weekday !== undefined) {
    const first = new Date(Date.UTC(year, month - 1, 1)).getUTCDay();
    const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
    let date = 1 + (weekday - first + 7) % 7 + (week - 1) * 7;
    if (date > length) date -= 7;
    return Date.UTC(year, month - 1, date) + hours;
  }
  const isJulian = day.startsWith("J");
  const count = Number(day.replace(/^J/, ""));
  const isLeap = new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;
  const skipped = isJulian && isLeap && count >= 60 ? 1 : 0;
  return Date.UTC(year, 0, isJulian ? count + skipped : count + 1) + hours;
}
