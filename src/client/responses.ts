import { z } from "zod";
import type { ExecResult, ShellResult } from "../sandbox/exec.ts";
import {
  batchOutcome,
  execResult,
  guestError,
  type requestError,
  sessionInfo,
  shellResult,
} from "../wire/v1.ts";

const durationMs = execResult.shape.durationMs.nonnegative();
const files = z.record(z.string(), z.base64().transform((text) => Uint8Array.fromBase64(text)))
  .exactOptional();

const execOutcome = execResult.omit({ value: true, error: true, exitCode: true }).extend({
  durationMs,
  files,
});
const shellOutcome = shellResult.omit({ error: true, exitCode: true, deadline: true }).extend({ durationMs });

/** Result of a program, with exactly the fields of its status. */
export const execResponse: z.ZodType<ExecResult> = z.discriminatedUnion("status", [
  execOutcome.extend({ status: z.literal("ok"), value: execResult.shape.value }),
  execOutcome.extend({ status: z.literal("exited"), exitCode: z.int() }),
  execOutcome.extend({
    status: execResult.shape.status.exclude(["ok", "exited", "crashed"]),
    error: guestError,
  }),
  execOutcome.extend({
    status: z.literal("crashed"),
    error: guestError,
    exitCode: execResult.shape.exitCode,
  }),
]);

/** Result of a shell command, with exactly the fields of its status. */
export const shellResponse: z.ZodType<ShellResult> = z.discriminatedUnion("status", [
  shellOutcome.extend({ status: z.literal("ok"), exitCode: z.literal(0) }),
  shellOutcome.extend({ status: z.literal("exited"), exitCode: z.int() }),
  shellOutcome.extend({
    status: z.literal("timeout"),
    deadline: shellResult.shape.deadline.unwrap(),
    error: guestError,
  }),
  shellOutcome.extend({
    status: shellResult.shape.status.exclude(["ok", "exited", "timeout"]),
    error: guestError,
  }),
]);

/** Id of a new session. */
export const sessionResponse: z.ZodType<{ id: string }> = sessionInfo.pick({ id: true }).extend({
  id: sessionInfo.shape.id.min(1).max(64),
});

/** Results of a batch. */
export const batchResponse: z.ZodType<
  { results: { status: number; result?: ExecResult; error?: z.output<typeof requestError> }[] }
> = z.object({
  results: z.array(batchOutcome.extend({ result: execResponse.exactOptional() })),
});

/** Response without a body. */
export const emptyResponse: z.ZodType<undefined> = z.undefined();
