/** Clocks that code with timeouts reads, so that tests can set them. */
export interface Clock {
  /** Returns the milliseconds since 1970. The host may set this clock, so that a later call may return less. */
  now(): number;
  /** Returns the milliseconds of a clock that never jumps. */
  monotonic(): number;
}

/** The clocks of the host. */
export const HOST_CLOCK: Clock = { now: () => Date.now(), monotonic: () => performance.now() };
