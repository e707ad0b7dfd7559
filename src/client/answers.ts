import { z } from "zod";
import type { ExecResult, ShellResult } from "../sandbox/exec.ts";

const guestError = z.object({ type: z.string(), message: z.string(), traceback: z.string() });

const outcome = z.object({
  stdout: z.string(),
  stderr: z.string(),
  durationMs: z.number().nonnegative(),
  stateKept: z.boolean(),
  truncated: z.boolean(),
  restarted: z.literal(true).exactOptional(),
});

const execOutcome = outcome.extend({
  files: z.record(z.string(), z.base64().transform((text) => Uint8Array.fromBase64(text))).exactOptional(),
});

const shellOutcome = outcome.extend({ cwd: z.string() });

/** What became of a program. */
export const execAnswer: z.ZodType<ExecResult> = z.discriminatedUnion("status", [
  execOutcome.extend({ status: z.literal("ok"), value: z.string().exactOptional() }),
  execOutcome.extend({ status: z.literal("exited"), exitCode: z.int() }),
  execOutcome.extend({
    status: z.enum(["error", "timeout", "memory", "output", "crashed"]),
    error: guestError,
  }),
]);

/** What became of a command line. */
export const shellAnswer: z.ZodType<ShellResult> = z.discriminatedUnion("status", [
  shellOutcome.extend({ status: z.literal("ok"), exitCode: z.literal(0) }),
  shellOutcome.extend({ status: z.literal("exited"), exitCode: z.int() }),
  shellOutcome.extend({
    status: z.literal("timeout"),
    deadline: z.enum(["run", "silence", "cpu"]),
    error: guestError,
  }),
  shellOutcome.extend({ status: z.enum(["memory", "output", "crashed"]), error: guestError }),
]);

/** A session that was opened. */
export const sessionAnswer: z.ZodType<{ id: string }> = z.object({ id: z.string().min(1).max(64) });

/** Why a request failed, in the words of the server. */
export const failure: z.ZodType<{ type: string; message: string }> = z.object({
  type: z.string(),
  message: z.string(),
});

/** What became of the programs of a batch. */
export const batchAnswer: z.ZodType<
  { results: { status: number; result?: ExecResult; error?: { type: string; message: string } }[] }
> = z.object({
  results: z.array(z.object({
    status: z.int(),
    result: execAnswer.exactOptional(),
    error: failure.exactOptional(),
  })),
});

/** A score. */
export const scoreAnswer: z.ZodType<
  { score: number | null; parts?: Record<string, number | null>; reason?: string }
> = z.object({
  score: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()).exactOptional(),
  reason: z.string().exactOptional(),
});

/** A piece of output. */
export const outputEvent: z.ZodType<{ text: string }> = z.object({ text: z.string() });

/** How many files were written. */
export const filesAnswer: z.ZodType<{ written: number }> = z.object({ written: z.int() });

/** An answer that holds nothing. */
export const nothing: z.ZodType<undefined> = z.undefined();
