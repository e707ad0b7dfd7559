import type { z } from "zod";

/** What is wrong with a value, as pydantic tells it and FastAPI passes it on. */
export interface PydanticFault {
  readonly type: string;
  readonly loc: readonly PropertyKey[];
  readonly msg: string;
}

/** What pydantic calls the types of JSON, and how it asks for one. */
const WANTED: Readonly<Record<string, readonly [type: string, name: string]>> = {
  string: ["string_type", "string"],
  number: ["float_type", "number"],
  int: ["int_type", "integer"],
  boolean: ["bool_type", "boolean"],
  array: ["list_type", "list"],
  object: ["dict_type", "dictionary"],
  record: ["dict_type", "dictionary"],
};

/**
 * The faults of a value in pydantic's words, as far as it has some; `at` is where the value stands. The value must
 * have been parsed with `reportInput`, so that what is missing is told from what is wrong.
 */
export function pydanticFaults({ issues }: z.ZodError, at: readonly string[] = []): PydanticFault[] {
  return issues.flatMap((issue) => {
    const loc = [...at, ...issue.path];
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        type: "extra_forbidden",
        loc: [...loc, key],
        msg: "Extra inputs are not permitted",
      }));
    }
    return [{ loc, ...worded(issue) }];
  });
}

function worded(issue: z.core.$ZodIssue): { type: string; msg: string } {
  const { code, message } = issue;
  if (issue.input === undefined) return { type: "missing", msg: "Field required" };
  if (code === "too_small" && (issue.origin === "number" || issue.origin === "int")) {
    const { minimum, inclusive = true } = issue;
    return inclusive
      ? { type: "greater_than_equal", msg: `Input should be greater than or equal to ${minimum}` }
      : { type: "greater_than", msg: `Input should be greater than ${minimum}` };
  }
  if (code === "invalid_value") return { type: "literal_error", msg: message };
  if (code !== "invalid_type") return { type: code, msg: message };
  const [type, name] = WANTED[issue.expected] ?? [];
  return type === undefined ? { type: code, msg: message } : { type, msg: `Input should be a valid ${name}` };
}
