import type { z } from "zod";
import type { Observation, Step } from "../../envs/env.ts";
import type { Message } from "../../message.ts";
import { toToolRecord } from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import type {
  createEnvRequest,
  envInfo,
  observation,
  reply,
  stepResult,
  taskBody,
} from "../../wire/v1_envs.ts";
import type { EnvConfig } from "../env_config.ts";
import type { LiveEnv } from "../live_env.ts";

/** Returns the config of an env that a request states, with an id for each task that has none. */
export function toEnvConfig(request: z.output<typeof createEnvRequest>): EnvConfig {
  return { ...request, tasks: request.tasks.map((body, at) => toTask(body, `task-${at + 1}`)) };
}

/** Returns the task of a request; `id` is the id of a task that has none. */
export function toTask(body: z.output<typeof taskBody>, id = "task"): Task {
  // The env validates messages.
  return { id, ...body } as Task;
}

/** Returns the reply of a policy as a message. */
export function toReply(body: z.output<typeof reply>): Omit<Message, "role"> {
  // The env validates messages.
  return (typeof body === "string" ? { content: body } : body) as Omit<Message, "role">;
}

/** Returns an env as JSON. */
export function toEnvBody({ id, config, createdAt, usedAt, episode }: LiveEnv): z.output<typeof envInfo> {
  return {
    id,
    env: config.env,
    tasks: config.tasks.length,
    episode: episode ?? null,
    createdAt: createdAt.toISOString(),
    usedAt: usedAt.toISOString(),
  };
}

/** Returns an observation as JSON. */
export function toObservationBody(
  { task, history, tools, stepCount = 0 }: Observation,
): z.output<typeof observation> {
  return {
    taskId: task.id,
    messages: history.prompt.toChats().map((chat) => ({ ...chat })),
    turns: stepCount,
    ...(tools && { tools: tools.map((tool) => ({ ...tool, parameters: { ...tool.parameters } })) }),
  };
}

/** Returns a step as JSON. */
export function toStepBody(step: Step): z.output<typeof stepResult> {
  const { reward, rewardParts, unscored, terminated, truncated, toolResults, stepCount = 0 } = step;
  return {
    observation: toObservationBody(step),
    reward,
    terminated,
    truncated,
    ...(rewardParts && { rewardParts: { ...rewardParts } }),
    ...(unscored !== undefined && { unscored }),
    toolResults: toolResults.map((result) => ({ ...toToolRecord(stepCount, result) })),
  };
}
