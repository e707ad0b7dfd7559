import * as z from "zod";

/** Parameters of a reset. Parameters of other env kinds are ignored. */
export const resetData = z.looseObject({
  seed: z.int().nonnegative().nullish(),
  episode_id: z.string().max(255).nullish(),
}).meta({ id: "OpenEnvReset" });

/** Response of a reset or a step. */
export interface EnvResponse {
  readonly observation: object;
  readonly reward: number | null;
  readonly done: boolean;
}

/** An env with OpenEnv's interface. */
export interface OpenEnv<Action> extends AsyncDisposable {
  /** Starts an episode. */
  reset(data?: z.output<typeof resetData>): Promise<EnvResponse>;
  /** Steps within `seconds`. Without an earlier reset, a step starts an episode. */
  step(action: Action, seconds?: number): Promise<EnvResponse>;
  /** Returns the state of the episode. */
  state(): object | Promise<object>;
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
  /** Schemas of the messages. */
  readonly action: z.ZodType<Action>;
  readonly observation: z.ZodType;
  readonly state: z.ZodType;
  /** Examples of the messages, for the description of the API. */
  readonly examples: { readonly action: object; readonly observation: object; readonly state: object };
  open(options: EpisodeOptions): OpenEnv<Action>;
}
