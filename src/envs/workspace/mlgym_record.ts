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
