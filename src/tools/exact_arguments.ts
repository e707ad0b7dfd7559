/** Third argument of a `JSON.parse` reviver in newer engines. TypeScript does not declare it yet. */
interface SourceOf {
  readonly source?: string;
}

const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** A number that JavaScript would write differently: `50.0`, `1e2`, or one with 16 or more digits. */
const ODD_NUMBER = /\d\.\d*0(?!\d)|\d[eE]|\d{16}/;

/**
 * Returns the arguments of each call in a JSON value (an object or a list of objects) as JSON text that
 * keeps each number as the model wrote it. Returns an empty list when no number would change, or when the
 * text is not strict JSON.
 */
export function exactArgumentTexts(json: string): (string | undefined)[] {
  const value = exactValue(json);
  return value === undefined ? [] : (Array.isArray(value) ? value : [value]).map(argumentsText);
}

/** Returns the text of a JSON object of arguments, trimmed, or `undefined` when parsing it loses nothing. */
export function exactText(json: string): string | undefined {
  const value = exactValue(json);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? json.trim() : undefined;
}

function exactValue(json: string): unknown {
  if (!ODD_NUMBER.test(json)) return undefined;
  try {
    return JSON.parse(json, keepNumber);
  } catch {
    return undefined; // `NaN` and similar values, which other programs accept as JSON
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
  const value = args ?? parameters;
  if (typeof value === "string") return exactText(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : undefined;
}
