import { SandboxPool } from "../sandbox/pool.ts";
import { median, privateBytes, ratePerSecond, timings } from "./measure.ts";
import { findPython, PersistentPython, runChild } from "./peers.ts";
import type { Row } from "./row.ts";
import type { BenchSetup } from "./sandbox_rows.ts";

const PROGRAM = "import math\nprint(sum(math.sqrt(i) for i in range(100)))";

/** Fresh episodes against a raw child for each, and what the peers' execs cost. */
export async function episodeRows(setup: BenchSetup): Promise<Row[]> {
  const lanes = navigator.hardwareConcurrency;
  const ms = 2_500 * setup.effort;
  const ours = await rewoundEpisodes(setup, { lanes, ms });
  const rows: Row[] = [{ what: "fresh episodes by rewind", value: ours, unit: "/s" }];
  const python = await findPython();
  if (!python) return rows;
  const theirs = await ratePerSecond(() => runChild(python, PROGRAM), { lanes, ms });
  return [
    ...rows,
    { what: "fresh episodes, peer: a python3 child each", value: theirs, unit: "/s" },
    { what: "fresh episodes against that peer", value: ours / theirs, unit: "×", bound: 3 },
    ...await peerExecRows(python, setup),
  ];
}

async function rewoundEpisodes(setup: BenchSetup, options: { lanes: number; ms: number }): Promise<number> {
  await using pool = new SandboxPool({ ...setup, size: options.lanes, resetMode: "rewind" });
  const episode = async () => {
    await using lease = await pool.acquire();
    await lease.session.exec(PROGRAM);
  };
  await ratePerSecond(episode, { ...options, ms: 500 });
  return await ratePerSecond(episode, options);
}

async function peerExecRows(python: string, setup: BenchSetup): Promise<Row[]> {
  const child = await timings(() => runChild(python, "print(1+1)"), { runs: 20 * setup.effort, warmup: 2 });
  await using persistent = new PersistentPython(python);
  const exec = await timings(() => persistent.exec("print(1+1)"), {
    runs: 2_000 * setup.effort,
    warmup: 100,
  });
  const bytes = await privateBytes(persistent.pid) ?? NaN;
  return [
    { what: "exec, peer: a python3 child each, no walls", value: median(child), unit: "ms" },
    { what: "exec, peer: a persistent python3, no walls", value: median(exec), unit: "ms" },
    { what: "private memory, peer: a persistent python3", value: bytes / 1e6, unit: "MB" },
  ];
}
