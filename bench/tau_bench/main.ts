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
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { writeText } from "../../src/cli/output.ts";
import { escapeControls } from "../../src/terminal_text.ts";
import { announceBuild, cacheDirectory, flagsOf } from "../../src/cli/sandbox_options.ts";
import { rethrowTauBenchErrors } from "../../src/cli/rollout/envs/tau_bench.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { parseNumberAtLeast, parseWholeNumber } from "../../src/cli/options.ts";

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

/** Maximum differences that are printed for a split. */
const SHOWN_DIFFERENCES = 10;
const MAX_DIFFERENCE_CHARACTERS = 400;

const NOTES = `
--replay runs each task's own actions in the sandbox and with the host's python3, and compares every observation
and the hash of the final data. Then it plays some tasks of each split in a dozen variants, right and wrong, and
compares the rewards with the checkout's own calculate_reward: reward, database, outputs, hash and actions. Two
differences are deliberate: the sandbox computes the reward on a copy of the data, so that the episode's data and
actions do not change, and it reports both parts of the reward, not only the last.
The host's python3 runs the checkout's code with all your permissions.

Exit codes: 0 no difference, 1 a difference, 2 wrong usage. Measured values and missed bounds do not change them.`;

/** Returns the program of `deno task tau-bench`: compares a checkout of tau-bench with the sandbox that runs it. */
function tauBenchCommand(): Command {
  return new Command("tau-bench")
    .description("Compare a checkout of tau-bench in the sandbox with native Python, and measure it")
    .requiredOption("--path <dir>", "a checkout of tau-bench, or a folder with the same layout")
    .option("--domain <name>", "one of its domains (default: all)")
    .option("--split <name>", "one split (default: all)")
    .option("--replay", "run each task's own actions in the sandbox and with python3, and compare")
    .option("--episodes <n>", "measure the memory of n concurrent episodes", parseWholeNumber(1))
    .option("--seconds <n>", "duration of the speed measurement, per domain", parseNumberAtLeast(0.1), 5)
    .option("--lanes <n>", "concurrent sessions of the replay", parseWholeNumber(1), 2)
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
  if (rows.length > 0) await printLine(`\n${formatRows(rows)}`);
  return differs ? EXIT.error : EXIT.ok;
}

/** Compares and measures one domain. Returns true if there is a difference. */
async function runDomain(
  flags: Flags,
  { domain: name, rows }: { domain: string; rows: Row[] },
): Promise<boolean> {
  const { path, lanes, episodes, seconds } = flags;
  const options = { path, domain: name, onBuild: announceBuild, cacheDir: cacheDirectory(flags.cacheDir) };
  let split: string;
  let differs = false;
  {
    await using domain = await openDomain({ ...options, sessions: lanes });
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
  if (python === undefined) {
    throw new UsageError("Cannot compare as python3 must be installed: found none on PATH");
  }
  const native = { path, domain: domain.name, split };
  const replay = await replaySplit(domain, {
    split,
    lanes,
    expected: nativeReplay(python.executable, native),
  });
  await printLine(`${"".padEnd(20)} python3 is ${python.version}, ${python.executable}`);
  await printComparison(domain.name, replay, replayedText(replay));
  const cases = rewardCases(domain, split);
  const expected = nativeRewards(python.executable, { ...native, cases });
  const rewards = await compareRewards(domain, { split, lanes, cases, expected });
  if (rewards.rewards > 0) await printComparison(domain.name, rewards, rewardedText(rewards));
  else {await printLine(
      `${`${domain.name}/${split}`.padEnd(20)} no rewards, as its Env has no calculate_reward`,
    );}
  return replay.differences.length + rewards.differences.length > 0;
}

function replayedText({ tasks, observations, hashes }: SplitReplay): string {
  return `${tasks} tasks  ${observations} observations  ${hashes} hashes`;
}

function rewardedText({ rewards, ones }: RewardComparison): string {
  return `${rewards} rewards, ${ones} of them 1`;
}

/** Prints a comparison and its first differences. */
async function printComparison(
  domain: string,
  { split, differences, seconds }: SplitReplay | RewardComparison,
  what: string,
): Promise<void> {
  const verdict = differences.length === 0 ? "no difference" : `${differences.length} DIFFER`;
  await printLine(`${`${domain}/${split}`.padEnd(20)} ${what}  ${seconds.toFixed(1)} s  ${verdict}`);
  for (const difference of differences.slice(0, SHOWN_DIFFERENCES)) {
    await printLine(`    ${escapeControls(difference.slice(0, MAX_DIFFERENCE_CHARACTERS))}`);
  }
}

async function domainsOf(path: string): Promise<string[]> {
  return await rethrowTauBenchErrors(() => findDomains(path));
}

async function openDomain(options: Parameters<typeof TauBenchDomain.open>[0]): Promise<TauBenchDomain> {
  return await rethrowTauBenchErrors(() => TauBenchDomain.open(options));
}

async function printLine(line: string): Promise<void> {
  await writeText(Deno.stdout, `${line}\n`);
}

if (import.meta.main) await tauBenchCommand().parseAsync(Deno.args, { from: "user" });
