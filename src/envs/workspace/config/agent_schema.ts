import { z } from "zod";
import { REPLY_PARSERS } from "../replies/reply_parsers.ts";

const text = z.string({ error: "must be a text" });
const texts = z.array(text, { error: "must be a list of texts" });
const paths = z.array(text.min(1, { error: "must be a path" }), { error: "must be a list of paths" });
const positiveInt = z.int({ error: "must be a whole number > 0" }).positive({
  error: "must be a whole number > 0",
});

const toolsSchema = z.strictObject({
  state_command: z.strictObject({ name: text, code: text }, { error: "must be a name and a code" }).nullish(),
  env_variables: z.record(
    z.string().regex(/^[A-Za-z_]\w*$/),
    z.union([text, z.number()], { error: "must be a text or a number" }),
    { error: "must be variables of a shell and their values" },
  ).nullish(),
  command_files: paths.nullish(),
  util_functions: texts.nullish(),
  parser: z.enum(["ParseCommandBash", "ParseCommandDetailed"], {
    error: "must be ParseCommandBash or ParseCommandDetailed",
  }).nullish(),
  command_parser: text.nullish(),
  submit_command: text.nullish(),
  blocklist: texts.nullish(),
  blocklist_standalone: texts.nullish(),
  blocklist_error_template: text.nullish(),
}, { error: "must be keys and values" });

/** Schema of an agent YAML, with MLGym's keys. */
export const agentSchema = z.strictObject({
  system_template: text,
  task_template: text,
  next_step_template: text.nullish(),
  next_step_no_output_template: text.nullish(),
  strategy_template: text.nullish(),
  demonstration_template: text.nullish(),
  demonstrations: paths.nullish(),
  put_demos_in_history: z.boolean({ error: "must be true or false" }).nullish(),
  format_error_template: text.nullish(),
  output_parser: text.refine((name) => Object.hasOwn(REPLY_PARSERS, name), {
    error: `must be one of ${Object.keys(REPLY_PARSERS).join(", ")}`,
  }).nullish(),
  history_processor: text.refine((name) => lastObservationsOf(name, { n: 1 }) !== "unknown", {
    error: "must be DefaultHistoryProcessor, LastNObservations, Last2Observations or the like",
  }).nullish(),
  history_processor_args: z.strictObject({ n: positiveInt.optional() }, { error: "must be keys and values" })
    .nullish(),
  tools: toolsSchema.nullish(),
});

/** Validated agent YAML. */
export type AgentYaml = z.output<typeof agentSchema>;

/** Returns the number of observations that a history processor of MLGym keeps at full length; `undefined` for all. */
export function lastObservationsOf(
  processor: string | null | undefined,
  args: { readonly n?: number | undefined } | null | undefined,
): number | undefined | "unknown" {
  if (processor === undefined || processor === null || processor === "DefaultHistoryProcessor") {
    return undefined;
  }
  if (processor === "LastNObservations") return args?.n;
  const count = /^Last([1-9]\d*)Observations$/.exec(processor)?.[1];
  return count === undefined ? "unknown" : Number(count);
}
