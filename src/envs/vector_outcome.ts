import type { EpisodeFailure } from "../episode_failure.ts";
import type { Observation, Step } from "./env.ts";

/** State of an element of a batch: its observation, or the failure of its episode. */
export type ResetOutcome =
  | { readonly observation: Observation; readonly error?: undefined }
  | { readonly error: EpisodeFailure; readonly observation?: undefined };

/** Outcome of an element's action: its step, or the failure that ended its episode. */
export type StepOutcome =
  | { readonly step: Step; readonly error?: undefined }
  | { readonly error: EpisodeFailure; readonly step?: undefined };
