import { Command } from "commander";
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { parseWholeNumber } from "../../src/cli/options.ts";
import { flagsOf } from "../../src/cli/sandbox_options.ts";
import { writeText } from "../../src/cli/output.ts";
import { median, quantile } from "../measure.ts";
import { exitWithUsage } from "../program.ts";
import { formatRows, reaches, type Row } from "../row.ts";
import type { ServerCase } from "./case.ts";
import { BOMBS } from "./cases/bombs.ts";
import { FLOODS } from "./cases/floods.ts";
import { LOCKOUTS } from "./cases/lockouts.ts";
import { PROGRAMS } from "./cases/programs.ts";
import { SLOW_PEERS } from "./cases/slow_peers.ts";
import { HONEST_KINDS } from "./honest_requests.ts";
import { type HonestReport, HonestTenant } from "./honest_tenant.ts";
import { releaseSessions, startTarget, type Target } from "./server_case.ts";
import { pauseMs, Tally } from "./tenant.ts";

interface SoakFlags {
  minutes: number;
  root: string;
  seed: number;
}

/** Cases of the hostile tenant. Those that need another server, or mostly the attacker's own time, are left out. */
const CASES: readonly ServerCase[] = [...BOMBS, ...FLOODS, ...SLOW_PEERS, ...LOCKOUTS, ...PROGRAMS]
  .filter(({ name, descriptors, args }) =>
    descriptors === undefined && args === undefined && name !== "gzip-body"
  );

const MIB = 1024 * 1024;
const KILL_BYTES = 6 * 1024 * MIB;
const CASE_MS = 5_000;
const REPORT_MS = 15_000;
/** Share of the time in which the second tenant is honest too, for the comparison. */
const HONEST_SHARE = 0.2;
/** Share of the hostile time after which memory must stay the same. */
const WARM_UP_SHARE = 0.25;
const MAX_RATIO = 3;
const MAX_GROWTH_PERCENT = 2;
const TREE = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");

const NOTES = `
One server with the shipped defaults and two tokens. The honest tenant sends 13 kinds of requests with known answers,
all the time. First the second tenant is honest too, for a fifth of the time; then it plays the cases of
deno task hostile in turn, five seconds each. Memory is that of the host process, read between two cases.

Bounds: no wrong answer; p99 of the honest tenant at most ${MAX_RATIO} times that of the first part; the median memory
of the last quarter at most ${MAX_GROWTH_PERCENT} % above that of the first quarter after the warm-up.

Ctrl-C prints what was measured. Exit codes: 0 all bounds hold, 1 a bound is missed, 2 wrong usage.`;

function soakCommand(): Command {
  return new Command("soak")
    .description(
      "Serve an honest and a hostile tenant for a long time, and check every answer of the honest one",
    )
    .option("--minutes <n>", "duration", parseWholeNumber(1), 60)
    .option("--root <dir>", "test the command line of another checkout", TREE)
    .option("--seed <n>", "order of the cases", parseWholeNumber(0), 0)
    .addHelpText("after", NOTES)
    .exitOverride(exitWithUsage)
    .action((_: object, command: Command) =>
      runCommand((signal) => runSoak(flagsOf<SoakFlags>(command), signal))
    );
}

async function runSoak(flags: SoakFlags, interrupted: AbortSignal): Promise<number> {
  const root = await Deno.realPath(flags.root);
  const totalMs = flags.minutes * 60_000;
  await using target = await startTarget({ root, caseMs: CASE_MS, killBytes: KILL_BYTES });
  using honest = await HonestTenant.start(target.honest, HONEST_KINDS);
  const before = new Part();
  await watch(before, { honest, target, ms: HONEST_SHARE * totalMs, interrupted }, async (signal) => {
    using second = await HonestTenant.start(target.hostile, HONEST_KINDS);
    await pauseMs(totalMs, signal);
    const { wrong } = await second.report();
    before.wrong.push(...wrong);
  });
  const during = new Part();
  const outcomes = new Tally();
  await watch(during, { honest, target, ms: (1 - HONEST_SHARE) * totalMs, interrupted }, async (signal) => {
    for (let number = flags.seed; !signal.aborted; number++) {
      const attack = CASES[(number * STRIDE) % CASES.length];
      if (attack === undefined) return;
      await play(attack, { target, honest, signal, during, outcomes });
      during.memory.push((await target.memory.now()).host);
    }
  });
  const lost = target.memory.wasKilled
    ? ["the server was killed"]
    : await honest.lostState(AbortSignal.timeout(10_000));
  during.wrong.push(...lost.filter((text) => !text.includes("remembered"))); // responses are remembered for a time
  const rows = summarize(before, during);
  const wrong = [...before.wrong, ...during.wrong].slice(0, 5).map((text) => `wrong: ${text}\n`).join("");
  await writeText(Deno.stdout, `${formatRows(rows)}\n\nhostile requests: ${outcomes}\n${wrong}`);
  return rows.every((row) => reaches(row) !== false) ? EXIT.ok : EXIT.error;
}

/** A number without a common divisor with the number of cases, so that neighbours in the list are apart in time. */
const STRIDE = 17;

/** Measurements of one part of the soak. */
class Part {
  readonly times: number[] = [];
  readonly wrong: string[] = [];
  readonly memory: number[] = [];
  retries = 0;

  add({ times, wrong, retries }: HonestReport): void {
    for (const { ms } of times) this.times.push(ms);
    this.wrong.push(...wrong);
    this.retries += retries;
  }

  get p99(): number {
    return quantile(this.times, 0.99);
  }
}

interface Watch {
  readonly honest: HonestTenant;
  readonly target: Target;
  readonly ms: number;
  readonly interrupted: AbortSignal;
}

/** Collects the honest tenant's reports and prints progress while the second tenant does its work. */
async function watch(
  part: Part,
  { honest, target, ms, interrupted }: Watch,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const signal = AbortSignal.any([interrupted, AbortSignal.timeout(ms)]);
  const running = work(signal);
  while (!signal.aborted && !target.memory.wasKilled) {
    await pauseMs(REPORT_MS, signal);
    part.add(await honest.report());
    const { host } = await target.memory.now();
    const memory = `${Math.round(host / MIB)} MiB`;
    const answers = `${part.times.length} answers, ${part.wrong.length} wrong, p99 ${
      Math.round(part.p99)
    } ms`;
    await writeText(Deno.stderr, `${new Date().toLocaleTimeString()} ${answers}, ${memory}\n`);
  }
  await running;
  part.add(await honest.report());
}

async function play(
  attack: ServerCase,
  { target, honest, signal, during, outcomes }: {
    target: Target;
    honest: HonestTenant;
    signal: AbortSignal;
    during: Part;
    outcomes: Tally;
  },
): Promise<void> {
  const caseSignal = AbortSignal.any([signal, AbortSignal.timeout(CASE_MS)]);
  attack.prepare?.();
  await attack.play({
    hostile: target.hostile,
    honest: target.honest,
    others: target.others,
    openFiles: () => target.memory.openFiles(),
    honestSession: honest.session,
    tally: outcomes,
    signal: caseSignal,
    breach: (text) => during.wrong.push(`${attack.name}: ${text}`),
  }).catch(() => outcomes.add("stopped")); // the server refused a request that the case needs
  await releaseSessions(target.hostile, signal);
}

/** Returns the figures and their bounds. */
function summarize(before: Part, during: Part): Row[] {
  const warm = during.memory.slice(Math.floor(during.memory.length * WARM_UP_SHARE));
  const quarter = Math.max(1, Math.floor(warm.length / 4));
  const [first, last] = [median(warm.slice(0, quarter)), median(warm.slice(-quarter))];
  const p99Bound = MAX_RATIO * before.p99;
  return [
    { what: "honest answers", value: before.times.length + during.times.length, unit: "calls" },
    { what: "wrong answers", value: before.wrong.length + during.wrong.length, unit: "errors", bound: 0 },
    { what: "requests that were refused and repeated", value: during.retries, unit: "calls" },
    { what: "p99, second tenant honest", value: before.p99, unit: "ms" },
    { what: "p99, second tenant hostile", value: during.p99, unit: "ms", bound: p99Bound },
    { what: "median, second tenant honest", value: median(before.times), unit: "ms" },
    { what: "median, second tenant hostile", value: median(during.times), unit: "ms" },
    { what: "memory after the warm-up", value: first / MIB, unit: "MB" },
    {
      what: "memory growth after that",
      value: 100 * (last / first - 1),
      unit: "%",
      bound: MAX_GROWTH_PERCENT,
    },
  ];
}

if (import.meta.main) {
  await soakCommand().parseAsync(Deno.args, { from: "user" });
  Deno.exit(); // requests of the last case may still wait for their responses
}
