import { z } from "zod";
import { formatVersion } from "../format_version.ts";
import { INTERACTION_FORMAT, type InteractionResult } from "./interaction_result.ts";
import { chatSchema, describeIssues } from "./line_schema.ts";

const count = z.int().min(0);
const scores = z.record(z.string(), z.number().nullable());

const turn = z.looseObject({
  turn: count,
  sampled: z.object({ start: count, length: count }).optional(),
  finish_reason: z.string().optional(),
  stop_text: z.string().optional(),
  reward: z.number().nullable(),
});

const interactionSchema = z.looseObject({
  prompt: z.string(),
  reward: z.number().nullable(),
  messages: chatSchema,
  info: z.record(z.string(), z.unknown()),
  response: z.string(),
  loss_mask: z.array(z.union([z.literal(0), z.literal(1)])),
  tokens: z.array(z.int()),
  status: z.enum(["completed", "truncated", "aborted"]),
  response_length: count,
  format: formatVersion(INTERACTION_FORMAT),
  log_probs: z.array(z.number()).nullable(),
  reward_parts: scores,
  errors: z.array(z.looseObject({ boundary: z.string(), name: z.string(), message: z.string() })),
  task_id: z.string(),
  task_hash: z.string(),
  sample: z.int().min(1),
  seed: z.int().optional(),
  turns: z.array(turn),
}).superRefine(({ loss_mask, tokens, response_length, log_probs, turns }, context) => {
  const lengths = [loss_mask.length, ...log_probs ? [log_probs.length] : []];
  if (lengths.some((length) => length !== response_length) || response_length > tokens.length) {
    context.addIssue({
      code: "custom",
      message: `'loss_mask' and 'log_probs' must have ${response_length} items: they have ${
        lengths.join(", ")
      }`,
    });
  }
  const outside = turns.find(({ sampled: { start, length } = { start: 0, length: 0 } }) =>
    start + length > tokens.length
  );
  if (outside !== undefined) {
    context.addIssue({
      code: "custom",
      message: `turn ${outside.turn} must be within 'tokens': it ends after token ${tokens.length}`,
    });
  }
});

/**
 * Parses the value of a line as an episode for a trainer, for example to resume it.
 *
 * @throws {SyntaxError} if the value is invalid; the message is only the list of issues.
 */
export function parseInteraction(value: unknown): InteractionResult {
  const parsed = interactionSchema.safeParse(value);
  // Unknown values of newer versions, such as another call status, are accepted: they are displayed, not acted upon.
  if (parsed.success) return parsed.data as unknown as InteractionResult;
  throw new SyntaxError(describeIssues(parsed.error));
}
