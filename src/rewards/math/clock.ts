/** A time of the day. */
interface Clock {
  readonly hour: number;
  /** Minutes and seconds, as `:30` or ``. */
  readonly rest: string;
  /** The half of the day; `undefined` if the text does not name the half. */
  readonly half: "am" | "pm" | undefined;
}

const CLOCK = /^(\d{1,2})(?::(\d\d)(?::(\d\d))?)?\s?(?:([ap])\.?\s?m\.?)?$/i;
const WORDS: Readonly<Record<string, Clock>> = {
  noon: { hour: 12, rest: "", half: "pm" },
  midnight: { hour: 12, rest: "", half: "am" },
};

/** Mark of every time of the day. */
const TIME = /:|[ap]\.?\s?m|noon|midnight/i;

/**
 * Returns whether two times are the same; `undefined` if the texts are not to be compared as times. The half of the
 * day is a part of a time: `9:00` is not `9:00 PM`, and `9 PM` not 9. An expected time without half, and below
 * 13:00, may have either.
 */
export function isSameTime(given: string, truth: string): boolean | undefined {
  if (!TIME.test(given) && !TIME.test(truth)) return undefined;
  const [first, second] = [clockOf(given), clockOf(truth)];
  if (first === undefined || second === undefined) return undefined;
  if (!TIME.test(given) || !TIME.test(truth)) return false;
  if (first.rest !== second.rest) return false;
  if (second.half === undefined && isTwelve(second) && isTwelve(first)) return first.hour === second.hour;
  const [hour, expected] = [hourOfDay(first), hourOfDay(second)];
  return hour !== undefined && hour === expected;
}

function clockOf(text: string): Clock | undefined {
  const plain = text.replace(/\\(?:text|mbox|mathrm|textrm|textbf)\s?\{([^{}]*)\}/g, " $1")
    .replace(/\\!|\$/g, "").replace(/\\[ ,;:]|~/g, " ").replace(/\s+/g, " ").trim();
  const [, hour, minutes = "00", seconds = "00", half] = CLOCK.exec(plain) ?? [];
  if (hour === undefined) return WORDS[plain.toLowerCase().replace(/^12(?::00)? /, "")];
  const rest = [minutes, seconds].join(":").replace(/(?::?00)+$/, "");
  return {
    hour: Number(hour),
    rest,
    half: half === undefined ? undefined : half.toLowerCase() === "a" ? "am" : "pm",
  };
}

function isTwelve({ hour }: Clock): boolean {
  return hour >= 1 && hour <= 12;
}

/** Returns the hour from 0 to 23; `undefined` for an hour from 1 to 12 without a half. */
function hourOfDay({ hour, half }: Clock): number | undefined {
  if (half !== undefined) return (hour % 12) + (half === "pm" ? 12 : 0);
  return isTwelve({ hour, rest: "", half }) ? undefined : hour;
}
