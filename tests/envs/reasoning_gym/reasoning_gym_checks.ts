/**
 * Plays all data sets of reasoning-gym of the folder that `PADDOCK_REASONING_GYM` names, as docs/families.md installs the
 * package: `deno task test:reasoning-gym`.
 */
import { assert, assertEquals } from "@std/assert";
import { DATA_SETS } from "../../../src/envs/reasoning_gym/data_sets.ts";
import { ReasoningGym } from "../../../src/envs/reasoning_gym/reasoning_gym.ts";
import { History } from "../../../src/history.ts";
import type { Score } from "../../../src/rewards/grader.ts";
import { TempFolder } from "../../temp_folder.ts";

const path = Deno.env.get("PADDOCK_REASONING_GYM");

/** An answer that no entry has. */
const WRONG = "<answer>7x</answer>";

for (const dataSet of Object.keys(DATA_SETS)) {
  Deno.test({
    name: `data set '${dataSet}' accepts its answers, and pays nothing for another by the full score`,
    ignore: path === undefined,
    async fn() {
      assert(path !== undefined);
      await using cache = await TempFolder.of();
      await using gym = await ReasoningGym.open({ path, dataSet, fullScore: true, cacheDir: cache.path });
      for await (const task of gym.tasks({ seed: 1, count: 2 })) {
        const scoreOf = async (content: string) => {
          const history = History.fromChats([{ role: "assistant", content }]);
          return (await gym.grader.grade({ task, history }) as Score).score;
        };
        assertEquals([await scoreOf(task.replies?.[0] ?? ""), await scoreOf(WRONG)], [1, 0], task.id);
      }
    },
  });
}
