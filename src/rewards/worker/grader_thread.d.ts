// The part of grader_thread.ts that pools use. See docs/decisions/hand_written_types.md.
import type { ItemResult, WorkItem } from "./grader_worker.ts";

export interface GraderThreadOptions {
  readonly heapMb: number;
  readonly graceMs: number;
}

export interface GraderThread {
  run(items: readonly WorkItem[], limitMs: number): Promise<readonly (ItemResult | undefined)[]>;
  end(): Promise<void>;
}

export const GraderThread: new (options: GraderThreadOptions) => GraderThread;
