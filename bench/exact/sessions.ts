import * as z from "zod";
import { delay } from "@std/async";
import type { ExecResult } from "../../src/sandbox/contract/exec.ts";
import type { BranchingSession } from "../../src/sandbox/contract/pool.ts";
import type { HostTool } from "../../src/sandbox/host_tool.ts";
import { loadProfile, type Profile } from "../../src/sandbox/profile/profile.ts";
import { exactProgram } from "./programs.ts";

/** Time of the virtual clock that a program has. */
const TIMEOUT_MS = 24 * 3_600_000;
const SESSION_SEED = 7;

/** Returns the profile of the check: a shell, host tools, a virtual clock, and at most `memoryBytes`. */
export async function exactProfile(): Promise<Profile> {
  const profile = await loadProfile("workspace");
  return { ...profile, hostTools: true, clock: "virtual", limits: { ...profile.limits, cpuSeconds: 600 } };
}

/** A tool whose real time is random, and whose result is not. */
export const DELAY: HostTool = {
  name: "delay",
  description: "waits",
  parameters: z.strictObject({ ms: z.number() }),
  async run(args) {
    const { ms } = args as { ms: number };
    await delay(ms * 2 * Math.random());
    return ms * 10;
  },
};

/** Runs a program in a session. */
export async function runProgram(session: BranchingSession, seed: number): Promise<ExecResult> {
  return await session.exec(exactProgram(seed).code, { tools: [DELAY], timeoutMs: TIMEOUT_MS });
}

/** Options of the lease of a session for a program. */
export const LEASE: { readonly seed: number } = { seed: SESSION_SEED };
