/** Unit of the timestamps and times of a column. */
export type TimeUnit = "MILLIS" | "MICROS" | "NANOS";

const PER_SECOND: Readonly<Record<TimeUnit, bigint>> = {
  MILLIS: 1_000n,
  MICROS: 1_000_000n,
  NANOS: 1_000_000_000n,
};

const DAY_SECONDS = 86_400n;
/** The Gregorian calendar repeats after 400 years. */
const [CYCLE_YEARS, CYCLE_DAYS] = [400n, 146_097n];

/** DuckDB stores `infinity` as the largest number of a type, and `-infinity` as the negative of that number. */
const [INFINITE_DAYS, INFINITE_COUNT] = [2 ** 31 - 1, 2n ** 63n - 1n];

/** Returns a date as ISO 8601, with the time 00:00 in UTC. `days` counts from 1970-01-01. */
export function dateText(days: number): string {
  if (Math.abs(days) === INFINITE_DAYS) return days > 0 ? "infinity" : "-infinity";
  return `${secondsText(BigInt(days) * DAY_SECONDS)}.000Z`;
}

/**
 * Returns a timestamp as ISO 8601 in UTC, with 3 digits of the second, or 6 or 9 if they are not zero. `count` counts
 * from 1970-01-01 in the unit.
 */
export function timestampText(count: bigint, unit: TimeUnit): string {
  // The largest number of nanoseconds is a date of 2262, the last date of pandas.
  if (unit !== "NANOS" && (count === INFINITE_COUNT || count === -INFINITE_COUNT)) {
    return count > 0n ? "infinity" : "-infinity";
  }
  const [seconds, rest] = divideDown(count, PER_SECOND[unit]);
  const digits = String(rest * (PER_SECOND.NANOS / PER_SECOND[unit])).padStart(9, "0");
  return `${secondsText(seconds)}.${digits.replace(/(?<=^(?:...){1,2})(?:000)+$/, "")}Z`;
}

/** Returns a time of day, such as `12:30:00` and `12:30:00.25`. `count` counts from midnight in the unit. */
export function timeText(count: bigint, unit: TimeUnit): string {
  const [seconds, rest] = divideDown(count, PER_SECOND[unit]);
  const [minutes, second] = divideDown(seconds, 60n);
  const [hour, minute] = divideDown(minutes, 60n);
  const time = [hour, minute, second].map((part) => String(part).padStart(2, "0")).join(":");
  const digits = String(rest + PER_SECOND[unit]).slice(1).replace(/0+$/, "");
  return digits === "" ? time : `${time}.${digits}`;
}

/** Returns an interval of 12 bytes (months, days, milliseconds) as a duration of ISO 8601, such as `P1M2DT3.5S`. */
export function intervalText(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [months, days, millis] = [0, 4, 8].map((at) => view.getUint32(at, true));
  const seconds = Number(millis) / 1_000;
  const text = (months ? `${months}M` : "") + (days ? `${days}D` : "") + (seconds ? `T${seconds}S` : "");
  return `P${text || "T0S"}`;
}

/** Returns a time without the fraction as ISO 8601. `Date` has no years beyond 275760, which are counted apart. */
function secondsText(seconds: bigint): string {
  const [cycles, rest] = divideDown(seconds, CYCLE_DAYS * DAY_SECONDS);
  const iso = new Date(Number(rest) * 1_000).toISOString();
  const year = BigInt(iso.slice(0, 4)) + cycles * CYCLE_YEARS;
  const digits = String(year < 0n ? -year : year);
  const isShort = year >= 0n && year <= 9_999n;
  const sign = isShort ? "" : year < 0n ? "-" : "+";
  return `${sign}${digits.padStart(isShort ? 4 : 6, "0")}${iso.slice(4, 19)}`;
}

/** Returns the quotient, rounded down, and the rest, which is not negative. */
function divideDown(value: bigint, by: bigint): [bigint, bigint] {
  const rest = ((value % by) + by) % by;
  return [(value - rest) / by, rest];
}
