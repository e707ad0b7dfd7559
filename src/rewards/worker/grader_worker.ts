import { parentPort, workerData } from "node:worker_threads";
import { Script } from "node:vm";
import type { Score } from "../grader.ts";
import { type GradedTask, type GraderOrigin, replyGradingOf } from "../reply_grader.ts";

/** A grade for a worker. */
export interface WorkItem {
  readonly origin: GraderOrigin;
  readonly reply: string;
  readonly task: Omit<GradedTask, "fields">;
  /** The task's fields as JSON. */
  readonly fields?: string | undefined;
}

/** Message to a worker: grades to compute, in order. */
export interface Batch {
  readonly items: readonly WorkItem[];
  /** Time limit of the whole batch, in milliseconds. */
  readonly limitMs: number;
}

/** Message of a worker: the end of the load, or the results of a batch. */
export type WorkerMessage = "ready" | readonly ItemResult[];

/** Result of a grade: the score, an error of the grader, or the limit that stopped the grade. */
export type ItemResult =
  | { readonly score: Score | number | null }
  | { readonly error: { readonly name: string; readonly message: string } }
  | { readonly stopped: "deadline" | "memory" };

/** Data that a worker gets at the start. */
export interface WorkerSetup {
  /** URLs of the grader files by name. */
  readonly urls: ReadonlyMap<string, string>;
  /** Index of the item that is being graded, for the host, which cannot ask a worker that has died. */
  readonly progress: Int32Array;
}

type Factory = (options: unknown) => Parameters<typeof replyGradingOf>[0];

const { urls, progress }: WorkerSetup = workerData;
const modules = new Map<string, Readonly<Record<string, Factory>>>();
const failures = new Map<string, unknown>();
/** `node:vm` ends a script after a time limit. `Worker.terminate()` of Deno does not end code that runs. */
const script = new Script("runGraderJob()");

// A job runs in a task, not in the message's handler: Deno reports that memory has run out only from a task.
parentPort?.on("message", (batch: Batch) => {
  const isLoaded = batch.items.every(({ origin }) => modules.has(origin.file));
  if (isLoaded) setImmediate(run, batch);
  else void Promise.all(batch.items.map(load)).then(() => setImmediate(run, batch));
});

parentPort?.postMessage("ready" satisfies WorkerMessage);

async function load({ origin: { file, factory, options } }: WorkItem): Promise<void> {
  try {
    const module: Readonly<Record<string, Factory>> = await import(urls.get(`${file}.ts`) ?? file);
    const grader = module[factory]?.(options);
    await (grader && replyGradingOf(grader))?.prepare?.();
    modules.set(file, module);
  } catch (error) {
    failures.set(file, error); // the grades that need the module fail, and no others
  }
}

/** Grades items until half of the time is over, so that the last item has the other half. Replies with the results. */
function run({ items, limitMs }: Batch): void {
  const results: ItemResult[] = [];
  const end = performance.now() + limitMs / 2;
  const job = () => {
    do {
      progress[0] = results.length;
      results.push(gradeItem(items[results.length]));
    } while (results.length < items.length && performance.now() < end);
  };
  try {
    Object.assign(globalThis, { runGraderJob: job });
    script.runInThisContext({ timeout: limitMs });
  } catch {
    results.push({ stopped: "deadline" }); // `gradeItem` throws nothing else
  }
  parentPort?.postMessage(results);
}

function gradeItem(item: WorkItem | undefined): ItemResult {
  try {
    if (item === undefined) throw new RangeError("Cannot grade as the batch must have an item: found none");
    const { origin, reply, task, fields } = item;
    if (failures.has(origin.file)) throw failures.get(origin.file);
    const grader = modules.get(origin.file)?.[origin.factory]?.(origin.options);
    const grading = grader && replyGradingOf(grader);
    if (grading === undefined) {
      throw new TypeError(`Cannot grade as '${origin.factory}' must make a reply grader`);
    }
    const score = grading.gradeReply(
      reply,
      fields === undefined ? task : { ...task, fields: JSON.parse(fields) },
    );
    return { score };
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return { error: { name, message } };
  }
}
