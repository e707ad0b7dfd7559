import * as z from "zod";

/** Arguments of an instruction, by name. An argument that is `null` does not apply. */
export type InstructionArguments = Readonly<Record<string, unknown>>;

/**
 * Makes the check of a response from an instruction's arguments.
 *
 * @throws {TypeError} when an argument is missing or has the wrong type.
 */
export type Checker = (args: InstructionArguments) => (response: string) => boolean;

/** Checkers by instruction name. */
export type Checkers = Readonly<Record<string, Checker>>;

/**
 * Makes a checker from the schema of the arguments, which is made at the first use, and a predicate that is true if a
 * response follows the instruction.
 */
export function makeChecker<Shape extends z.ZodRawShape>(
  shape: () => Shape,
  follows: (response: string, args: z.output<z.ZodObject<Shape>>) => boolean,
): Checker {
  let schema: z.ZodObject<Shape> | undefined;
  return (args) => {
    schema ??= z.object(shape());
    const present = Object.entries(args).filter(([, value]) => value !== null);
    const parsed = schema.safeParse(Object.fromEntries(present));
    if (parsed.success) return (response) => follows(response, parsed.data);
    const issues = parsed.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
    throw new TypeError(`its arguments are invalid: ${issues.join("; ")}`);
  };
}

/** Maximum length of a word of an instruction, in characters. The word becomes part of a pattern. */
export const MAX_WORD_CHARACTERS = 1_000;

/** Schema of an argument that is a count. */
export const count: z.ZodNumber = z.number().nonnegative();

/** Schema of an argument that says how to compare a count. */
export const relation: z.ZodEnum<{ "less than": "less than"; "at least": "at least" }> = z.enum([
  "less than",
  "at least",
]);

/** Returns true if a count satisfies a relation. */
export function compareCount(
  counted: number,
  condition: { relation: z.output<typeof relation>; than: number },
): boolean {
  return condition.relation === "less than" ? counted < condition.than : counted >= condition.than;
}
