import { errorMessage, SandboxError } from "../errors.ts";
import type { ChildEnd } from "./child.ts";
import { type Loss, lossOfChild } from "./guest_link.ts";

/** What the interpreters of a process are lost to when one of them cannot be stopped. */
export const NEIGHBOUR: Loss = {
  reason: "crashed",
  message: "another session of its process did not stop, and the process was killed",
};

/** What is said of a base image that the process could not read. */
export const DAMAGED = "the base image is damaged";

/** The image must be built anew before another start. */
export class DamagedImage extends SandboxError {}

class NeighbourStuck extends SandboxError {}

class ProcessKilled extends SandboxError {}

/** Whether another attempt to start may do better. */
export function isPassing(error: unknown): boolean {
  return [DamagedImage, NeighbourStuck, ProcessKilled].some((kind) => error instanceof kind);
}

/** Why an interpreter did not start, from what was thrown and how its process ended, where it has. */
export function openFault(cause: unknown, end: ChildEnd | undefined): SandboxError {
  const why = errorMessage(cause);
  const message = `Cannot start session: ${why}`;
  if (why === DAMAGED) return new DamagedImage(DAMAGED);
  if (why === NEIGHBOUR.message) return new NeighbourStuck(message);
  // somebody else has killed it: what this host kills is lost for another reason
  if (end?.signal === "SIGKILL" && why === lossOfChild(end).message) return new ProcessKilled(message);
  const stderr = end?.stderr.trim() ?? "";
  return new SandboxError(stderr === "" ? message : `${message}: ${stderr}`, { cause });
}
