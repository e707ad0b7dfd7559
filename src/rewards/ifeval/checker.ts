import { z } from "zod";

/** What an instruction asks for, by name; what is `null` is not asked for. */
export type InstructionArguments = Readonly<Record<string, unknown>>;

/**
 * Makes the check of a response out of an instruction's arguments.
 *
 * @throws {TypeError} when an argument is missing or not of its type.
 */
export type Checker = (args: InstructionArguments) => (response: string) => boolean;

/** Checkers by the name of their instruction. */
export type Checkers = Readonly<Record<string, Checker>>;

/** Makes a checker from the shape of its arguments and from what it means to follow it. */
export function checker<Shape extends z.ZodRawShape>(
  shape: Shape,
  follows: (response: string, args: z.output<z.ZodObject<Shape>>) => boolean,
): Checker {
  const schema = z.object(shape);
  return (args) => {
    const given = Object.entries(args).filter(([, value]) => value !== null);
    const parsed = schema.safeParse(Object.fromEntries(given));
    if (parsed.success) return (response) => follows(response, parsed.data);
    const faults = parsed.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
    throw new TypeError(`its arguments must fit: ${faults.join("; ")}`);
  };
}

/** An argument that counts something. */
export const count: z.ZodNumber = z.number().nonnegative();

/** An argument that says how a count is to be compared. */
export const relation: z.ZodEnum<{ "less than": "less than"; "at least": "at least" }> = z.enum([
  "less than",
  "at least",
]);

/** Whether a count is as a relation wants it. */
export function compares(
  counted: number,
  wanted: { relation: z.output<typeof relation>; than: number },
): boolean {
  return wanted.relation === "less than" ? counted < wanted.than : counted >= wanted.than;
}
