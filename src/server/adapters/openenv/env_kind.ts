import { z } from "zod";

/** What a reset may be given. What an env of another kind would be given is passed over. */
export const resetData = z.looseObject({
  seed: z.int().nonnegative().nullish(),
  episode_id: z.string().max(255).nullish(),
});

/** What comes of a reset or a step. */
export interface EnvAnswer {
  readonly observation: object;
  readonly reward: number | null;
  readonly done: boolean;
}

/** An env as OpenEnv drives it. */
export interface EpisodeEnv<Action> extends AsyncDisposable {
  /** Begins an episode. */
  reset(data?: z.output<typeof resetData>): Promise<EnvAnswer>;
  /** Acts, in at most so many seconds; without a reset before, an episode begins. */
  step(action: Action, seconds?: number): Promise<EnvAnswer>;
  /** What is known of the episode. */
  state(): object;
}

/** Who drives an env, and until when. */
export interface EpisodeOptions {
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** A kind of env that OpenEnv's paths serve. */
export interface OpenEnvKind<Action = unknown> {
  readonly name: string;
  readonly description: string;
  /** What its messages look like. */
  readonly action: z.ZodType<Action>;
  readonly observation: z.ZodType;
  readonly state: z.ZodType;
  open(options: EpisodeOptions): EpisodeEnv<Action>;
}
