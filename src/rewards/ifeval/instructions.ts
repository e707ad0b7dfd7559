import { z } from "zod";
import { errorMessage } from "../../errors.ts";
import type { Task } from "../../task.ts";
import { CASE_CHECKERS } from "./change_case.ts";
import type { Checkers, InstructionArguments } from "./checker.ts";
import { COMBINATION_CHECKERS } from "./combination.ts";
import { CONTENT_CHECKERS } from "./detectable_content.ts";
import { FORMAT_CHECKERS } from "./detectable_format.ts";
import { KEYWORD_CHECKERS } from "./keywords.ts";
import { LANGUAGE_CHECKERS } from "./language.ts";
import { LENGTH_CHECKERS } from "./length_constraints.ts";
import { PUNCTUATION_CHECKERS } from "./punctuation.ts";
import { START_END_CHECKERS } from "./start_end.ts";

/** Checkers of the 25 instructions, by name. */
export const CHECKERS: Checkers = {
  ...KEYWORD_CHECKERS,
  ...LANGUAGE_CHECKERS,
  ...LENGTH_CHECKERS,
  ...CONTENT_CHECKERS,
  ...FORMAT_CHECKERS,
  ...COMBINATION_CHECKERS,
  ...START_END_CHECKERS,
  ...CASE_CHECKERS,
  ...PUNCTUATION_CHECKERS,
};

const fieldsSchema = z.object({
  instruction_id_list: z.array(z.string()).min(1),
  kwargs: z.array(z.record(z.string(), z.unknown()).nullable()).nullish(),
});

/**
 * Returns the checks for the instructions in a task's fields; `null` if there are none.
 *
 * @throws {TypeError} when an instruction is unknown, or when its arguments are invalid.
 */
export function makeInstructionChecks({ id, fields = {} }: Task): ((response: string) => boolean)[] | null {
  if (fields.instruction_id_list === undefined || fields.instruction_id_list === null) return null;
  const parsed = fieldsSchema.safeParse(fields);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
    throw new TypeError(
      `Cannot check task '${id}' as its IFEval fields are invalid: ${faults.join("; ")}`,
    );
  }
  const { instruction_id_list, kwargs } = parsed.data;
  return instruction_id_list.map((name, at) => check(name, kwargs?.[at] ?? {}, id));
}

function check(name: string, args: InstructionArguments, id: string): (response: string) => boolean {
  const checker = Object.hasOwn(CHECKERS, name) ? CHECKERS[name] : undefined;
  if (checker === undefined) {
    throw new TypeError(
      `Cannot check task '${id}' as each instruction must be one of the 25 of IFEval: current value is '${name}'`,
    );
  }
  try {
    return checker(args);
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new TypeError(`Cannot check task '${id}' for '${name}' as ${reason}`, { cause });
  }
}
