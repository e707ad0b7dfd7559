/** Numbers from here on, and small fractions, are written with an exponent. */
const LARGE = 1e12;
const SMALL = 1e-4;

// Made once, as toLocaleString() makes a formatter for each number, which takes longer than the rest of a page.
const FORMATS = {
  short: new Intl.NumberFormat("en", { maximumFractionDigits: 1 }),
  exact: new Intl.NumberFormat("en", { maximumFractionDigits: 4 }),
  compact: new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }),
};

/** Formats a number with at most four decimal places; an en dash for none. */
export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size === Infinity) return value > 0 ? "∞" : "−∞";
  if (size >= LARGE || (size > 0 && size < SMALL)) return toScientific(value);
  return FORMATS[size >= 100 ? "short" : "exact"].format(value);
}

/** Formats a number for the axis of a plot, in at most seven characters: a number with an exponent has one digit. */
export function formatAxis(value: number): string {
  const size = Math.abs(value);
  if (size >= LARGE || size < SMALL) return formatNumber(+value.toPrecision(1));
  if (size < 10_000) return formatNumber(+value.toPrecision(3));
  return FORMATS.compact.format(value);
}

function toScientific(value: number): string {
  return Number(value.toPrecision(3)).toExponential().replace("e+", "e");
}

/** Formats a count that is 0 if unknown. */
export function formatKnown(count: number | undefined): string {
  return count === 0 ? "–" : formatNumber(count);
}

/** Formats a change with the sign. */
export function formatChange(value: number): string {
  return signOf(value) + formatNumber(Math.abs(value));
}

/** Returns the sign of a change. */
export function signOf(value: number): string {
  return value > 0 ? "+" : value < 0 ? "−" : "±";
}

/** Formats a duration. */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 100_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 120
    ? `${minutes} min ${Math.round(ms / 1_000) % 60} s`
    : `${formatNumber(Math.round(ms / 360_000) / 10)} h`;
}

/** Formats a size. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${formatNumber(Math.round(bytes / 1024 ** power * 10) / 10)} ${units[power]}`;
}
