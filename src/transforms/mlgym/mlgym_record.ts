import type { Action } from "../../envs/action.ts";
import type { Observation } from "../../envs/env.ts";
import type { History } from "../../history.ts";

/** Data that the transforms of {@linkcode makeMLGym} exchange, under the names of TorchRL's keys. */
export interface MLGymRecord {
  /** Id of the task. */
  readonly task?: string;
  /** Reply of the policy: the full text at first, then only the command. */
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

/**
 * Type of an observation or a step that carries the record of the MLGym transforms. An action has the record in `info`.
 */
export type WithMLGymRecord<T extends Observation> = T & { readonly mlgym: MLGymRecord };

/** Returns the record that the MLGym transforms added; an empty record if there is none. */
export function mlgymRecordOf(carrier: Observation | Action | undefined): MLGymRecord {
  if (carrier === undefined) return {};
  const holder = isObservation(carrier) ? carrier : carrier.info;
  return (holder as Partial<WithMLGymRecord<Observation>> | undefined)?.mlgym ?? {};
}

/** Returns a copy of an observation with `fields` added to the record of the MLGym transforms. */
export function addToMLGymRecord<T extends Observation>(
  observation: T,
  fields: MLGymRecord,
): WithMLGymRecord<T> {
  return { ...observation, mlgym: { ...mlgymRecordOf(observation), ...fields } };
}

/** Returns a copy of an action with `fields` added to the record of the MLGym transforms. */
export function addToMLGymAction(action: Action, fields: MLGymRecord): Action {
  return { ...action, info: { ...action.info, mlgym: { ...mlgymRecordOf(action), ...fields } } };
}

function isObservation(carrier: Observation | Action): carrier is Observation {
  return "task" in carrier;
}
