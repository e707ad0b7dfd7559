/** Threads that may have a stack at the same time, beside the main thread. */
export const MAX_THREADS = 1000;
