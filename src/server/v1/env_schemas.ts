import { z } from "zod";
import type { Observation, Step } from "../../envs/env.ts";
import { toolRecord } from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import { ENV_KINDS, type EnvConfig } from "../env_config.ts";
import type { LiveEnv } from "../live_env.ts";
import { answerText } from "./grade_request.ts";

const MAX_TASKS = 4096;
const MAX_TURNS = 1024;
const MAX_TIMEOUT_MS = 600_000;

const message = z.looseObject({ role: z.string(), content: z.unknown() }).meta({ id: "Message" });

/** A task as it comes in: a line of a file of tasks. */
export const taskBody = z.strictObject({
  id: z.string().max(1024).exactOptional(),
  query: z.union([z.string(), z.array(message).max(4096)]).describe("what is asked, or a whole conversation"),
  answer: answerText.exactOptional().describe("what a grader compares with; no observation shows it"),
  reference: z.string().exactOptional(),
  fields: z.record(z.string(), z.unknown()).exactOptional()
    .describe("what graders need, such as a program's tests; no observation shows it"),
}).meta({ id: "Task" });

/** How an env is made. */
export const createEnvRequest = z.strictObject({
  env: z.enum(ENV_KINDS).default("python")
    .describe("a chat whose Python blocks are run, one whose calls are run, or one without either"),
  tools: z.array(z.string().max(256)).max(256).optional()
    .describe("tools of the server that may be called; unless given all in 'tools', none in 'python'"),
  calls: z.string().max(64).default("tag").describe("how calls are written, as --calls of paddock rollout"),
  grader: z.string().max(64).optional().describe(
    "who scores an episode that is over, as /v1/graders names it",
  ),
  systemPrompt: z.string().optional(),
  maxTurns: z.int().min(1).max(MAX_TURNS).default(8).describe("replies that an episode may take"),
  timeoutMs: z.number().positive().max(MAX_TIMEOUT_MS).default(10_000)
    .describe("milliseconds that a block, or a call, may take"),
  tasks: z.array(taskBody).max(MAX_TASKS).default([])
    .describe("what resets ask that bring no task: one after the other, and over again"),
}).meta({ id: "CreateEnv" });

/** How an episode is started. */
export const resetEnvRequest = z.strictObject({
  task: taskBody.optional().describe("the next of the env's tasks unless given"),
  seed: z.int().optional(),
}).meta({ id: "ResetEnv" });

/** What a policy says: text, or a message of an assistant's. */
export const reply = z.union([
  z.string(),
  z.looseObject({ content: z.union([z.string(), z.null()]), tool_calls: z.array(z.unknown()).optional() }),
]).meta({ id: "Reply" });

/** An env as it goes out. */
export const envInfo = z.object({
  id: z.string(),
  env: z.enum(ENV_KINDS),
  createdAt: z.string(),
  usedAt: z.string(),
  tasks: z.int(),
  episode: z.object({
    taskId: z.string(),
    turns: z.int(),
    reward: z.number().nullable().describe("the sum of its rewards; null when none was given"),
    terminated: z.boolean(),
    truncated: z.boolean(),
    failed: z.string().optional().describe("why it cannot go on, where a step failed"),
  }).nullable(),
}).meta({ id: "Env" });

/** What a policy is to answer, as it goes out. */
export const observation = z.object({
  taskId: z.string(),
  messages: z.array(message).describe("everything said so far"),
  tools: z.array(
    z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
  ).optional().describe("what may be called"),
  turns: z.int().describe("replies of this episode so far"),
}).meta({ id: "Observation" });

/** What came of a reply, as it goes out. */
export const stepResult = z.object({
  observation,
  reward: z.number().nullable().describe("null when nobody scored the step, which is not 0"),
  rewardParts: z.record(z.string(), z.number().nullable()).optional(),
  unscored: z.string().optional().describe("why a grader gave no score"),
  terminated: z.boolean().describe("the episode reached an end of its own"),
  truncated: z.boolean().describe("the episode was cut off by a limit"),
  toolResults: z.array(z.object({
    ...{ turn: z.int(), call: z.int(), callId: z.string(), tool: z.string(), status: z.string() },
    ...{ durationMs: z.number(), truncated: z.boolean(), stateKept: z.boolean().optional() },
  })),
}).meta({ id: "StepResult" });

/** A config with what its tasks leave out. */
export function envConfig(request: z.output<typeof createEnvRequest>): EnvConfig {
  return { ...request, tasks: request.tasks.map((body, at) => taskOf(body, `task-${at + 1}`)) };
}

/** A task that is called something. */
export function taskOf(body: z.output<typeof taskBody>, id = "task"): Task {
  // What is no message is refused by the env that asks it.
  return { id, ...body } as Task;
}

/** An env as JSON. */
export function envAnswer({ id, config, createdAt, usedAt, episode }: LiveEnv): z.output<typeof envInfo> {
  return {
    ...{ id, env: config.env, tasks: config.tasks.length, episode: episode ?? null },
    ...{ createdAt: createdAt.toISOString(), usedAt: usedAt.toISOString() },
  };
}

/** An observation as JSON. */
export function observationAnswer(
  { task, history, tools, stepCount = 0 }: Observation,
): z.output<typeof observation> {
  return {
    ...{ taskId: task.id, messages: history.prompt.toChats().map((chat) => ({ ...chat })), turns: stepCount },
    ...(tools && { tools: tools.map((tool) => ({ ...tool, parameters: { ...tool.parameters } })) }),
  };
}

/** A step as JSON. */
export function stepAnswer(step: Step): z.output<typeof stepResult> {
  const { reward, rewardParts, unscored, terminated, truncated, toolResults, stepCount = 0 } = step;
  return {
    ...{ observation: observationAnswer(step), reward, terminated, truncated },
    ...(rewardParts && { rewardParts: { ...rewardParts } }),
    ...(unscored !== undefined && { unscored }),
    toolResults: toolResults.map((result) => ({ ...toolRecord(stepCount, result) })),
  };
}
