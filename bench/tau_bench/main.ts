import { Command } from "commander";
import { formatRows, type Row } from "../row.ts";
import { findPython } from "../peers.ts";
import { cacheDirOption, exitWithUsage } from "../program.ts";
import { memoryRows } from "./memory.ts";
import { compareRewards, type RewardComparison } from "./compare_rewards.ts";
import { nativeReplay } from "./native_replay.ts";
import { nativeRewards } from "./native_rewards.ts";
import { replaySplit, type SplitReplay } from "./replay_split.ts";
import { rewardCases } from "./reward_cases.ts";
import { speedRows } from "./speed.ts";
import { findDomains } from "../../src/envs/tau_bench/checkout.ts";
import { TauBenchDomain } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import { EXIT, runCommand } from "../../src/cli/command.ts";
import { escapeControls, writeText } from "../../src/cli/output.ts";
import { announceBuild, cacheDirectory, flagsOf } from "../../src/cli/sandbox_options.ts";
import { rethrowTauBenchErrors } from "../../src/cli/rollout/tau_bench.ts";
import { UsageError } from "../../src/cli/errors.ts";
import { parseWholeNumber } from "../../src/cli/options.ts";

interface Flags {
  path: string;
  domain?: string;
  split?: string;
  replay?: boolean;
  episodes?: number;
  seconds: number;
  lanes: number;
  cacheDir?: string;
}

/** Of one split, the differences that are printed. */
const SHOWN_DIFFERENCES = 10;
const MAX_DIFFERENCE_CHARACTERS = 400;

const NOTES = `
--replay does each task's own actions twice, in the sandbox and with the host's python3, and compares every
observation and the hash of the data that is left. Then it plays some tasks of each split in a dozen ways, right and
wrong, and compares the rewards with those of the checkout's own calculate_reward: reward, database, outputs, hash and
actions. Two differences are deliberate: here the reward is worked out on data of its own, so that the episode's data
and actions stay as they are, and both of its parts are told, not the last alone.
That python3 runs the checkout's code with all that you may do.

Exit codes: 0 all is the same, 1 something differs, 2 wrong usage; what was measured changes nothing of them, bounds
that are missed included.`;

/** Returns the program of `deno task tau-bench`: compares a checkout of tau-bench with the sandbox that runs it. */
function tauBenchCommand(): Command {
  return new Command("tau-bench")
    .description("Compare a checkout of tau-bench in the sandbox with real Python, and measure it")
    .requiredOption("--path <dir>", "a checkout of tau-bench, or a folder with the same layout")
    .option("--domain <name>", "one of its domains (default: all)")
    .option("--split <name>", "one split (default: all)")
    .option("--replay", "do each task's own actions here and with python3, and compare")
    .option("--episodes <n>", "measure the memory of so many episodes at once", parseWholeNumber(1))
    .option("--seconds <n>", "how long speed is measured, per domain", parseWholeNumber(1), 5)
    .option("--lanes <n>", "sessions that replay at once", parseWholeNumber(1), 2)
    .addOption(cacheDirOption())
    .addHelpText("after", NOTES)
    .exitOverride(exitWithUsage)
    .action((_flags: unknown, command: Command) => runCommand(() => runTauBench(flagsOf<Flags>(command))));
}

async function runTauBench(flags: Flags): Promise<number> {
  const rows: Row[] = [];
  let differs = false;
  for (const domain of flags.domain === undefined ? await domainsOf(flags.path) : [flags.domain]) {
    if (await runDomain(flags, { domain, rows })) differs = true;
  }
  if (rows.length > 0) await say(`\n${formatRows(rows)}`);
  return differs ? EXIT.error : EXIT.ok;
}

/** Gives whether anything was not the same. */
async function runDomain(
  flags: Flags,
  { domain: name, rows }: { domain: string; rows: Row[] },
): Promise<boolean> {
  const { path, lanes, episodes, seconds } = flags;
  const options = { path, domain: name, onBuild: announceBuild, cacheDir: cacheDirectory(flags.cacheDir) };
  let split: string;
  let differs = false;
  {
    await using domain = await opened({ ...options, sessions: lanes });
    const splits = flags.split === undefined ? domain.splits : [flags.split];
    [split = ""] = splits.includes("test") ? ["test"] : splits;
    await rethrowTauBenchErrors(() => domain.tasks(split));
    for (const each of flags.replay ? splits : []) {
      if (await replayOne(domain, { path, lanes, split: each })) differs = true;
    }
    rows.push(...await speedRows(domain, { split, lanes, ms: 1000 * seconds }));
  }
  if (episodes !== undefined) rows.push(...await memoryRows({ ...options, split, episodes }));
  return differs;
}

async function replayOne(
  domain: TauBenchDomain,
  { path, lanes, split }: { path: string; lanes: number; split: string },
): Promise<boolean> {
  const python = await findPython();
  if (python === undefined) throw new UsageError("Cannot compare as there must be a python3: there is none");
  const native = { path, domain: domain.name, split };
  const replay = await replaySplit(domain, {
    split,
    lanes,
    expected: nativeReplay(python.executable, native),
  });
  await say(`${"".padEnd(20)} python3 is ${python.version}, ${python.executable}`);
  await sayCompared(domain.name, replay, replayedText(replay));
  const cases = rewardCases(domain, split);
  const expected = nativeRewards(python.executable, { ...native, cases });
  const rewards = await compareRewards(domain, { split, lanes, cases, expected });
  if (rewards.rewards > 0) await sayCompared(domain.name, rewards, rewardedText(rewards));
  else await say(`${`${domain.name}/${split}`.padEnd(20)} no rewards, as its Env has no calculate_reward`);
  return replay.differences.length + rewards.differences.length > 0;
}

function replayedText({ tasks, observations, hashes }: SplitReplay): string {
  return `${tasks} tasks  ${observations} observations  ${hashes} hashes`;
}

function rewardedText({ rewards, ones }: RewardComparison): string {
  return `${rewards} rewards, ${ones} of them 1`;
}

/** Says what was compared, and the first of what was not the same. */
async function sayCompared(
  domain: string,
  { split, differences, seconds }: SplitReplay | RewardComparison,
  what: string,
): Promise<void> {
  const verdict = differences.length === 0 ? "all the same" : `${differences.length} DIFFER`;
  await say(`${`${domain}/${split}`.padEnd(20)} ${what}  ${seconds.toFixed(1)} s  ${verdict}`);
  for (const difference of differences.slice(0, SHOWN_DIFFERENCES)) {
    await say(`    ${escapeControls(difference.slice(0, MAX_DIFFERENCE_CHARACTERS))}`);
  }
}

async function domainsOf(path: string): Promise<string[]> {
  return await rethrowTauBenchErrors(() => findDomains(path));
}

async function opened(options: Parameters<typeof TauBenchDomain.open>[0]): Promise<TauBenchDomain> {
  return await rethrowTauBenchErrors(() => TauBenchDomain.open(options));
}

async function say(line: string): Promise<void> {
  await writeText(Deno.stdout, `${line}\n`);
}

if (import.meta.main) await tauBenchCommand().parseAsync(Deno.args, { from: "user" });
