import { assertEquals } from "@std/assert";
import { type Message, rollout, scriptedPolicy } from "../../../mod.ts";
import {
  respondAction,
  scriptedUser,
  TauBenchDomain,
  TauBenchEnv,
  ToolUserChat,
  toolUserTask,
} from "../../../mod/tau_bench.ts";
import { qwen25Calls } from "../../../src/tools/parsers/qwen25_calls.ts";

interface GoldenRollout {
  name: string;
  domain: string;
  split: string;
  index: number;
  llm: { text: string }[];
  user: string[];
  max_num_steps: number;
  reward: number;
  messages: Message[];
  info: { reward_info?: unknown };
}

const GOLDENS = new URL("../../goldens/", import.meta.url);
const path = Deno.env.get("PADDOCK_TAU_BENCH");
if (path === undefined) {
  throw new Error("Cannot test tau-bench as PADDOCK_TAU_BENCH must name a checkout: it is not set");
}
const [goldenTools, goldenRollouts] = await Promise.all([
  readJson<Record<string, object>>("tau_bench_tools_info.json"),
  readJson<GoldenRollout[]>("slime_asolve.json"),
]);

/** What upstream's own Python says of each domain: tasks by split, its data's hash, and how many tasks are trivial. */
const FACTS = {
  retail: {
    tasks: { dev: 20, test: 115, train: 500 },
    hash: "5a4b2cb59f4d12dea7e4adff24a7f8fada510ead49372ea4a729a82bbb5f49b5",
    trivial: { split: "dev", tasks: 1 },
  },
  airline: {
    tasks: { test: 50 },
    hash: "4587e6b48ad2b2c4f3e1fecb40aabec7bb2286513273b8f8cec3f5865222f290",
    trivial: { split: "test", tasks: 19 },
  },
};

async function readJson<T>(name: string): Promise<T> {
  return JSON.parse(await Deno.readTextFile(new URL(name, GOLDENS)));
}

for (const [name, { tasks, hash, trivial }] of Object.entries(FACTS)) {
  Deno.test(`TauBenchDomain opens ${name} of a checkout as upstream has it`, async () => {
    await using domain = await TauBenchDomain.open({ path, domain: name });
    const { tools_info, wiki, rules, terminate_tools } = domain.description;
    const shown = JSON.stringify({ tools_info, wiki, rules, terminate_tools });
    assertEquals(shown, JSON.stringify(goldenTools[name]));
    const counts = domain.splits.map((split) => [split, domain.tasks(split).length]);
    assertEquals(Object.fromEntries(counts), tasks);
    await using env = await TauBenchEnv.open({
      domain,
      split: trivial.split,
      user: scriptedUser(["Hello", "###STOP###"]),
    });
    let found = 0;
    for (let index = 0; index < env.taskCount; index++) {
      await env.reset(index);
      if (index === 0) assertEquals(await env.dataHash(), hash);
      const { reward, info } = await env.step(respondAction("Goodbye"));
      assertEquals(info.reward_info?.trivial, reward === 1, `task ${index}`);
      found += reward;
    }
    assertEquals(found, trivial.tasks);
  });
}

Deno.test("TauBenchEnv plays the recorded rollouts of slime as upstream's env did", async (t) => {
  for (const golden of goldenRollouts) {
    await t.step(golden.name, async () => {
      await using domain = await TauBenchDomain.open({ path, domain: golden.domain });
      const env = await TauBenchEnv.open({ domain, split: golden.split, user: scriptedUser(golden.user) });
      await using chat = new ToolUserChat(env, { toolCalls: qwen25Calls() });
      const replies = golden.llm.map(({ text }) => text.replace(/<\|im_end\|>$/, ""));
      const task = toolUserTask(env, golden.index);
      const played = await rollout(chat, scriptedPolicy({ replies: () => replies }), task, {
        maxTurns: golden.max_num_steps,
      });
      assertEquals(played.messages.slice(1), golden.messages.slice(1));
      assertEquals(played.reward, golden.reward);
      assertEquals(withoutOurs(played.info?.reward_info), golden.info.reward_info);
    });
  }
});

/** Upstream does not say whether a task is trivial. */
function withoutOurs(info: unknown): unknown {
  if (typeof info !== "object" || info === null) return info;
  return Object.fromEntries(Object.entries(info).filter(([key]) => key !== "trivial"));
}
