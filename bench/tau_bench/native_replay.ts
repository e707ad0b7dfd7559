import { z } from "zod";
import { type NativeOptions, nativePython } from "./native_python.ts";

/** Result of the own actions of a task. */
export interface Replayed {
  readonly index: number;
  readonly observations: readonly string[];
  /** Hash of the data after the actions, by tau-bench. */
  readonly hash: string;
}

const replayedSchema: z.ZodType<Replayed> = z.object({
  index: z.number(),
  observations: z.array(z.string()),
  hash: z.string(),
});

/**
 * Replays each task of a split with a `python3` of the host.
 *
 * @throws {Error} when that Python fails.
 */
export async function* nativeReplay(python: string, options: NativeOptions): AsyncGenerator<Replayed> {
  for await (const value of nativePython(python, "replay(checkout, domain, split)", options)) {
    yield replayedSchema.parse(value);
  }
}
