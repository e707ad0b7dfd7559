/** Returns a promise that rejects with the signal's reason when the signal is aborted before `promise` settles. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T>;

/** Options of `delay`. */
export interface DelayOptions {
  /** Ends the wait; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Resolves after `ms` milliseconds, which may be more than a timer can wait. */
export function delay(ms: number, options?: DelayOptions): Promise<void>;
