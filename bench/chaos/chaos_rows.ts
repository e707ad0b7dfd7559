import { forMs } from "../load.ts";
import type { Row } from "../row.ts";
import type { BenchSetup } from "../sandbox_rows.ts";
import { runChaos } from "./chaos.ts";
import { freedMs } from "./leaver.ts";

const CHAOS_MS = 60_000;
const PAUSE_MS = 1_000;
const AFTER = 200;
const FREED_MS = 1_000;

/** A server whose sandboxes are killed for a minute, and one whose clients go away. */
export async function chaosRows(setup: BenchSetup): Promise<Row[]> {
  const { cacheDir, effort } = setup;
  const goOn = forMs(CHAOS_MS * effort);
  const { kills, during, after, left } = await runChaos({ goOn, pauseMs: PAUSE_MS, after: AFTER, cacheDir });
  const wrong = [...during.wrong, ...after.wrong];
  const touched = during.honest + after.honest;
  return [
    { what: `chaos: requests, ${kills} sandboxes killed meanwhile`, value: during.all, unit: "calls" },
    { what: "chaos: told that their sandbox was lost", value: touched, unit: "errors", bound: kills },
    { what: `chaos: told what is wrong${firstOf(wrong)}`, value: wrong.length, unit: "errors", bound: 0 },
    { what: "chaos: answered after the last kill", value: after.right, unit: "calls", bound: AFTER },
    { what: "chaos: processes left at the end", value: left, unit: "errors", bound: 0 },
    {
      what: "a session is free after its client has gone",
      value: await freedMs({ runs: 9, cacheDir }),
      unit: "ms",
      bound: FREED_MS,
    },
  ];
}

function firstOf([first]: readonly string[]): string {
  return first === undefined ? "" : `, as ${first}`;
}
