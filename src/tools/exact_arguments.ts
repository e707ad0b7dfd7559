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
  if (!ODD_NUMBER.test(json)) return [];
  try {
    const value: unknown = JSON.parse(json, keepNumber);
    return (Array.isArray(value) ? value : [value]).map(argumentsText);
  } catch {
    return []; // NaN and the like, which other programs take for JSON
  }
}

function keepNumber(_key: string, value: unknown, context?: SourceOf): unknown {
  return typeof value === "number" && context?.source !== undefined ? rawJson(context.source) : value;
}

function argumentsText(call: unknown): string | undefined {
  if (typeof call !== "object" || call === null) return undefined;
  const { arguments: args, parameters } = call as Record<string, unknown>;
  const given = args ?? parameters;
  if (typeof given === "string") return given;
  return typeof given === "object" && given !== null ? JSON.stringify(given) : undefined;
}
