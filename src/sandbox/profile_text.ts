import { parse } from "@std/jsonc";

/** Reads JSON with comments; what is wrong with it is thrown as a `SyntaxError` that says where. */
export function parseProfileText(text: string, source: string): unknown {
  const value = parseJsonc(text, source);
  if (hasPrototypeKey(value)) {
    throw new SyntaxError(`Cannot read profile '${source}' as '__proto__' is an unknown key`);
  }
  return value;
}

function parseJsonc(text: string, source: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw new SyntaxError(
      `Cannot read profile '${source}' as it must be JSON with comments: ${parseErrorText(cause, text)}`,
      { cause },
    );
  }
}

/** Returns the message of a parse error, with its offset converted to a line and a column. */
function parseErrorText(cause: unknown, text: string): string {
  if (!(cause instanceof SyntaxError)) return "it is nested too deeply";
  const complaint = cause.message.replace(/^Cannot parse JSONC: /, "").replace(/ in JSONC\b/, "");
  return complaint.replace(/ at position (\d+)$/, (_, offset) => {
    const lines = text.slice(0, Number(offset)).split("\n");
    return ` at line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
  });
}

/** Whether `__proto__` is a key anywhere: schemas of records pass over it in silence. */
function hasPrototypeKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(hasPrototypeKey);
}
