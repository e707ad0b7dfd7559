/**
 * Where in the bytes of a session's interrupt the order to end stands: nothing in the guest takes it back, as
 * Python does with an interrupt that it has heard.
 */
export const KILL_SWITCH = 1;

/** Throws when the session was told to end at once. What it throws is nothing that Python could catch. */
export function dieWhenTold(interrupt: Uint8Array): void {
  if (interrupt[KILL_SWITCH] !== 0) throw new Error("it was told to end at once");
}
