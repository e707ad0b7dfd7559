import { chaosRows } from "./chaos/chaos_rows.ts";
import { densityRows } from "./density_rows.ts";
import { edgeRows } from "./edge_rows.ts";
import { envRows, vectorRows } from "./env_rows.ts";
import { episodeRows } from "./episode_rows.ts";
import { loadRows } from "./load_rows.ts";
import { overheadRows } from "./overhead_rows.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, growthRow, ownProcessRows, poolRows, sharedProcessRows } from "./sandbox_rows.ts";
import { agentCommandRows, shellRows } from "./shell_rows.ts";
import { trainingRows } from "./training_rows.ts";
import { workspaceRows } from "./workspace_rows.ts";

type Measure = (setup: BenchSetup) => Promise<Row[]>;

/** What is measured, by the names that `--part` takes; each has its peers in the same run. */
export const BENCH_PARTS = {
  sandbox: [ownProcessRows, sharedProcessRows, poolRows],
  shell: [shellRows],
  workspace: [agentCommandRows, workspaceRows],
  episodes: [episodeRows],
  envs: [envRows, vectorRows],
  training: [trainingRows],
  edge: [edgeRows],
  server: [overheadRows, loadRows],
  growth: [async (setup) => [await growthRow(setup)]],
  chaos: [chaosRows],
  density: [densityRows],
} as const satisfies Record<string, readonly Measure[]>;

/** A part of what is measured. */
export type BenchPart = keyof typeof BENCH_PARTS;

/** What harms a server, or takes most of the host's memory, and so is measured only when it is asked for. */
const APART: ReadonlySet<BenchPart> = new Set(["chaos", "density"]);

/** The names of all parts. */
export const BENCH_PART_NAMES = Object.keys(BENCH_PARTS) as BenchPart[];

/** Measures everything the README claims, part after part; only one of them where it is named. */
export async function* bench(setup: BenchSetup, part?: BenchPart): AsyncGenerator<Row> {
  const parts = part === undefined ? BENCH_PART_NAMES.filter((name) => !APART.has(name)) : [part];
  for (const measure of parts.flatMap((name): readonly Measure[] => BENCH_PARTS[name])) {
    yield* await measure(setup);
  }
}
