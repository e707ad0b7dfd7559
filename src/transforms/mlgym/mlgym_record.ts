import type { Action, Observation } from "../../envs/env.ts";
import type { History } from "../../history.ts";

/** Data that the transforms of {@linkcode makeMLGym} exchange, under the names of TorchRL's keys. */
export interface MLGymRecord {
  /** Id of the task. */
  readonly task?: string;
  /** Reply of the policy: its full text at first, then only the command in it. */
  readonly textResponse?: string;
  /** True if the reply held no command and the policy is asked again. */
  readonly retry?: boolean;
  /** Reason why no command was found in the reply. */
  readonly formatFault?: string | undefined;
  /** Assistant message of this step. */
  readonly localHistory?: History;
  /** Output of the command; `null` before the first. */
  readonly observation?: string | null;
  /** State as JSON. */
  readonly state?: string;
  /** Next user message. */
  readonly message?: string;
}

/** Type of an observation, a step or an action that carries the record of the MLGym transforms. */
export type WithMLGymRecord<T extends Observation | Action> = T & { readonly mlgym: MLGymRecord };

/** Returns the record that the MLGym transforms added; an empty one if there is none. */
export function mlgymRecordOf(carrier: Observation | Action | undefined): MLGymRecord {
  return (carrier as Partial<WithMLGymRecord<Observation>> | undefined)?.mlgym ?? {};
}

/** Returns a copy with `fields` added to the record of the MLGym transforms. */
export function addToMLGymRecord<T extends Observation | Action>(
  carrier: T,
  fields: MLGymRecord,
): WithMLGymRecord<T> {
  return { ...carrier, mlgym: { ...mlgymRecordOf(carrier), ...fields } };
}
