import { forMs } from "../load.ts";
import type { Row } from "../row.ts";
import type { BenchSetup } from "../sandbox_rows.ts";
import { runChaos } from "./chaos.ts";
import { disconnectReleaseMs } from "./leaver.ts";

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

function firstOf([first]: readonly string[]): string {
  return first === undefined ? "" : `, first: ${first}`;
}
