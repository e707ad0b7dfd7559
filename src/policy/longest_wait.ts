/** A timer that is asked to wait longer fires at once. */
export const LONGEST_WAIT_MS: number = 2 ** 31 - 1;
