import { Sandbox } from "../src/sandbox/sandbox.ts";
import type { Session } from "../src/sandbox/session.ts";
import { median } from "./measure.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const TIMEOUT_MS = 60_000;

/** Two threads, each of which gives way to the other. The value is the time of one switch, in microseconds. */
const SWITCHES = `import threading, time
def give_way():
  for _ in range(20_000): time.sleep(0)
threads = [threading.Thread(target=give_way) for _ in range(2)]
start = time.perf_counter()
for thread in threads: thread.start()
for thread in threads: thread.join()
(time.perf_counter() - start) / 40_000 * 1e6`;

/** A recursion of a million levels. The value is its time, in milliseconds. */
const DEPTH = `import sys, time
sys.setrecursionlimit(10**7)
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
start = time.perf_counter()
depth(1_000_000)
(time.perf_counter() - start) * 1000`;

/** Code that looks for signals often. The value is the ratio of its times with an alarm armed and without. */
const ALARM = `import signal, time
def work():
  start = time.perf_counter()
  text = ""
  for i in range(300_000): text = (text + str(i))[-50:].upper().lower()
  return time.perf_counter() - start
ratios = []
for _ in range(9):
  plain = work()
  signal.alarm(1000)
  ratios.append(work() / plain)
  signal.alarm(0)
sorted(ratios)[4]`;

/** Measures what Python's threads, deep recursion and alarms cost. */
export async function pythonRows(setup: BenchSetup): Promise<Row[]> {
  await using sandbox = await Sandbox.start(poolOptions(setup));
  const session = await sandbox.openSession();
  const runs = 5 * setup.effort;
  const switches = await medianOf(session, SWITCHES, runs);
  const depth = await medianOf(session, DEPTH, runs);
  const alarm = await medianOf(session, ALARM, setup.effort);
  return [
    { what: "switch between two threads of Python", value: switches, unit: "µs", bound: 15 },
    { what: "recursion of 1,000,000 levels", value: depth, unit: "ms" },
    { what: "string-heavy code, cost of an armed alarm", value: (alarm - 1) * 100, unit: "%", bound: 5 },
  ];
}

/** Returns the median of the values of a program. */
async function medianOf(session: Session, code: string, runs: number): Promise<number> {
  const values: number[] = [];
  for (let run = 0; run < runs; run++) {
    const result = await session.exec(code, { timeoutMs: TIMEOUT_MS });
    if (result.status !== "ok") throw new Error(`the program ended as '${result.status}'`);
    values.push(Number(result.value));
  }
  return median(values);
}
