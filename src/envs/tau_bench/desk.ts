import { z } from "zod";
import { SandboxError } from "../../errors.ts";
import type { ExecResult, PythonSession } from "../../sandbox/exec.ts";
import { descriptionSchema, type DomainDescription } from "./domain_description.ts";
import { DESK } from "./domain_profile.ts";

/** Which task is meant. */
export interface TaskPlace {
  readonly split: string;
  readonly index: number;
}

/** What a desk may be given beside what it is asked. */
export interface DeskOptions {
  signal?: AbortSignal | undefined;
}

/** Records of a domain's data. */
export interface DomainRecords {
  /** All tables in their order: the name, Python's `repr` of it, and whether the table has rows. */
  readonly tables: readonly (readonly [string, string, boolean])[];
  /** Table, key (`null` for a table without rows), and normal form (`null` for a record that is gone). */
  readonly records: readonly (readonly [string, string | null, string | null])[];
}

const recordsSchema: z.ZodType<DomainRecords> = z.object({
  tables: z.array(z.tuple([z.string(), z.string(), z.boolean()])),
  records: z.array(z.tuple([z.string(), z.string().nullable(), z.string().nullable()])),
});

/** A call of a tool; the arguments are JSON text. */
export interface DeskCall {
  readonly name: string;
  readonly kwargs: string;
}

const observationSchema = z.object({ observation: z.string() });
const outputsSchema = z.object({ outputs: z.record(z.string(), z.boolean()) });

/** Reading or comparing all data takes longer than any tool. */
const DATA_TIMEOUT_MS = 120_000;

/** The host's side of a session that serves a domain. What comes from it is checked here. */
export class Desk {
  readonly #session: PythonSession;
  #restarted = false;

  constructor(session: PythonSession) {
    this.#session = session;
  }

  /** What the domain consists of. */
  async describe(options?: DeskOptions): Promise<DomainDescription> {
    return this.#read(await this.#ask({ do: "describe" }, options), descriptionSchema);
  }

  /**
   * Lets a tool work on the data and gives what it answers. What is wrong with the tool or its arguments is told
   * in the answer, which then begins with `Error:`; `ended` is false when the tool had to be stopped.
   */
  async step(
    call: DeskCall,
    options: DeskOptions & { timeoutMs?: number | undefined } = {},
  ): Promise<{ observation: string; ended: boolean }> {
    const { name, kwargs } = call;
    const result = await this.#exec({ do: "step", name, kwargs }, options);
    if (result.status === "ok") return { ...this.#read(result, observationSchema), ended: true };
    return { observation: `Error: ${name} did not end: ${reason(result)}`, ended: false };
  }

  /** The records that are not as they were at the start. */
  async changes(options?: DeskOptions): Promise<DomainRecords> {
    return this.#read(await this.#ask({ do: "changes" }, options), recordsSchema);
  }

  /** All records. */
  async everything(options?: DeskOptions): Promise<DomainRecords> {
    return this.#read(await this.#ask({ do: "everything" }, options), recordsSchema);
  }

  /** Does what a task asks for and gives the records that are then not as at the start. */
  async truth(task: TaskPlace, options?: DeskOptions): Promise<DomainRecords> {
    return this.#read(await this.#ask({ do: "truth", ...task }, options), recordsSchema);
  }

  /** Which of a task's outputs were said. */
  async outputs(task: TaskPlace, said: readonly string[]): Promise<Record<string, boolean>> {
    return this.#read(await this.#ask({ do: "outputs", ...task, said }), outputsSchema).outputs;
  }

  /** Brings the data back to how they were at the start. */
  async rewind(options: DeskOptions & { seed?: number | undefined } = {}): Promise<void> {
    await this.#session.reset({ mode: "rewind", ...options });
    this.#restarted = false;
  }

  /** True once when an answer came of an interpreter that knew nothing of what was done before. */
  takeRestarted(): boolean {
    const restarted = this.#restarted;
    this.#restarted = false;
    return restarted;
  }

  async #ask(request: object, options: DeskOptions = {}): Promise<ExecResult> {
    const result = await this.#exec(request, { ...options, timeoutMs: DATA_TIMEOUT_MS });
    if (result.status === "ok") return result;
    throw new SandboxError(`Cannot ask the domain as its code must answer: ${reason(result)}`);
  }

  async #exec(
    request: object,
    options: DeskOptions & { timeoutMs?: number | undefined },
  ): Promise<ExecResult> {
    const result = await this.#session.exec(`import ${DESK}\n${DESK}.answer()`, {
      ...options,
      stdin: JSON.stringify(request),
    });
    if (result.restarted) this.#restarted = true;
    return result;
  }

  #read<T>({ stdout }: ExecResult, schema: z.ZodType<T>): T {
    try {
      return schema.parse(JSON.parse(stdout));
    } catch (cause) {
      throw new SandboxError("Cannot read the domain's answer as it must have the form that was asked for", {
        cause,
      });
    }
  }
}

function reason(result: ExecResult): string {
  if (result.status === "exited") return `it exited with code ${result.exitCode}`;
  if (result.status === "ok") return "ok";
  const { type, message } = result.error;
  return `${type}: ${message}`;
}
