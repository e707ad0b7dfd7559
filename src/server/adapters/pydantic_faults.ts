import type { z } from "zod";

/** Issue in pydantic's format, as FastAPI returns it. */
export interface PydanticIssue {
  readonly type: string;
  readonly loc: readonly PropertyKey[];
  readonly msg: string;
}

/** Pydantic's error types and names of JSON types. */
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
 * Converts zod issues to pydantic's format. `at` is the location of the value. The value must have been parsed with
 * `reportInput`, which distinguishes missing from wrong values.
 */
export function toPydanticIssues({ issues }: z.ZodError, at: readonly string[] = []): PydanticIssue[] {
  return issues.flatMap((issue) => {
    const loc = [...at, ...issue.path];
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        type: "extra_forbidden",
        loc: [...loc, key],
        msg: "Extra inputs are not permitted",
      }));
    }
    return [{ loc, ...messageOf(issue) }];
  });
}

function messageOf(issue: z.core.$ZodIssue): { type: string; msg: string } {
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
