import type { z } from "zod";

/**
 * A row as its shape has it.
 *
 * @throws {SyntaxError} when it has not that shape, with its place and what is wrong.
 */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  row: unknown,
  place: string,
): z.output<Schema> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message
  );
  throw new SyntaxError(`Cannot read task at ${place}: ${issues.join("; ")}`);
}
