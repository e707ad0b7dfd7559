import * as z from "zod";
import { errorMessage } from "../errors.ts";
import { formatVersion } from "../format_version.ts";
import type { Message } from "../message.ts";
import { parseMessage } from "../parse_message.ts";
import { type BranchOrigin, type Trajectory, TRAJECTORY_FORMAT } from "./trajectory.ts";

/** Schema of the messages of an episode. */
export const chatSchema: z.core.$ZodType<Message[]> = z.array(z.unknown()).transform(
  (messages, context): Message[] => {
    try {
      return messages.map(parseMessage);
    } catch (error) {
      context.addIssue({ code: "custom", message: errorMessage(error) });
      return z.NEVER;
    }
  },
);

/** Describes the first three issues of an invalid value. */
export function describeIssues({ issues }: z.ZodError): string {
  const faults = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`
  );
  return faults.slice(0, 3).join("; ");
}

const count = z.int().min(0);

const task = z.looseObject({
  id: z.string(),
  query: z.union([z.string(), chatSchema]),
  answer: z.string().optional(),
  replies: z.array(z.string()).optional(),
  reference: z.string().optional(),
  fields: z.record(z.string(), z.unknown()).optional(),
  group: z.string().optional(),
});

const error = z.looseObject({ boundary: z.string(), name: z.string(), message: z.string() });

const times = z.object({ totalMs: z.number(), policyMs: z.number(), envMs: z.number() });

/** Schema of the origin of a branch. */
export const branchOrigin: z.core.$ZodType<BranchOrigin> = z.object({
  id: z.string(),
  turn: z.int().min(1),
  call: z.int().min(1).exactOptional(),
});

const codeCall = z.looseObject({
  call: count,
  tool: z.string(),
  status: z.string(),
  startMs: z.number().optional(),
  durationMs: z.number().default(0),
  arguments: z.record(z.string(), z.unknown()).optional(),
  result: z.string().optional(),
  media: z.array(z.tuple([z.array(z.union([z.string(), z.number()])), z.string().nullable()])).optional(),
  truncated: z.boolean().default(false),
});

const toolRecord = z.looseObject({
  turn: count,
  tool: z.string(),
  status: z.string(),
  peakMemoryBytes: count.optional(),
  digest: z.string().optional(),
  inexact: z.literal(true).optional(),
  display: z.array(z.record(z.string(), z.unknown())).optional(),
  droppedDisplays: count.optional(),
  calls: z.array(codeCall).optional(),
});

/** Schema of the blocks of a reply that were not run. Reasons of newer versions are accepted. */
export const blocksNotRunSchema: z.core.$ZodType<{ reason: string; tag: string; count: number }[]> = z.array(
  z.object({ reason: z.string(), tag: z.string(), count: z.int().min(0) }),
);

/** Schema of an episode. Only the task and the messages are required; the rest has defaults. */
export const trajectorySchema: z.core.$ZodType = z.looseObject({
  task,
  format: formatVersion(TRAJECTORY_FORMAT),
  group: z.string().optional(),
  sample: z.int().min(1).default(1),
  id: z.string().optional(),
  parent: z.optional(branchOrigin),
  versions: z.looseObject({ paddock: z.string(), env: z.string().optional() }).default({
    paddock: "unknown",
  }),
  messages: chatSchema,
  reward: z.number().nullable().default(null),
  rewardParts: z.record(z.string(), z.number().nullable()).optional(),
  unscored: z.string().optional(),
  turns: count.default(0),
  terminated: z.boolean().default(false),
  truncated: z.boolean().default(false),
  cut: z.string().optional(),
  timeScale: z.number().positive().optional(),
  error: error.optional(),
  tokens: z.looseObject({ ids: z.array(z.int()), lossMask: z.array(z.union([z.literal(0), z.literal(1)])) })
    .nullish(),
  steps: z.array(z.looseObject({ turn: count, blocksNotRun: z.optional(blocksNotRunSchema) })).default([]),
  toolResults: z.array(toolRecord).default([]),
  times: times.default({ totalMs: 0, policyMs: 0, envMs: 0 }),
});

/**
 * Parses the value of a line as an episode. Unknown keys are kept.
 *
 * @throws {SyntaxError} if the value is invalid; the message is only the list of issues.
 */
export function parseTrajectory(value: unknown): Trajectory {
  const parsed = z.safeParse(trajectorySchema, value);
  // Unknown values of newer versions, such as another tool status, are accepted: they are displayed, not acted upon.
  if (parsed.success) return parsed.data as unknown as Trajectory;
  throw new SyntaxError(describeIssues(parsed.error));
}
