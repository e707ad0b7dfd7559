import * as z from "zod";
import type { EpisodeCheckpoint } from "../../episode_checkpoint.ts";
import { errorMessage, SandboxError } from "../../errors.ts";
import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { PythonSession, SessionLease } from "../../sandbox/contract/pool.ts";
import { isDeeperThan } from "../../sandbox/guest_frames.ts";
import { parseProfile, type Profile } from "../../sandbox/profile/profile.ts";
import { parseJson } from "../../tools/parsers/json_scan.ts";
import { checkpointSession, type SessionCheckpointOptions } from "../branching_env.ts";
import type { ToolUserAction } from "../tool_user_env.ts";
import type { CheckoutDomain } from "./checkout.ts";
import { descriptionSchema, type DomainDescription } from "./domain_description.ts";
import domainSource from "./guest/domain.py" with { type: "text" };
import standInSource from "./guest/stand_ins.py" with { type: "text" };

/** Identifies a task of a domain. */
export interface TaskReference {
  readonly split: string;
  readonly index: number;
}

/** Options of the requests of {@linkcode DomainSession}. */
export interface DomainRequestOptions {
  signal?: AbortSignal | undefined;
}

/** Records of a domain's data. */
export interface DomainRecords {
  /** All tables in order: the name, its Python `repr`, and true if the table has rows. */
  readonly tables: readonly (readonly [string, string, boolean])[];
  /** Table, key (`null` for a table without rows), and normal form (`null` for a deleted record). */
  readonly records: readonly (readonly [string, string | null, string | null])[];
}

const recordsSchema: z.core.$ZodType<DomainRecords> = z.object({
  tables: z.array(z.tuple([z.string(), z.string(), z.boolean()])),
  records: z.array(z.tuple([z.string(), z.string().nullable(), z.string().nullable()])),
});

/** Tool call; the arguments are JSON text. */
export interface DomainCall {
  readonly name: string;
  readonly kwargs: string;
}

const observationSchema = z.object({ observation: z.string() });
const outputsSchema = z.object({ outputs: z.record(z.string(), z.boolean()) });

/** A leased session that runs a domain. */
export interface LeasedDomain {
  readonly lease: SessionLease;
  readonly session: DomainSession;
}

/** Timeout of requests that read or compare all data, which take longer than a tool. */
const DATA_TIMEOUT_MS = 120_000;

/** Host side of a session that runs a domain. It validates everything that the session returns. */
export class DomainSession {
  readonly #session: PythonSession;
  #restarted: boolean;
  /** True if the last request has lost the interpreter, so that the next response comes from a fresh one. */
  #lost = false;

  /** `restarted` is true for a copy of a session whose interpreter has lost all changes. */
  constructor(session: PythonSession, { restarted = false }: { restarted?: boolean } = {}) {
    this.#session = session;
    this.#restarted = restarted;
  }

  /** Makes a checkpoint of the session. */
  async checkpoint(
    options: SessionCheckpointOptions,
  ): Promise<EpisodeCheckpoint<LeasedDomain>> {
    const restarted = this.#restarted || this.#lost;
    const state = await checkpointSession(this.#session, options);
    return {
      async copy(options) {
        const lease = await state.copy(options);
        return { lease, session: new DomainSession(lease.session, { restarted }) };
      },
    };
  }

  /** Returns the tools, tasks and texts of the domain. */
  async describe(options?: DomainRequestOptions): Promise<DomainDescription> {
    return this.#read(await this.#request({ do: "describe" }, options), descriptionSchema);
  }

  /**
   * Runs a tool on the data and returns its observation. If the tool or its arguments fail, the observation begins
   * with `Error:`. `ended` is false if the tool had to be stopped.
   */
  async step(
    call: DomainCall,
    options: DomainRequestOptions & { timeoutMs?: number | undefined } = {},
  ): Promise<{ observation: string; ended: boolean }> {
    const { name, kwargs } = call;
    const result = await this.#exec({ do: "step", name, kwargs }, options);
    if (result.status === "ok") return { ...this.#read(result, observationSchema), ended: true };
    return { observation: `Error: ${name} did not end: ${describeFailure(result)}`, ended: false };
  }

  /** Returns the records that differ from the start. */
  async changes(options?: DomainRequestOptions): Promise<DomainRecords> {
    return this.#read(await this.#request({ do: "changes" }, options), recordsSchema);
  }

  /** Returns all records. */
  async allRecords(options?: DomainRequestOptions): Promise<DomainRecords> {
    return this.#read(await this.#request({ do: "everything" }, options), recordsSchema);
  }

  /** Runs a task's own actions and returns the records that then differ from the start. */
  async expectedChanges(task: TaskReference, options?: DomainRequestOptions): Promise<DomainRecords> {
    return this.#read(await this.#request({ do: "expected_changes", ...task }, options), recordsSchema);
  }

  /** Returns, for each of a task's outputs, whether the agent's messages contain it. */
  async outputs(task: TaskReference, messages: readonly string[]): Promise<Record<string, boolean>> {
    return this.#read(await this.#request({ do: "outputs", ...task, messages }), outputsSchema).outputs;
  }

  /** Resets the data to the start. */
  async rewind(options: DomainRequestOptions & { seed?: number | undefined } = {}): Promise<void> {
    await this.#session.reset({ mode: "rewind", ...options });
    this.#restarted = this.#lost = false;
  }

  /** Returns true, once, if a response came from a restarted interpreter, which has lost all earlier changes. */
  consumeRestarted(): boolean {
    const restarted = this.#restarted;
    this.#restarted = false;
    return restarted;
  }

  async #request(message: object, options: DomainRequestOptions = {}): Promise<ExecResult> {
    const result = await this.#exec(message, { ...options, timeoutMs: DATA_TIMEOUT_MS });
    if (result.status === "ok") return result;
    throw new SandboxError(`Cannot query the domain as its code failed: ${describeFailure(result)}`);
  }

  async #exec(
    request: object,
    options: DomainRequestOptions & { timeoutMs?: number | undefined },
  ): Promise<ExecResult> {
    const result = await this.#session.exec(`import ${DOMAIN_MODULE}\n${DOMAIN_MODULE}.respond()`, {
      ...options,
      stdin: JSON.stringify(request),
    });
    if (result.restarted) this.#restarted = true;
    this.#lost = !result.stateKept;
    return result;
  }

  #read<T>({ stdout }: ExecResult, schema: z.core.$ZodType<T>): T {
    try {
      return z.parse(schema, JSON.parse(stdout));
    } catch (cause) {
      throw new SandboxError("Cannot read the domain's response as it does not match its schema", {
        cause,
      });
    }
  }
}

function describeFailure(result: ExecResult): string {
  if (result.status === "exited") return `it exited with code ${result.exitCode}`;
  if (!("error" in result)) return result.status;
  const { type, message } = result.error;
  return `${type}: ${message}`;
}

/** Name of the Python module that runs the domain in a session. */
const DOMAIN_MODULE = "tau_domain";

const MIB = 1024 * 1024;

/** Number of interpreters in a process. They run the same code and belong to a single trust domain. */
const SESSIONS_PER_PROCESS = 16;

const SETTINGS = {
  description: "The tools and data of a tau-bench domain",
  limits: {
    timeoutMs: 10_000,
    memoryBytes: 256 * MIB,
    outputBytes: 64 * MIB,
    fileBytes: MIB,
    cpuSeconds: 120,
  },
  preimports: [
    "abc",
    "copy",
    "datetime",
    "enum",
    "gc",
    "hashlib",
    "importlib",
    "inspect",
    "io",
    "json",
    "marshal",
    "math",
    "os",
    "random",
    "re",
    "sys",
    "typing",
  ],
  sessionsPerProcess: SESSIONS_PER_PROCESS,
};

/** Returns a profile whose base image has the domain imported and its data loaded. */
export function domainProfile({ packagePath, domain }: CheckoutDomain): Profile {
  const mounts = { "/checkout/tau_bench": packagePath };
  const profile = parseProfile(JSON.stringify({ ...SETTINGS, mounts }), { source: `tau-bench ${domain}` });
  const source = `${standInSource}\n${domainSource}\nopen_domain(${JSON.stringify(domain)})\n`;
  return { ...profile, preload: { module: DOMAIN_MODULE, source } };
}

/** Maximum nesting of arguments. Much deeper values would crash the Python interpreter. */
const MAX_DEPTH = 64;

/** Returns the arguments of a call as JSON text, or the reason why they are invalid. */
export function toArgumentsText({ name, kwargs, kwargsText }: ToolUserAction): string | { fault: string } {
  try {
    const value: unknown = kwargsText === undefined ? kwargs : parseJson(kwargsText);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return {
        fault: `the arguments of ${name} must be an object: current value is ${JSON.stringify(value)}`,
      };
    }
    if (isDeeperThan(MAX_DEPTH, value)) return { fault: `the arguments of ${name} are nested too deep` };
    return kwargsText ?? JSON.stringify(value);
  } catch (cause) {
    return {
      fault: `the arguments of ${name} must be JSON: ${errorMessage(cause)}`,
    };
  }
}
