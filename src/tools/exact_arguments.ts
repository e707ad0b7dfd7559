/** What newer engines tell a reviver, and offer it; not yet in TypeScript's own declarations. */
interface SourceOf {
  readonly source?: string;
}

const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** A number that JavaScript writes in another way than it was written: `50.0`, `1e2`, or one of many digits. */
const ODD_NUMBER = /\d\.\d*0(?!\d)|\d[eE]|\d{16}/;

/**
 * The arguments of each call in a JSON value, an object or a list of them, as text in which numbers are as they were
 * written. Nothing where that tells no more than the arguments themselves, or the text is no plain JSON.
 */
export function exactArguments(json: string): (string | undefined)[] {
  const value = exactValue(json);
  return value === undefined ? [] : (Array.isArray(value) ? value : [value]).map(argumentsText);
}

/** A text that is arguments and nothing else, where it tells more than they do. */
export function exactText(json: string): string | undefined {
  const value = exactValue(json);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? json.trim() : undefined;
}

function exactValue(json: string): unknown {
  if (!ODD_NUMBER.test(json)) return undefined;
  try {
    return JSON.parse(json, keepNumber);
  } catch {
    return undefined; // NaN and the like, which other programs take for JSON
  }
}

function keepNumber(_key: string, value: unknown, context?: SourceOf): unknown {
  return typeof value === "number" && context?.source !== undefined ? rawJson(context.source) : value;
}

function argumentsText(call: unknown): string | undefined {
  if (typeof call !== "object" || call === null) return undefined;
  const { function: inner, ...outer } = call as Record<string, unknown>;
  const { arguments: args, parameters } =
    (typeof inner === "object" && inner !== null ? inner : outer) as Record<
      string,
      unknown
    >;
  const given = args ?? parameters;
  if (typeof given === "string") return exactText(given);
  return typeof given === "object" && given !== null ? JSON.stringify(given) : undefined;
}
