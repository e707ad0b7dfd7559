import { z } from "zod";
import type { Scores } from "../workspace_task.ts";

const scoresSchema = z.record(z.string().min(1), z.number()).refine((scores) =>
  Object.keys(scores).length > 0
);

/** Parses metrics in JSON, each a finite number; `undefined` for anything else. */
export function parseScores(text: string): Scores | undefined {
  try {
    return scoresSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // not JSON
  }
}
