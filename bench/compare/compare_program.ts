import type { SessionPool } from "../../src/sandbox/contract/pool.ts";
import { type Cause, causeOf, isSame } from "./difference.ts";
import type { ProgramCase } from "./programs.ts";
import { type Outcome, runInSession, runNatively } from "./run.ts";

/** Options of {@linkcode compareProgram}. */
export interface CompareOptions {
  /** Path of the native interpreter. */
  readonly python: string;
  readonly pool: SessionPool;
  /** Time limit of a native run, in milliseconds. */
  readonly timeoutMs: number;
  /** Time limit of a run in a session, in milliseconds. */
  readonly sessionTimeoutMs: number;
  readonly signal: AbortSignal;
}

/** Result of a program's runs. The outcomes are there if they differ. */
export interface Comparison {
  readonly name: string;
  readonly corpus: string;
  readonly cause?: Cause;
  readonly native?: Outcome;
  readonly session?: Outcome;
}

const MAX_KEPT_CHARACTERS = 4000;

/** Runs a program natively and in a session. If they differ, it runs natively again with another seed of hashes. */
export async function compareProgram(program: ProgramCase, options: CompareOptions): Promise<Comparison> {
  const { name, corpus } = program;
  const { python, pool, timeoutMs, sessionTimeoutMs, signal } = options;
  const native = await runNatively(python, program, { timeoutMs, signal, hashSeed: 0 });
  if (native.exitCode === null) return { name, corpus, cause: "native time-out" };
  const session = await runInSession(pool, program, { timeoutMs: sessionTimeoutMs, signal });
  if (isSame(native, session)) return { name, corpus };
  const again = await runNatively(python, program, { timeoutMs, signal, hashSeed: 1 });
  const cause = causeOf(native, session, again);
  return { name, corpus, cause, native: cutMiddle(native), session: cutMiddle(session) };
}

function cutMiddle({ stdout, stderr, exitCode }: Outcome): Outcome {
  return { stdout: cut(stdout), stderr: cut(stderr), exitCode };
}

function cut(text: string): string {
  if (text.length <= MAX_KEPT_CHARACTERS) return text;
  const half = MAX_KEPT_CHARACTERS / 2;
  return `${text.slice(0, half)}\n[…]\n${text.slice(-half)}`;
}
