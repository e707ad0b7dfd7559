/**
 * The JSON of `/v1/envs`.
 *
 * @module
 */
import * as z from "zod";
import { FAMILY_NAMES, FAMILY_PREFIX, type FamilyName, MAX_DIFFICULTY, SPLITS } from "../families/names.ts";
import {
  MAX_BATCH_ITEMS,
  MAX_ENV_CALL_MS,
  MAX_FAMILY_TASKS,
  MAX_MESSAGES,
  MAX_NAME_CHARACTERS,
  MAX_TASKS,
  MAX_TOOLS,
  MAX_TURNS,
} from "./limits.ts";
import { answerTextSchema } from "./v1_grade.ts";
import { deniedAttemptsSchema, requestErrorSchema } from "./v1.ts";
import { nullOr, optionalKey } from "./schema.ts";

/** Names of the envs of families. */
export const FAMILY_ENVS: readonly `${typeof FAMILY_PREFIX}${FamilyName}`[] = FAMILY_NAMES.map((name) =>
  `${FAMILY_PREFIX}${name}` as const
);

/**
 * Kinds of env: a chat whose Python blocks run, a chat whose tool calls run, a plain chat, a recursive language model,
 * whose code asks the policy, and the families of procedural tasks.
 */
export const ENV_KINDS = ["python", "tools", "chat", "rlm", ...FAMILY_ENVS] as const;

/** The problems of a family. */
export const problemsSchema = z.strictObject({
  difficulty: z.int().min(1).max(MAX_DIFFICULTY).default(1),
  split: z.enum(SPLITS).default("train"),
  seed: z.int().default(0).describe("seed of the order of problems; a seed of a reset chooses another order"),
}).meta({ id: "Problems" });

const message = z.looseObject({ role: z.string(), content: z.unknown() }).meta({ id: "Message" });

/** A task, as in a line of a file of tasks. */
export const taskBodySchema = z.strictObject({
  id: optionalKey(z.string().max(1024)),
  query: z.union([z.string(), z.array(message).max(MAX_MESSAGES)]).describe(
    "the user's message, or a conversation",
  ),
  answer: optionalKey(answerTextSchema).describe("reference answer for graders; not part of observations"),
  reference: optionalKey(z.string()),
  fields: optionalKey(z.record(z.string(), z.unknown()))
    .describe("input of graders, such as a program's tests; not part of observations"),
}).meta({ id: "Task" });

/** Options of which blocks of a reply run in the env `python`. */
const runnableBlocksShape = {
  runUnlabeled: z.boolean().optional().describe("true: blocks without a tag run; default: false"),
  runThoughts: z.boolean().optional().describe("true: blocks inside thoughts run; default: false"),
};

/** Options of a new env. */
export const createEnvRequestSchema = z.strictObject({
  env: z.enum(ENV_KINDS).default("python")
    .describe(
      "python: Python blocks run; tools: tool calls run; chat: nothing runs; rlm: code reads the task's field 'context' and asks the policy; paddock/…: problems of a family",
    ),
  problems: problemsSchema.optional().describe("problems of resets without a task, in the env of a family"),
  tools: z.array(z.string().max(256)).max(MAX_TOOLS).optional()
    .describe("tools of the server that may be called; default: all if env is 'tools', else none"),
  toolCallers: z.array(z.enum(["model", "code"])).min(1).max(2).optional()
    .describe("who calls the tools: the model in its replies, the code of its Python blocks; default: model"),
  toolNames: z.enum(["tools", "functions", "modules"]).optional()
    .describe(
      "where code finds its tools: paddock.tools.<name>, also as functions, or also in a module for each prefix; default: tools",
    ),
  calls: z.string().max(MAX_NAME_CHARACTERS).default("tag").describe(
    "format of tool calls, as --calls of paddock rollout",
  ),
  grader: z.string().max(MAX_NAME_CHARACTERS).optional().describe(
    "grader of a finished episode; /v1/graders lists the names",
  ),
  systemPrompt: z.string().optional(),
  maxTurns: z.int().min(1).max(MAX_TURNS).optional()
    .describe(
      "maximum number of replies of an episode; default: 8, in the env 'rlm' 30, in that of a family 1 or 64",
    ),
  timeoutMs: z.number().positive().max(MAX_ENV_CALL_MS).optional()
    .describe("timeout of a block or a call, in milliseconds; default: 10000, in the env 'rlm' 600000"),
  ...runnableBlocksShape,
  tasks: z.array(taskBodySchema).max(MAX_TASKS).default([])
    .describe("tasks of resets without a task, in a cycle"),
}).meta({ id: "CreateEnv" });

/** Query of a request for tasks of a family. */
export const familyTasksQuerySchema = z.object({
  difficulty: z.coerce.number().int().min(1).max(MAX_DIFFICULTY).default(1),
  split: z.enum(SPLITS).default("train"),
  seed: z.coerce.number().int().default(0),
  start: z.coerce.number().int().min(0).default(0).describe("number of tasks that are left out"),
  count: z.coerce.number().int().min(1).max(MAX_FAMILY_TASKS).default(1),
});

/** Families of procedural tasks. */
export const familyListSchema = z.object({
  families: z.array(z.object({
    env: z.enum(FAMILY_ENVS),
    about: z.string(),
    kind: z.enum(["reply", "program", "tools"])
      .describe("reply: answers are compared; program: answers run in a sandbox; tools: tools are called"),
    version: z.int(),
  })),
});

/** Tasks of a family. */
export const familyTasksSchema = z.object({ tasks: z.array(taskBodySchema) });

/** Options of a new episode. */
export const resetEnvRequestSchema = z.strictObject({
  task: taskBodySchema.optional().describe("default: the next of the env's tasks"),
  seed: z.int().optional(),
}).meta({ id: "ResetEnv" });

/** The reply of a policy: text, or an assistant message. */
export const replySchema = z.union([
  z.string(),
  z.looseObject({ content: z.union([z.string(), z.null()]), tool_calls: z.array(z.unknown()).optional() }),
]).meta({ id: "Reply" });

/** A step to take. */
export const stepRequestSchema = z.strictObject({ reply: replySchema });

/** An env. */
export const envInfoSchema = z.object({
  id: z.string(),
  env: z.enum(ENV_KINDS),
  createdAt: z.string(),
  usedAt: z.string(),
  tasks: z.int(),
  episode: z.object({
    taskId: z.string(),
    turns: z.int(),
    reward: z.number().nullable().describe("sum of its rewards; null without any"),
    terminated: z.boolean(),
    truncated: z.boolean(),
    failed: z.string().optional().describe("error message of a failed step"),
  }).nullable(),
}).meta({ id: "Env" });

/** A list of envs. */
export const envListSchema = z.object({ envs: z.array(envInfoSchema) });

/** The messages and tools that a policy replies to. */
export const observationSchema = z.object({
  taskId: z.string(),
  messages: z.array(message).describe("the conversation"),
  tools: z.array(
    z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
  ).optional().describe("tools that may be called"),
  turns: z.int().describe("number of replies in this episode"),
}).meta({ id: "Observation" });

/** An env and an observation. */
export const envStateSchema = envInfoSchema.extend({ observation: nullOr(observationSchema) }).meta({
  id: "EnvState",
});

/** The response to a reset. */
export const resetResultSchema = z.object({ observation: observationSchema });

/** The result of a step. */
export const stepResultSchema = z.object({
  observation: observationSchema,
  reward: z.number().nullable().describe("null if the step was not scored, which is not 0"),
  rewardParts: z.record(z.string(), z.number().nullable()).optional(),
  unscored: z.string().optional().describe("reason for a missing score of the grader"),
  terminated: z.boolean().describe("the episode ended"),
  truncated: z.boolean().describe("the episode was cut off by a limit"),
  toolResults: z.array(z.object({
    turn: z.int(),
    call: z.int(),
    callId: z.string(),
    tool: z.string(),
    status: z.string(),
    durationMs: z.number(),
    truncated: z.boolean(),
    stateKept: z.boolean().optional(),
    peakMemoryBytes: z.int().nonnegative().optional().describe(
      "peak size of the interpreter's heap, in bytes",
    ),
    denied: deniedAttemptsSchema.optional(),
    calls: z.array(z.object({
      caller: z.literal("code"),
      call: z.int(),
      callId: z.string(),
      tool: z.string(),
      status: z.string(),
      startMs: z.number().optional().describe("time from the start of the block"),
      durationMs: z.number(),
      arguments: z.record(z.string(), z.unknown()).optional(),
      result: z.string().optional().describe("result as JSON, or the text of the error"),
      media: z.array(
        z.tuple([z.array(z.union([z.string(), z.number()])).readonly(), z.string().nullable()]).readonly(),
      ).readonly().optional()
        .describe("places in the result of data in base64: the keys that lead to it, and its MIME type"),
      truncated: z.boolean(),
    })).optional().describe("calls of tools that the code made"),
  })),
  finalAnswer: z.string().optional().describe("the answer that ended an episode of the env 'rlm'"),
  finalValue: z.unknown().optional()
    .describe("the answer as a value of JSON, if it is one; integers beyond 2^53 are text"),
  blocksNotRun: z.array(z.object({ reason: z.string(), tag: z.string(), count: z.int() })).optional()
    .describe("code blocks of the reply that were not run, by reason and tag"),
}).meta({ id: "StepResult" });

/** Steps of many envs in a request. */
export const stepBatchRequestSchema = z.strictObject({
  items: z.array(
    z.strictObject({ env: z.string().max(MAX_NAME_CHARACTERS).describe("an env's id"), reply: replySchema })
      .meta({
        id: "StepItem",
      }),
  ).max(MAX_BATCH_ITEMS),
});

/** The result of a step of a batch, or the reason why the step was not taken. */
export const stepOutcomeSchema = z.object({
  status: z.int().describe("the HTTP status that the item would have had alone"),
  step: stepResultSchema.optional(),
  error: requestErrorSchema.optional(),
}).meta({ id: "StepOutcome" });

/** The results of a batch of steps, in the order of the items. */
export const stepBatchResponseSchema = z.object({ results: z.array(stepOutcomeSchema) });
