/**
 * The JSON of `/v1/rollouts`.
 *
 * @module
 */
import * as z from "zod";
import {
  MAX_NAME_CHARACTERS,
  MAX_SAMPLES,
  MAX_TASKS,
  MAX_TOOL_TIMEOUT_MS,
  MAX_WAITING_BYTES,
  MAX_WAITING_EPISODES,
  TOOL_TIMEOUT_MS,
  WAITING_BYTES,
} from "./limits.ts";
import { optionalKey } from "./schema.ts";
import { sessionToolsSchema } from "./v1_tools.ts";
import { createEnvRequestSchema, ENV_KINDS, taskBodySchema } from "./v1_envs.ts";

const weightVersion = z.union([z.int(), z.string().max(MAX_NAME_CHARACTERS)])
  .describe("version of the weights that the trainer has given to the policy's server");

const rolloutTask = taskBodySchema.extend({
  group: optionalKey(z.string().max(1024)).describe(
    "group whose rewards are compared; default: the samples of the task",
  ),
}).meta({ id: "RolloutTask" });

/** Name of the calls that grade: the `name` of the event `call`. */
export const CLIENT_GRADER = "paddock_grade";

/** Functions of the client. */
const functionsShape = {
  clientTools: sessionToolsSchema.optional()
    .describe("functions of the client that the policy may call: the events 'call' are to be answered"),
  clientGrader: z.strictObject({
    timeoutMs: z.number().positive().max(MAX_TOOL_TIMEOUT_MS).default(TOOL_TIMEOUT_MS)
      .describe("milliseconds within which the client must answer a call"),
  }).optional().describe(
    `whether the client scores the episodes, in place of 'grader': the calls '${CLIENT_GRADER}' have {completion, answer, task, messages, codeCalls}, and the value of an answer is a number, null or {score, parts, reason}`,
  ),
};

/** Functions of the client of a rollout. */
export type RolloutFunctions = z.output<z.ZodObject<typeof functionsShape>>;

/** Options of a rollout: a policy of the server, the env of the episodes, and the tasks. */
export const rolloutRequestSchema = createEnvRequestSchema.extend({
  policy: z.string().max(1024).describe("a policy of the server; GET /v1/rollouts lists them"),
  model: z.string().max(256).optional().describe("name of the model, for a policy of chat completions"),
  temperature: z.number().min(0).max(100).optional(),
  maxTokens: z.int().min(1).optional().describe("maximum number of tokens of a reply"),
  tasks: z.array(rolloutTask).min(1).max(MAX_TASKS),
  samples: z.int().min(1).max(MAX_SAMPLES).default(1).describe("episodes of each task"),
  concurrency: z.int().min(1).max(MAX_SAMPLES).default(8)
    .describe("episodes at once; in the envs 'python' and 'rlm' at most the server's sessions"),
  seed: z.int().optional(),
  weightVersion: weightVersion.optional(),
  partial: z.boolean().default(false)
    .describe("whether a rollout that is stopped yields the turns so far of its running episodes"),
  maxWaiting: z.int().min(0).max(MAX_WAITING_EPISODES).default(64)
    .describe("finished episodes that may wait for the client; the next one keeps its place"),
  maxWaitingBytes: z.int().min(0).max(MAX_WAITING_BYTES).default(WAITING_BYTES)
    .describe("memory of these episodes, which is reserved for the rollout"),
  advantages: z.strictObject({
    method: z.enum(["grpo", "dr-grpo", "rloo"]).optional(),
    epsilon: z.number().min(0).optional(),
    nullReward: z.number().optional(),
  }).optional(),
  cutScore: z.enum(["grade", "none"]).default("grade")
    .describe("score of an episode that a limit of tokens cut off; 'none' leaves it unscored"),
  ...functionsShape,
  tokens: z.boolean().default(false)
    .describe("whether episodes are rows for a trainer, with tokens, masks and log-probabilities"),
  resumed: z.array(z.record(z.string(), z.unknown())).max(MAX_WAITING_EPISODES).default([])
    .describe("partial rows of an earlier rollout, which are continued; needs 'tokens'"),
}).meta({ id: "CreateRollout" });

/** A new version of the weights. */
export const rolloutVersionSchema = z.strictObject({ weightVersion }).meta({ id: "RolloutVersion" });

/** Number of items that the client has worked on. */
export const rolloutTakenSchema = z.strictObject({
  items: z.int().min(0).describe("number of events 'episode', 'partial' and 'group' so far"),
}).meta({ id: "RolloutTaken" });

/** A running rollout. */
export const rolloutInfoSchema = z.object({
  id: z.string(),
  createdAt: z.string(),
  policy: z.string(),
  env: z.enum(ENV_KINDS),
  weightVersion: weightVersion.optional(),
  episodes: z.int().describe("number of episodes that the client was sent"),
}).meta({ id: "Rollout" });

/** The running rollouts of a token, and what they may use. */
export const rolloutListSchema = z.object({
  policies: z.array(z.string()),
  envs: z.array(z.enum(ENV_KINDS)),
  tokens: z.boolean().describe("whether 'tokens' is possible"),
  rollouts: z.array(rolloutInfoSchema),
}).meta({ id: "RolloutList" });

/** First event of a rollout. */
export const rolloutStartSchema = z.object({ id: z.string() });

/** Event with an episode: the trajectory, or the row for a trainer. */
export const rolloutEpisodeSchema = z.object({
  group: z.string(),
  trajectory: z.looseObject({
    task: z.looseObject({ id: z.string() }),
    sample: z.int(),
    reward: z.number().nullable(),
    messages: z.array(z.unknown()),
    steps: z.array(z.unknown()),
  }).optional(),
  row: z.looseObject({
    task_id: z.string(),
    sample: z.int(),
    reward: z.number().nullable(),
    messages: z.array(z.unknown()),
    tokens: z.array(z.number()),
    loss_mask: z.array(z.number()),
    turns: z.array(z.unknown()),
  }).optional(),
});

/** Event with the advantages of a group. */
export const rolloutGroupSchema = z.object({
  group: z.string(),
  episodes: z.array(z.object({
    taskId: z.string(),
    sample: z.int(),
    reward: z.number().nullable(),
    advantage: z.number().nullable(),
  })),
});

/** Last event of a rollout. */
export const rolloutEndSchema = z.object({
  episodes: z.int(),
  stopped: z.boolean().describe("whether the rollout was stopped before its last episode"),
});
