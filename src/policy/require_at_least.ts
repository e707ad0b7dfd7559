/**
 * Checks a limit of whoever asks a server.
 *
 * @throws {RangeError} when it is less than it must be.
 */
export function requireAtLeast(name: string, value: number, least: number): void {
  if (value >= least) return;
  throw new RangeError(`Cannot ask a server as '${name}' must be >= ${least}: current value is ${value}`);
}
