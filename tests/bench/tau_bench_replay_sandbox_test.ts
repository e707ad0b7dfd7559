import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { findPython } from "../../bench/peers.ts";
import { nativeReplay, type Replayed } from "../../bench/tau_bench/native_replay.ts";
import { compareRewards } from "../../bench/tau_bench/compare_rewards.ts";
import { nativeRewards, type Rewarded } from "../../bench/tau_bench/native_rewards.ts";
import { playFromCode } from "../../bench/tau_bench/play_actions.ts";
import { rewardCases } from "../../bench/tau_bench/reward_cases.ts";
import { replaySplit } from "../../bench/tau_bench/replay_split.ts";
import { TauBenchDomain } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import { SandboxPool } from "../../src/sandbox/pool.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";
import { LIBRARY_DESK, openLibrary } from "../envs/tau_bench/library_desk.ts";

const python = (await findPython())?.executable;
const desk = { path: LIBRARY_DESK, domain: "library_desk", split: "test" };

const PROGRAM = decodeURIComponent(new URL("../../bench/tau_bench/main.ts", import.meta.url).pathname);

async function runTauBench(args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", PROGRAM, ...args],
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  const complaints = decoder.decode(stderr).replace(/^Building the base image .*\n/m, "");
  return { code, stdout: decoder.decode(stdout), stderr: complaints };
}

function nativeTest(name: string, fn: (python: string) => Promise<void>): void {
  Deno.test({
    name: python === undefined ? `${name}: not run, as there is no python3` : name,
    ignore: python === undefined,
    fn: () => fn(python ?? ""),
  });
}

// The interpreters of a domain serve several tests.
Deno.test.sanitizer({ ops: false, resources: false });
const opened = new AsyncDisposableStack();
let library: Promise<TauBenchDomain> | undefined;
let rewarding: ReturnType<typeof openRewarding> | undefined;

Deno.test.afterAll(() => opened.disposeAsync());

/** Opens the library's desk once. */
async function sharedLibrary(): Promise<TauBenchDomain> {
  return await (library ??= openLibrary().then((domain) => opened.use(domain)));
}

nativeTest(
  "replaySplit() finds the library's desk the same in the sandbox and in real Python",
  async (python) => {
    const domain = await sharedLibrary();
    const replay = await replaySplit(domain, {
      split: "test",
      lanes: 2,
      expected: nativeReplay(python, desk),
    });
    assertEquals(
      [replay.tasks, replay.observations, replay.hashes, replay.differences],
      [8, 21, 8, []],
    );
  },
);

nativeTest(
  "replaySplit() finds the library's desk the same where one Python program of each episode calls its tools",
  async (python) => {
    const domain = await sharedLibrary();
    await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 1, resetMode: "rewind" });
    const expected = nativeReplay(python, desk);
    const replay = await replaySplit(domain, { split: "test", lanes: 1, expected, play: playFromCode(pool) });
    assertEquals([replay.observations, replay.hashes, replay.differences], [21, 8, []]);
  },
);

nativeTest("replaySplit() reports every kind of difference", async (python) => {
  const domain = await sharedLibrary();
  async function* changed(): AsyncGenerator<Replayed> {
    for await (const replayed of nativeReplay(python, desk)) {
      const { index, observations, hash } = replayed;
      if (index === 0) yield { index, observations: ["Other", ...observations.slice(1)], hash };
      else if (index === 1) yield { index, observations, hash: "0" };
      else if (index === 2) yield { index, observations: [...observations, "More"], hash };
      else if (index < 7) yield replayed;
    }
  }
  const { differences } = await replaySplit(domain, { split: "test", lanes: 1, expected: changed() });
  assertEquals(differences.length, 4);
  for (
    const [at, says] of ["python3 has 7 tasks, not 8", 'not "Other"', ", not 0", "3 observations, not 4"]
      .entries()
  ) {
    assertStringIncludes(differences[at] ?? "", says);
  }
});

/** Python that adds `calculate_reward` to the library's desk. */
const REWARDS = `
class Env(Env):
    def reset(self, task_index):
        super().reset(task_index)
        self.messages = []

    def step(self, action):
        if action.name == "respond":
            self.messages.append(action.kwargs["content"].lower().replace(",", ""))
            observation = self.user.step(action.kwargs["content"])
        else:
            observation = super().step(action).observation
        done = "###STOP###" in observation or action.name in self.terminate_tools
        result = self.calculate_reward() if done else None
        info = SimpleNamespace(reward_info=result)
        return SimpleNamespace(observation=observation, reward=result.reward if done else 0, info=info)

    def calculate_reward(self):
        left = self.get_data_hash()
        self.data = self.data_load_func()
        for action in self.task.actions:
            if action.name not in self.terminate_tools:
                super().step(action)
        outputs = {wanted: any(wanted.lower() in text for text in self.messages) for wanted in self.task.outputs}
        info = SimpleNamespace(outputs=outputs) if outputs else SimpleNamespace()
        reward = float(left == self.get_data_hash() and all(outputs.values()))
        return SimpleNamespace(reward=reward, info=info, actions=self.task.actions)
`;

/** A desk with `calculate_reward`, and its domain. */
interface Rewarding {
  readonly checkout: typeof desk;
  readonly domain: TauBenchDomain;
}

async function openRewarding(): Promise<Rewarding> {
  const path = await Deno.makeTempDir();
  opened.defer(() => Deno.remove(path, { recursive: true }));
  await new Deno.Command("cp", { args: ["-r", `${LIBRARY_DESK}/tau_bench`, path] }).output();
  await Deno.writeTextFile(`${path}/tau_bench/envs/base.py`, REWARDS, { append: true });
  const checkout = { ...desk, path };
  const { domain: name } = checkout;
  return { checkout, domain: opened.use(await TauBenchDomain.open({ path, domain: name, sessions: 2 })) };
}

nativeTest(
  "compareRewards() finds no difference to the rewards of the library's desk",
  async (python) => {
    const { checkout, domain } = await (rewarding ??= openRewarding());
    const cases = rewardCases(domain, "test");
    const expected = nativeRewards(python, { ...checkout, cases });
    const { rewards, ones, differences } = await compareRewards(domain, {
      split: "test",
      lanes: 2,
      cases,
      expected,
    });
    assertEquals([rewards, differences], [cases.length, []]);
    assert(cases.length > 50 && ones > 5 && rewards - ones > 5, `${ones} of ${rewards}`);
  },
);

nativeTest("compareRewards() reports which reward differs, and both values", async (python) => {
  const { checkout, domain } = await (rewarding ??= openRewarding());
  const cases = rewardCases(domain, "test").slice(0, 3);
  async function* changed(): AsyncGenerator<Rewarded> {
    for await (const first of nativeRewards(python, { ...checkout, cases: cases.slice(0, 1) })) {
      yield first;
      yield { ...first, reward: 0 };
    }
  }
  const { differences } = await compareRewards(domain, {
    split: "test",
    lanes: 1,
    cases,
    expected: changed(),
  });
  assertEquals(differences.length, 2);
  assertStringIncludes(differences[0] ?? "", `task ${cases[1]?.index}, ${cases[1]?.what}: {"reward":1`);
  assertStringIncludes(differences[1] ?? "", "not undefined");
});

nativeTest("nativeReplay() rejects with the error of its Python", async (python) => {
  const replay = nativeReplay(python, { ...desk, split: "no_such" });
  await assertRejects(() => Array.fromAsync(replay), Error, "Unknown task split: no_such");
});

nativeTest("task tau-bench --replay prints its comparisons and measurements", async () => {
  const { code, stdout, stderr } = await runTauBench(
    ["--path", LIBRARY_DESK, "--replay", "--seconds", "0.2", "--episodes", "2"],
  );
  assertEquals([code, stderr], [0, ""]);
  assert(
    /library_desk\/test +8 tasks {2}21 observations {2}8 hashes {2}[\d.]+ s {2}no difference/.test(stdout),
    stdout,
  );
  assertStringIncludes(stdout, "no rewards, as its Env has no calculate_reward");
  for (const row of ["steps, 2 at once", "library_desk/test: reset", "memory of 2 episodes"]) {
    assertStringIncludes(stdout, row);
  }
});

Deno.test("task tau-bench names the invalid path, domain or split", async () => {
  const cases: [string[], string][] = [
    [["--path", "/no/such"], "must be a checkout"],
    [["--path", LIBRARY_DESK, "--domain", "airport"], "found library_desk"],
    [["--path", LIBRARY_DESK, "--split", "dev"], "must be one of test, train"],
    [[], "required option '--path <dir>'"],
  ];
  for (const [args, says] of cases) {
    const { code, stderr } = await runTauBench(args);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, says);
  }
});
