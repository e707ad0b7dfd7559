/**
 * Deadline of a test that shows that something ends at all, in milliseconds. Correct code takes seconds, also on a
 * busy machine. Code with the fault hangs, or is quadratic and takes far longer.
 */
export const HANG_MS = 300_000;
