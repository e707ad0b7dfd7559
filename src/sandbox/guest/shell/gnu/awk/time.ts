import type { Zone } from "../time_zone.ts";

/**
 * Returns the seconds of a time such as `2024 01 31 12 30 00`, as `mktime()` of gawk does: parts may be out of range, and
 * a seventh part tells about summer time. -1 if the text is no time.
 */
export function makeTime(text: string, zone: Zone): number {
  const parts = text.trim().split(/\s+/).map(Number);
  if (parts.length < 6 || parts.some((part) => !Number.isFinite(part))) return -1;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.map(Math.trunc);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const localMs = date.getTime();
  const firstMs = localMs - zone(localMs).minutes * 60_000;
  return Math.floor((localMs - zone(firstMs).minutes * 60_000) / 1000);
}
