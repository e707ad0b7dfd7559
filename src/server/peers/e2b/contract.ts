import * as z from "zod";
import type { JsonValue } from "../../../json.ts";
import { MAX_TTL_SECONDS } from "../../../wire/limits.ts";
import { metadataSchema } from "../../../wire/v1_sessions.ts";

const [MAX_VARIABLES, MAX_VARIABLE_CHARACTERS] = [256, 64 * 1024];
/** Seconds of life of a sandbox whose request states no time. */
export const DEFAULT_TIMEOUT = 15;
/** Copies that a request makes. */
const MAX_FORKS = 100;
/** Id of a snapshot: the SHA-256 of the contents. */
export const SNAPSHOT_ID = /^[0-9a-f]{64}$/;
/** Name of a snapshot: perhaps a team, a name, and perhaps a tag. */
const SNAPSHOT_NAME = /^([\w.-]+\/)?[\w.-]+(:[\w.-]+)?$/;
const MAX_NAME_CHARACTERS = 128;
/** Items of a page of a list. */
const MAX_PAGE = 100;

/** Body of `/execute`. Other keys are ignored. */
export const e2bRequest = z.object({
  code: z.string(),
  context_id: z.string().nullish(),
  language: z.string().nullish(),
  env_vars: z.record(z.string(), z.string()).nullish(),
}).meta({ id: "E2bExecuteRequest" });
export type ExecuteRequest = z.output<typeof e2bRequest>;

/** Body of `/contexts`. Other keys are ignored. */
export const contextRequest = z.object({ cwd: z.string().nullish(), language: z.string().nullish() })
  .meta({ id: "E2bContextRequest" });

/** A context of the code interpreter. */
export const context = z.object({ id: z.string(), language: z.string(), cwd: z.string() })
  .meta({ id: "E2bContext" });
export type ContextBody = z.output<typeof context>;

/** Exception of a program. */
const executionError = z.object({ name: z.string(), value: z.string(), traceback: z.string() });
export type ExecutionError = z.output<typeof executionError>;

/** An object that a program showed, or the value of the last expression, by formats. */
const shownResult = z.looseObject({ text: z.string().optional(), is_main_result: z.boolean() });
export type ShownResult = z.output<typeof shownResult> & Readonly<Record<string, JsonValue>>;

/** Result of a program. */
export const execution = z.object({
  results: z.array(shownResult),
  logs: z.object({ stdout: z.array(z.string()), stderr: z.array(z.string()) }),
  error: executionError.nullable(),
  execution_count: z.int(),
}).meta({ id: "E2bExecution" });
export type Execution = z.output<typeof execution>;

/** Seconds of life of a sandbox. */
const timeout = z.number().nonnegative().max(MAX_TTL_SECONDS);

const variables = z.record(z.string().regex(/^[^=\0]+$/), z.string().regex(/^[^\0]*$/))
  .refine(
    (record) => Object.keys(record).length <= MAX_VARIABLES,
    `must have at most ${MAX_VARIABLES} entries`,
  )
  .refine(
    (record) => Object.entries(record).flat().join("").length <= MAX_VARIABLE_CHARACTERS,
    `must have at most ${MAX_VARIABLE_CHARACTERS} characters together`,
  );

/** Body of `POST /sandboxes`. Other keys are ignored. */
export const createSandboxRequest = z.object({
  templateID: z.string().max(256).default("base"),
  timeout: timeout.default(DEFAULT_TIMEOUT),
  metadata: metadataSchema.nullish(),
  envVars: variables.nullish(),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.object({ enabled: z.boolean() }).nullish(),
  volumeMounts: z.array(z.unknown()).nullish(),
  iam: z.unknown().optional(),
}).refine(
  ({ autoPauseMemory, autoResume }) => autoPauseMemory !== false || !autoResume?.enabled,
  "autoResume must not be enabled when autoPauseMemory is false: without memory, a sandbox is only resumed by a request",
).meta({ id: "E2bCreateSandbox" });

/** Body of `/sandboxes/{id}/timeout`. */
export const timeoutRequest = z.object({ timeout }).meta({ id: "E2bTimeout" });
/** Body of `/sandboxes/{id}/refreshes`. */
export const refreshRequest = z.object({ duration: timeout.nullish() }).meta({ id: "E2bRefresh" });
/** Body of `/sandboxes/{id}/connect` and `/sandboxes/{id}/resume`. */
export const connectRequest = z.object({ timeout: timeout.nullish(), memory: z.boolean().nullish() })
  .meta({ id: "E2bConnectSandbox" });
export type ConnectSandboxRequest = z.output<typeof connectRequest>;

/** Body of `/sandboxes/{id}/pause`. */
export const pauseRequest = z.object({ memory: z.boolean().nullish() }).meta({ id: "E2bPause" });
/** Body of `/sandboxes/{id}/fork` and `/snapshots/{id}/fork`. */
export const forkRequest = z.object({
  timeout: timeout.nullish(),
  count: z.int().min(1).max(MAX_FORKS).nullish(),
}).meta({ id: "E2bFork" });
/** Body of `/sandboxes/{id}/snapshots`. */
export const snapshotRequest = z.object({
  name: z.string().max(MAX_NAME_CHARACTERS).regex(SNAPSHOT_NAME)
    .refine((name) => !SNAPSHOT_ID.test(name), "must not be the id of a snapshot").nullish(),
  memory: z.boolean().nullish(),
}).meta({ id: "E2bSnapshotRequest" });

const identity = z.object({
  sandboxID: z.string(),
  templateID: z.string(),
  clientID: z.string(),
  envdVersion: z.string(),
});
export type SandboxIdentity = z.output<typeof identity>;

/** Parameters of a list that is read in pages. */
const pageQuery = z.object({
  order: z.enum(["asc", "desc"]).default("desc"),
  nextToken: z.string().optional(),
  limit: z.coerce.number().int().min(1).default(MAX_PAGE).transform((limit) => Math.min(limit, MAX_PAGE)),
});
export type PageQuery = z.output<typeof pageQuery>;

/** Query of the list of sandboxes. */
export const sandboxQuery = pageQuery.extend({
  metadata: z.string().optional().meta({ example: "user=ada" }),
  state: z.string().optional().meta({ example: "running,paused" }),
  template: z.string().optional(),
  startedAfter: z.iso.datetime({ offset: true }).optional(),
});

/** Query of the list of snapshots. */
export const snapshotQuery = pageQuery.extend({
  sandboxID: z.string().optional(),
  name: z.string().optional().meta({ example: "before-the-merge" }),
});

/** Address and tokens with which a client reaches a sandbox. */
export const connection = identity.extend({
  domain: z.null(),
  envdAccessToken: z.string(),
  trafficAccessToken: z.string(),
}).meta({ id: "E2bSandbox" });
export type SandboxConnection = z.output<typeof connection>;

const state = z.enum(["running", "paused"]);
export type SandboxState = z.output<typeof state>;

/** A sandbox in the form of lists. */
export const sandboxInfo = identity.extend({
  startedAt: z.string(),
  endAt: z.string(),
  state,
  cpuCount: z.int(),
  memoryMB: z.int(),
  diskSizeMB: z.int(),
  metadata: z.record(z.string(), z.string()),
  envdAccessToken: z.string().optional(),
}).meta({ id: "E2bSandboxInfo" });
export type SandboxInfo = z.output<typeof sandboxInfo>;

/** Metrics of a sandbox. */
export const sandboxMetric = z.looseObject({ timestamp: z.string(), cpuUsedPct: z.number() });
export type SandboxMetric = z.output<typeof sandboxMetric>;

/** A snapshot in the form of lists. */
export const snapshotInfo = z.object({ snapshotID: z.string(), names: z.array(z.string()) })
  .meta({ id: "E2bSnapshot" });
export type SnapshotInfo = z.output<typeof snapshotInfo>;

/** A file that was written. */
export const writtenFile = z.looseObject({ path: z.string(), name: z.string(), type: z.string() });
export type WrittenFile = z.output<typeof writtenFile>;

/** Format of errors. */
export const e2bError = z.object({ code: z.int(), message: z.string(), sandboxId: z.string().optional() })
  .meta({ id: "E2bError" });
