import * as z from "zod";
import { MAX_TIMEOUT_SECONDS } from "../../../wire/limits.ts";

/** Parameters of a reset. Parameters of other env kinds are ignored. */
export const resetData = z.looseObject({
  seed: z.int().nonnegative().nullish(),
  episode_id: z.string().max(255).nullish(),
}).meta({ id: "OpenEnvReset" });

const outcome = z.object({ reward: z.number().nullable(), done: z.boolean() });

/** Response of a reset or a step. */
export interface EnvResponse extends z.output<typeof outcome> {
  readonly observation: object;
}

/** An env with OpenEnv's interface. */
export interface OpenEnv<Action> extends AsyncDisposable {
  /** Starts an episode. */
  reset(data?: z.output<typeof resetData>): Promise<EnvResponse>;
  /** Steps within `seconds`. Without a reset before, it starts an episode. */
  step(action: Action, seconds?: number): Promise<EnvResponse>;
  /** Returns the state of the episode. */
  state(): object;
}

/** Owner and lifetime of an env. */
export interface EpisodeOptions {
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** Kind of env that OpenEnv's routes serve. */
export interface OpenEnvKind<Action = unknown> {
  readonly name: string;
  readonly description: string;
  /** Schemas of its messages. */
  readonly action: z.ZodType<Action>;
  readonly observation: z.ZodType;
  readonly state: z.ZodType;
  /** Examples of its messages, for the description of the API. */
  readonly examples: { readonly action: object; readonly observation: object; readonly state: object };
  open(options: EpisodeOptions): OpenEnv<Action>;
}

/** Returns the schema of the body of `/step`. Other keys are ignored. */
export function stepRequest<Action>(
  { action }: Pick<OpenEnvKind<Action>, "action">,
): z.ZodType<{ action: Action; timeout_s?: number | null | undefined }> {
  return z.looseObject({
    action,
    timeout_s: z.number().positive().max(MAX_TIMEOUT_SECONDS).nullish(),
    request_id: z.string().max(255).nullish(),
  }).meta({ id: "OpenEnvStep" });
}

/** Returns the schema of the response of a reset or a step. */
export function stepResult({ observation }: Pick<OpenEnvKind, "observation">): z.ZodType {
  return z.object({ observation, ...outcome.shape }).meta({ id: "OpenEnvResult" });
}

/** Response of `/metadata`. */
export const metadata = z.object({
  name: z.string(),
  description: z.string(),
  readme_content: z.null(),
  version: z.string(),
  author: z.null(),
  documentation_url: z.null(),
}).meta({ id: "OpenEnvMetadata" });

export type Metadata = z.output<typeof metadata>;

/** Response of `/schema`: JSON Schemas. */
export const schemas = z.object({
  action: z.looseObject({}),
  observation: z.looseObject({}),
  state: z.looseObject({}),
}).meta({ id: "OpenEnvSchemas" });
