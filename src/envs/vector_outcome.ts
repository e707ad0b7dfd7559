import type { EpisodeFailure } from "../episode_failure.ts";
import type { Observation, Step } from "./env.ts";

/** Where an element of a batch stands: what its policy is to answer, or why there is nothing to answer. */
export type ResetOutcome =
  | { readonly observation: Observation; readonly error?: undefined }
  | { readonly error: EpisodeFailure; readonly observation?: undefined };

/** What came of an element's action: its step, or the failure that ended its episode. */
export type StepOutcome =
  | { readonly step: Step; readonly error?: undefined }
  | { readonly error: EpisodeFailure; readonly step?: undefined };
