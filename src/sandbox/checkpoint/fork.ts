import { ArgumentRangeError, ArgumentTypeError } from "../../errors.ts";
import type { BranchingLease } from "../contract/pool.ts";
import { checkSeed } from "../exec/exec_check.ts";
import type { Profile } from "../profile/profile.ts";
import type { Reseeding } from "./transfer.ts";

/** Maximum number of copies that a fork makes. */
const MAX_COPIES = 1024;

/** Returns the random numbers of a copy. */
export function reseedingOf(seed: number | undefined, index: number): Reseeding {
  return seed === undefined ? { reseed: true } : { reseed: true, seed: seed + index };
}

/** Parts of a fork, whose states have the type `State`. */
export interface ForkParts<State> {
  readonly seed: number | undefined;
  /** Captures the state, which is disposed when all copies have it. */
  capture(): Promise<State & Partial<Disposable>>;
  /** Leases a session in that state. */
  copy(state: State, reseeding: Reseeding): Promise<BranchingLease>;
}

/**
 * Makes copies of a session, each with other random numbers. If a copy cannot be made, the others are disposed.
 *
 * @throws {ArgumentRangeError} if `count` is not from 1 to 1024, or a seed is not a safe integer.
 */
export async function forkSession<State>(count: number, parts: ForkParts<State>): Promise<BranchingLease[]> {
  const { seed } = parts;
  if (!Number.isInteger(count) || count < 1 || count > MAX_COPIES) {
    throw new ArgumentRangeError(
      `Cannot fork session as 'count' must be from 1 to ${MAX_COPIES}: current value is ${count}`,
    );
  }
  checkForkSeed(seed, count);
  const state = await parts.capture();
  const copies = await Promise.allSettled(
    Array.from({ length: count }, (_, index) => parts.copy(state, reseedingOf(seed, index))),
  );
  state[Symbol.dispose]?.();
  const leases = copies.flatMap((copy) => copy.status === "fulfilled" ? [copy.value] : []);
  const failed = copies.find((copy) => copy.status === "rejected");
  if (!failed) return leases;
  await Promise.all(leases.map((lease) => lease[Symbol.asyncDispose]()));
  throw failed.reason;
}

/** Throws if the copies of a fork would get random numbers of the host, although the clock of their profile is virtual. */
export function requireForkSeed({ clock }: Pick<Profile, "clock">, seed: number | undefined): void {
  if (clock !== "virtual" || seed !== undefined) return;
  throw new ArgumentTypeError("Cannot fork session as 'seed' must be given with a virtual clock: found none");
}

/** Throws unless a fork's copies all have a safe integer as seed, or none has. */
export function checkForkSeed(seed: number | undefined, count: number): void {
  checkSeed(seed === undefined ? undefined : seed + count - 1);
  checkSeed(seed);
}
