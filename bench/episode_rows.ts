import { SandboxPool } from "../src/sandbox/pool.ts";
import { privateBytes, ratePerSecond, ratesInTurn, summarize, timings } from "./measure.ts";
import { type HostPython, PersistentPython, runChild } from "./peers.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const PROGRAM = "import math\nprint(sum(math.sqrt(i) for i in range(100)))";

/** Measures fresh episodes against a raw child for each, and the execs of the peers. */
export async function episodeRows(setup: BenchSetup): Promise<Row[]> {
  const lanes = navigator.hardwareConcurrency;
  await using pool = new SandboxPool({ ...poolOptions(setup), size: lanes, resetMode: "rewind" });
  const ours = () => ratePerSecond(() => rewoundEpisode(pool), { lanes, ms: 500 });
  await ours();
  const { python } = setup;
  if (!python) return [{ what: "fresh episodes by rewind", value: await ours(), unit: "/s" }];
  const theirs = () => ratePerSecond(() => runChild(python.executable, PROGRAM), { lanes, ms: 500 });
  const { a, b, ratio } = await ratesInTurn(ours, theirs, 5 * setup.effort);
  return [
    { what: "fresh episodes by rewind", value: a, unit: "/s" },
    { what: "fresh episodes, peer: a python3 child each", value: b, unit: "/s" },
    { what: "fresh episodes against that peer", value: ratio, unit: "×", bound: 3 },
    ...await peerExecRows(python, setup),
  ];
}

async function rewoundEpisode(pool: SandboxPool): Promise<void> {
  await using lease = await pool.acquire();
  await lease.session.exec(PROGRAM);
}

async function peerExecRows({ executable }: HostPython, setup: BenchSetup): Promise<Row[]> {
  const child = await timings(() => runChild(executable, "print(1+1)"), {
    runs: 20 * setup.effort,
    warmup: 2,
  });
  await using persistent = new PersistentPython(executable);
  const exec = await timings(() => persistent.exec("print(1+1)"), {
    runs: 2_000 * setup.effort,
    warmup: 100,
  });
  const bytes = await privateBytes(persistent.pid) ?? NaN;
  return [
    { what: "exec, peer: a python3 child each, no isolation", ...summarize(child), unit: "ms" },
    { what: "exec, peer: a persistent python3, no isolation", ...summarize(exec), unit: "ms" },
    { what: "private memory, peer: a persistent python3", value: bytes / 1e6, unit: "MB" },
  ];
}
