/**
 * Deadline of a test that shows that something ends at all, in milliseconds. What is tested takes seconds, also on a
 * busy machine; with the fault that the test is for, it hangs, or its input takes a quadratic algorithm far longer.
 */
export const HANG_MS = 300_000;
