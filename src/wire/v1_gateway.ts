/**
 * The JSON of `/v1/gateway`: sessions in which agents ask a model, for their owner.
 *
 * @module
 */
import * as z from "zod";
import { MAX_NAME_CHARACTERS, MAX_PATH_CHARACTERS, MAX_TIMEOUT_SECONDS } from "./limits.ts";
import { optionalKey } from "./schema.ts";
import { filesSchema } from "../sandbox/contract/wire_forms.ts";

/**
 * Forms of a row: the form of Paddock and slime, and the fields that verl's agent loop and TRL's rollout function return.
 */
export const ROW_FORMATS = ["slime", "verl", "trl"] as const;

/** Form of a row. */
export type RowFormat = (typeof ROW_FORMATS)[number];

const count = z.int().min(1);
const exactNumber = z.number().min(Number.MIN_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER);
const version = z.union([z.int(), z.string().max(200)]);
const parts = z.record(z.string(), z.number().nullable());

/** Parameters of sampling. */
export const gatewaySamplingSchema = z.strictObject({
  temperature: z.number().min(0).optional(),
  top_p: z.number().optional(),
  top_k: z.int().optional(),
  min_p: z.number().optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  seed: z.int().optional(),
  max_tokens: count.optional(),
  stop: z.array(z.string()).max(64).optional(),
}).meta({ id: "GatewaySampling" });

/** A session to open. */
export const openGatewaySessionSchema = z.strictObject({
  task: z.strictObject({
    id: z.string().max(1_000),
    query: z.string().default(""),
    answer: z.union([z.string(), exactNumber]).optional(),
    group: z.string().max(1_000).optional().describe("id of the group whose rewards are compared"),
    fields: z.record(z.string(), z.unknown()).optional(),
  }),
  sample: count.optional().describe("number of the session among those of its task"),
  sampling: gatewaySamplingSchema.optional(),
  sampling_from: z.enum(["session", "request"]).optional()
    .describe("whose parameter counts if the session and the agent give one; default: session"),
  tool_choice: z.enum(["auto"]).optional()
    .describe("auto: the model chooses its tools freely, whatever the agent demands; default: enforced"),
  rewritten: z.enum(["keep", "branch", "refuse"]).optional()
    .describe("what happens if the agent changes a message of the assistant"),
  idle_seconds: z.number().min(1).max(86_400).optional()
    .describe("time without a request after which the session ends as aborted"),
  sandbox: z.strictObject({
    profile: z.string().max(MAX_PATH_CHARACTERS).optional().describe("that of the server"),
    seed: z.int().optional(),
  }).optional().describe("a sandbox that ends with the session, and that the session's key opens"),
}).meta({ id: "OpenGatewaySession" });

/** How a session ends: a reward, the score of a grader, or the score of tests. */
export const gatewayRewardSchema = z.union([
  z.strictObject({ reward: z.number().nullable(), reward_parts: parts.optional() }),
  z.strictObject({
    grader: z.string().max(MAX_NAME_CHARACTERS),
    file: z.string().min(1).max(MAX_PATH_CHARACTERS).optional()
      .describe(
        "file of the sandbox that is graded in place of the last reply; one in .py is graded as a program",
      ),
  }),
  z.strictObject({
    tests: z.strictObject({
      code: z.string().describe(
        "Python that runs beside the files that the agent left; its last value is the score",
      ),
      files: filesSchema.optional(),
      timeout_seconds: z.number().positive().max(MAX_TIMEOUT_SECONDS).optional(),
    }),
  }),
]).meta({ id: "GatewayReward" });

/** Copies of a session to open. */
export const forkGatewaySessionSchema = z.strictObject({ count: z.int().min(1).max(64).default(1) })
  .meta({ id: "ForkGatewaySession" });

/** The end of a pause. */
export const resumeGatewaySchema = z.strictObject({
  policy_version: version.optional().describe("version of the weights, which later turns record"),
}).meta({ id: "ResumeGateway" });

/** A query of rows. */
export const gatewayRowsQuerySchema = z.strictObject({
  format: z.enum(ROW_FORMATS).default("slime"),
  follow: z.enum(["true", "false"]).default("false").describe(
    "true: also the rows of sessions that end later",
  ),
});

const sandboxIds = { id: z.string(), e2b_id: z.string() };

/** A session that was opened. */
export const openedGatewaySessionSchema = z.object({
  id: z.string(),
  key: z.string().describe("API key of the agent"),
  model: z.string(),
  base_urls: z.object({ openai: z.string(), anthropic: z.string() }),
  sandbox: optionalKey(z.object({ ...sandboxIds, e2b_api_key: z.string(), url: z.string() })),
}).meta({ id: "OpenedGatewaySession" });

/** Copies of a session. */
export const forkedGatewaySessionsSchema = z.object({ sessions: z.array(openedGatewaySessionSchema) });

/** State of a session. */
export const gatewaySessionSchema = z.object({
  id: z.string(),
  task_id: z.string(),
  group: z.string(),
  status: z.enum(["open", "completed", "aborted"]),
  created_at: z.string(),
  turns: z.int(),
  rows: z.int(),
  running: z.int().describe("requests that wait for an answer"),
  reward: z.number().nullable(),
  reward_parts: optionalKey(parts),
  unscored: optionalKey(z.string()).describe("why there is no score"),
  sandbox: optionalKey(z.object(sandboxIds)),
  forked_from: optionalKey(z.string()).describe("session of which this one is a copy"),
  output: optionalKey(z.string()).describe("end of the output of tests, in the response to their reward"),
}).meta({ id: "GatewaySession" });

/** The sessions of an owner. */
export const gatewaySessionsSchema = z.object({ sessions: z.array(gatewaySessionSchema) });

/** Figures of an owner. */
export const gatewayStatsSchema = z.object({
  open: z.int(),
  ended: z.int(),
  turns: z.int(),
  rows: z.int(),
  bytes: z.number(),
}).meta({ id: "GatewayStats" });

/** Whether samples are held back. */
export const gatewayPauseSchema = z.object({ paused: z.boolean() });
