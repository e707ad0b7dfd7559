import { forMs } from "../load.ts";
import type { Row } from "../row.ts";
import type { BenchSetup } from "../sandbox_rows.ts";
import { runChaos } from "./chaos.ts";
import { disconnectReleaseMs } from "./leaver.ts";
import { runLifecycle } from "./lifecycle.ts";

const CHAOS_MS = 60_000;
const PAUSE_MS = 1_000;
const AFTER = 200;
const RELEASE_MS = 1_000;

/** Measures a server whose sandboxes are killed for a minute, and one whose clients disconnect. */
export async function chaosRows(setup: BenchSetup): Promise<Row[]> {
  const { cacheDir, effort } = setup;
  const goOn = forMs(CHAOS_MS * effort);
  const { kills, during, after, left } = await runChaos({ goOn, pauseMs: PAUSE_MS, after: AFTER, cacheDir });
  const wrong = [...during.wrong, ...after.wrong];
  const touched = during.honest + after.honest;
  return [
    { what: `chaos: requests, ${kills} sandboxes killed meanwhile`, value: during.all, unit: "calls" },
    { what: "chaos: responses that report a lost sandbox", value: touched, unit: "errors", bound: kills },
    { what: `chaos: wrong responses${firstOf(wrong)}`, value: wrong.length, unit: "errors", bound: 0 },
    { what: "chaos: right responses after the last kill", value: after.right, unit: "calls", bound: AFTER },
    { what: "chaos: processes left at the end", value: left, unit: "errors", bound: 0 },
    {
      what: "session free after its client disconnects",
      value: await disconnectReleaseMs({ runs: 9, cacheDir }),
      unit: "ms",
      bound: RELEASE_MS,
    },
  ];
}

/** Leases of the measurement, and leases of each of its servers. */
const LEASES = 100_000;
const LEASES_PER_SERVER = 20_000;
const LIFECYCLE_PAUSE_MS = 20_000;
/** Maximum growth of the memory of a server and its sandboxes. */
const GROWTH = 1.1;

/** Counts what goes wrong in the lives of sessions: programs of all endings, killed sandboxes and killed servers. */
export async function lifecycleRows({ cacheDir, effort }: BenchSetup): Promise<Row[]> {
  const report = await runLifecycle({
    leases: LEASES * effort,
    leasesPerServer: LEASES_PER_SERVER,
    pauseMs: LIFECYCLE_PAUSE_MS,
    cacheDir,
  });
  const { right, lost, cut, failedStarts, wrong, sandboxKills, serverKills, orphans, growth } = report;
  return [
    {
      what: `lifecycle: right leases, ${sandboxKills} sandboxes and ${serverKills} servers killed meanwhile`,
      value: right,
      unit: "calls",
      bound: LEASES * effort - sandboxKills - cut,
    },
    {
      what: `lifecycle: failed starts${firstOf(failedStarts)}`,
      value: failedStarts.length,
      unit: "errors",
      bound: 0,
    },
    { what: `lifecycle: wrong results${firstOf(wrong)}`, value: wrong.length, unit: "errors", bound: 0 },
    {
      what: "lifecycle: leases that report a lost sandbox",
      value: lost,
      unit: "errors",
      bound: sandboxKills,
    },
    { what: "lifecycle: requests open at the kill of a server", value: cut, unit: "errors" },
    { what: "lifecycle: processes that outlive their server", value: orphans, unit: "errors", bound: 0 },
    {
      what: "lifecycle: growth of the last server's memory",
      value: (growth - 1) * 100,
      unit: "%",
      bound: (GROWTH - 1) * 100,
    },
  ];
}

function firstOf([first]: readonly string[]): string {
  return first === undefined ? "" : `, first: ${first}`;
}
