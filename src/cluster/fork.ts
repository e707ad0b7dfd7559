import { ArgumentTypeError } from "../errors.ts";

/** Throws if the option is given: sessions of a cluster take no checkpoints by themselves. */
export function refuseCheckpointEvery(checkpointEvery: unknown): void {
  if (checkpointEvery === undefined) return;
  throw new ArgumentTypeError(
    "Cannot acquire session with 'checkpointEvery' as sessions of a cluster take no checkpoints by themselves",
  );
}
