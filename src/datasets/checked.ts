import type { z } from "zod";

/**
 * Parses a row with a schema.
 *
 * @throws {SyntaxError} if the row does not match; the message has its location and all issues.
 */
export function parseRow<Schema extends z.ZodType>(
  schema: Schema,
  row: unknown,
  location: string,
): z.output<Schema> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message
  );
  throw new SyntaxError(`Cannot read task at ${location}: ${issues.join("; ")}`);
}
