import { z } from "zod";
import type { ExecOptions, ExecResult } from "../../sandbox/exec.ts";
import type { LiveSession } from "../live_session.ts";

const MAX_TIMEOUT_MS = 3_600_000;
const MAX_FILES = 1_000;

const path = z.string().min(1).max(1024);
const files = z.record(path, z.base64());

/** A program to run, as it comes in. */
export const execRequest = z.strictObject({
  code: z.string(),
  timeoutMs: z.number().positive().max(MAX_TIMEOUT_MS).optional()
    .describe("milliseconds until it is interrupted; the profile's limit unless given"),
  stdin: z.string().optional().describe("what input() and sys.stdin read"),
  files: files.optional().describe("files written before it runs, by path, in base64"),
  fetchFiles: z.array(path).max(MAX_FILES).optional()
    .describe("files read back afterwards; a missing one is left out"),
}).meta({ id: "ExecRequest" });

/** What became of a program, as it goes out. */
export const execResult = z.object({
  status: z.enum(["ok", "error", "timeout", "memory", "output", "exited", "crashed"]),
  stdout: z.string(),
  stderr: z.string(),
  value: z.string().optional().describe("repr of the last expression, unless that is None"),
  error: z.object({ type: z.string(), message: z.string(), traceback: z.string() }).optional(),
  exitCode: z.number().int().optional(),
  durationMs: z.number(),
  stateKept: z.boolean().describe(
    "false when the interpreter was lost and the next program meets a fresh one",
  ),
  truncated: z.boolean(),
  restarted: z.literal(true).optional()
    .describe("this program met a fresh interpreter, as the last had been lost"),
  files: z.record(z.string(), z.string()).optional().describe("the files asked for, in base64"),
}).meta({ id: "ExecResult" });

/** A command line to run, as it comes in. */
export const shellRequest = z.strictObject({
  command: z.string(),
  timeoutMs: execRequest.shape.timeoutMs,
  silenceMs: z.number().positive().max(MAX_TIMEOUT_MS).optional()
    .describe("milliseconds that it may write nothing until it is interrupted"),
  stdin: z.string().optional().describe("what the first command reads"),
}).meta({ id: "ShellRequest" });

/** What became of a command line, as it goes out. */
export const shellResult = execResult.omit({ value: true, files: true }).extend({
  status: z.enum(["ok", "exited", "timeout", "memory", "output", "crashed"]),
  deadline: z.enum(["run", "silence", "cpu"]).optional().describe("which deadline a timeout met"),
  cwd: z.string().describe("the shell's directory from now on"),
}).meta({ id: "ShellResult" });

/** What a session is to who owns it. */
export const sessionInfo = z.object({
  id: z.string(),
  createdAt: z.string(),
  usedAt: z.string(),
  execs: z.number().int(),
}).meta({ id: "Session" });

/** How a session is opened. */
export const createRequest = z.strictObject({
  seed: z.int().optional().describe("makes random, secrets, uuid4 and os.urandom reproducible"),
}).meta({ id: "CreateSession" });

/** How a session is put back. */
export const resetRequest = z.strictObject({
  mode: z.enum(["fresh", "rewind"]).optional()
    .describe("fresh is a new interpreter; rewind is faster and for those who trust their last program"),
  seed: z.int().optional(),
}).meta({ id: "ResetSession" });

/** Files by their paths, in base64. */
export const filesBody = z.strictObject({ files }).meta({ id: "Files" });

/** The names of files. */
export const fileList = z.object({
  files: z.array(z.object({ path: z.string(), bytes: z.number() })),
}).meta({ id: "FileList" });

/** Why a request failed. */
export const failure = z.object({
  error: z.object({ type: z.string(), message: z.string() }),
}).meta({ id: "Failure" });

/** What a session is asked to run. */
export function execOptions(
  { files, timeoutMs, stdin, fetchFiles }: z.output<typeof execRequest>,
  signal: AbortSignal,
): ExecOptions {
  const contents = Object.entries(files ?? {}).map(([path, text]) => [path, Uint8Array.fromBase64(text)]);
  return { timeoutMs, stdin, fetchFiles, signal, files: Object.fromEntries(contents) };
}

/** A result as JSON. */
export function execAnswer({ files, ...result }: ExecResult): z.output<typeof execResult> {
  return files === undefined ? result : { ...result, files: inBase64(files) };
}

/** Files as JSON. */
export function inBase64(files: Readonly<Record<string, Uint8Array>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, contents]) => [path, contents.toBase64()]));
}

/** A session as JSON. */
export function sessionAnswer({ id, createdAt, usedAt, execs }: LiveSession): z.output<typeof sessionInfo> {
  return { id, execs, createdAt: createdAt.toISOString(), usedAt: usedAt.toISOString() };
}
