import type { BashOptions } from "just-bash";
import { clock } from "./shell_clock.ts";

const UNLIMITED = Number.MAX_SAFE_INTEGER;
const MIB = 1024 * 1024;

/** The bounds that the engine knows. */
export type ShellLimits = NonNullable<BashOptions["executionLimits"]>;
/** With these the engine stops at its next step and, as it does at a limit, gives what was printed before. */
export const NOTHING_MORE: ShellLimits = { maxCommandCount: 0, maxLoopIterations: 0, maxWorkUnits: 0 };
/** What it then says, in words that mean nothing to a user. */
export const STOP_MESSAGE =
  /[^\n]*(?:executionLimits\.\w+|limit exceeded[^\n]*|exceeded max[^\n]*|aborted)\n$/;

/** A limit for commands that compute without a pause, and compare with it at each step: it hears the interrupt. */
const UNTIL_INTERRUPT = {
  valueOf(): number {
    clock.poll();
    return clock.interrupted ? 0 : UNLIMITED;
  },
} as unknown as number;

/** The limits of such commands, for an engine that has checked its own already. */
export const COMPUTING: ShellLimits = {
  maxAwkIterations: UNTIL_INTERRUPT,
  maxSedIterations: UNTIL_INTERRUPT,
  maxJqIterations: UNTIL_INTERRUPT,
};

/** Bounds on memory; time is bounded from outside. */
export function shellLimits(outputBytes: number): ShellLimits {
  return {
    maxCommandCount: UNLIMITED,
    maxLoopIterations: UNLIMITED,
    maxWorkUnits: UNLIMITED,
    maxGlobOperations: UNLIMITED,
    maxTraversalWork: UNLIMITED,
    maxExecutionTimeMs: Infinity,
    maxStringLength: 32 * MIB,
    maxLiveBytes: 128 * MIB,
    maxOutputSize: Math.max(32 * MIB, 2 * outputBytes),
  };
}
