import { edgeRows } from "./edge_rows.ts";
import { envRows, vectorRows } from "./env_rows.ts";
import { episodeRows } from "./episode_rows.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, growthRow, ownProcessRows, poolRows, sharedProcessRows } from "./sandbox_rows.ts";
import { agentCommandRows, shellRows } from "./shell_rows.ts";
import { trainingRows } from "./training_rows.ts";
import { workspaceRows } from "./workspace_rows.ts";

/** Measures everything the README claims, part after part, each with its peers in the same run. */
export async function* bench(setup: BenchSetup): AsyncGenerator<Row> {
  yield* await ownProcessRows(setup);
  yield* await sharedProcessRows(setup);
  yield* await poolRows(setup);
  yield* await shellRows(setup);
  yield* await agentCommandRows(setup);
  yield* await workspaceRows(setup);
  yield* await episodeRows(setup);
  yield* await envRows(setup);
  yield* await vectorRows(setup);
  yield* await trainingRows(setup);
  yield* await edgeRows(setup);
  yield await growthRow(setup);
}
