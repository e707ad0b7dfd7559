import type { Action, Observation } from "../../envs/env.ts";
import type { History } from "../../history.ts";

/** What the transforms of {@linkcode makeMLGym} tell each other, by the names of TorchRL's keys. */
export interface MLGymRecord {
  /** The id of the task that is worked on. */
  readonly task?: string;
  /** What the policy said, whole at first, then the command in it alone. */
  readonly textResponse?: string;
  /** Whether the policy is asked once more, as its reply held no command. */
  readonly retry?: boolean;
  /** Why there was no command in the reply. */
  readonly formatFault?: string | undefined;
  /** The assistant's message of this step. */
  readonly localHistory?: History;
  /** What the command printed; `null` before the first. */
  readonly observation?: string | null;
  /** The state as JSON. */
  readonly state?: string;
  /** What the user says next. */
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
