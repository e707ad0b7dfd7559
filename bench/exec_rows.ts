import { Sandbox } from "../src/sandbox/sandbox.ts";
import { SandboxPool } from "../src/sandbox/pool.ts";
import type { PythonSession } from "../src/sandbox/contract/pool.ts";
import { median, ratePerSecond, ratesInTurn, summarize, timings } from "./measure.ts";
import { countLoops, type HostPython, PersistentPython, runChild, timeChildren } from "./peers.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

/** Execs in a row, after which it is the turn of the other interpreter. */
const TURN = 20;
const WARM_EXECS = 3_000;
/** Children in a row. */
const CHILDREN = 5;

const THREAD = "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()";
const LINES = Array.from({ length: 14 }, (_, i) => `def f${i}(x):\n    return x * ${i} + len(str(x))`).join(
  "\n",
);
/** Programs, and what runs before them in the same session. */
const PROGRAMS: Readonly<Record<string, { readonly code: string; readonly before?: string }>> = {
  "1+1": { code: "1+1" },
  "30 lines": { code: `${LINES}\nresult = sum([f0(1), f5(2), f13(3)])\nresult` },
  "a traceback": { code: "def f(x):\n    return 1 / x\nf(0)" },
  "1 kB printed": { code: "print('x' * 1000)" },
  "1+1 after a thread": { code: "1+1", before: THREAD },
};

/** Returns the time of Python's part of an exec in seconds, as the session's runner does it for `1+1`. */
const GUEST_TIME = `import struct, sys, time
frame = sys._getframe()
while frame.f_code.co_name != "_evaluate_block":
    frame = frame.f_back
runner = frame.f_globals
request = struct.pack("<BIII", 0, 100, 1000, 3) + b"1+1"
times = []
for _ in range(2000):
    start = time.perf_counter()
    runner["handle"](request)
    times.append(time.perf_counter() - start)
runner["_state"].active = True
sorted(times)[1000]`;

/** A program that takes a native interpreter less than a millisecond. */
const SHORT = "import math\nprint(sum(math.sqrt(i) for i in range(100)))";
/** A program of about 10 ms. */
const LOOP = "sum(i * i for i in range(100_000))";
const LANES = 8;

/**
 * Measures execs against a persistent interpreter that gets the same programs, in turns; programs in a fresh state
 * against a child for each; and several sessions at once against as many native interpreters.
 */
export async function execRows(setup: BenchSetup): Promise<Row[]> {
  const { python } = setup;
  if (!python) return [];
  return [
    ...await warmRows(python, setup),
    ...await freshRows(python, setup),
    await parallelRow(python, setup),
    ...await firstRows(setup),
  ];
}

async function warmRows({ executable }: HostPython, setup: BenchSetup): Promise<Row[]> {
  await using sandbox = await Sandbox.start({ ...poolOptions(setup), optimize: "start" });
  const session = await sandbox.openSession();
  await using peer = new PersistentPython(executable);
  for (let run = 0; run < WARM_EXECS; run++) await session.exec("1+1");
  const rows: Row[] = [];
  for (const [name, { code, before }] of Object.entries(PROGRAMS)) {
    if (before !== undefined) await session.exec(before);
    const turns: { ours: number[]; theirs: number[] }[] = [];
    for (let turn = 0; turn < 30 * setup.effort; turn++) {
      turns.push({
        ours: await timings(() => session.exec(code), { runs: TURN }),
        theirs: await timings(() => peer.exec(code), { runs: TURN }),
      });
    }
    const ours = turns.flatMap((turn) => turn.ours);
    const ratios = turns.map((turn) => 100 * median(turn.ours) / median(turn.theirs));
    rows.push(
      { what: `exec, ${name}`, ...summarize(ours), unit: "ms", ...(name === "1+1" && { bound: 0.15 }) },
      {
        what: `exec, ${name}: time against a persistent python3`,
        ...summarize(ratios),
        unit: "%",
        bound: 400,
      },
    );
  }
  return [...rows, await hopRow(session, setup)];
}

/** Measures what an exec takes beside Python: the way from the host to the interpreter and back. */
async function hopRow(session: PythonSession, setup: BenchSetup): Promise<Row> {
  const hops: number[] = [];
  for (let round = 0; round < 5 * setup.effort; round++) {
    const result = await session.exec(GUEST_TIME);
    if (result.status !== "ok") throw new Error("Cannot measure hops as the guest's time must be measured");
    const execs = await timings(() => session.exec("1+1"), { runs: 10 * TURN });
    hops.push(median(execs) - 1000 * Number(result.value));
  }
  return { what: "hops: exec of 1+1 less Python's own time", ...summarize(hops), unit: "ms", bound: 0.04 };
}

/** Measures one program after the other, each in a fresh state, and as many children. */
async function freshRows({ executable }: HostPython, setup: BenchSetup): Promise<Row[]> {
  await using pool = new SandboxPool({ ...poolOptions(setup), size: 1, resetMode: "rewind" });
  const ours = async () => {
    await using lease = await pool.acquire({ once: true });
    await lease.session.exec(SHORT);
  };
  for (let run = 0; run < 300; run++) await ours();
  const byDeno: number[] = [];
  const byPython: number[] = [];
  const own: number[] = [];
  for (let turn = 0; turn < 15 * setup.effort; turn++) {
    const fresh = median(await timings(ours, { runs: TURN }));
    own.push(fresh);
    byDeno.push(median(await timings(() => runChild(executable, SHORT), { runs: CHILDREN })) / fresh);
    byPython.push(await timeChildren(executable, { code: SHORT, runs: CHILDREN }) / fresh);
  }
  const what = "fresh program by rewind, one at a time";
  return [
    { what, ...summarize(own), unit: "ms" },
    { what: `${what}: against a python3 that Deno starts`, ...summarize(byDeno), unit: "×", bound: 12 },
    { what: `${what}: against a python3 that Python starts`, ...summarize(byPython), unit: "×", bound: 4 },
  ];
}

/** Measures how much eight sessions do more than one, against eight native interpreters and one. */
async function parallelRow({ executable }: HostPython, setup: BenchSetup): Promise<Row> {
  await using pool = new SandboxPool({ ...poolOptions(setup), size: LANES, resetMode: "rewind" });
  const leases = await Promise.all(Array.from({ length: LANES }, () => pool.acquire()));
  const rate = (lanes: number, ms = 1_000) =>
    ratePerSecond((lane) => leases[lane]?.session.exec(LOOP) ?? Promise.resolve(), { lanes, ms });
  await rate(LANES, 4_000);
  const ratios: number[] = [];
  for (let turn = 0; turn < 7 * setup.effort; turn++) {
    const ours = await ratesInTurn(() => rate(LANES), () => rate(1), 1);
    const theirs = await ratesInTurn(
      () => countLoops(executable, { code: LOOP, processes: LANES, seconds: 1 }),
      () => countLoops(executable, { code: LOOP, processes: 1, seconds: 1 }),
      1,
    );
    ratios.push(ours.ratio / theirs.ratio);
  }
  for (const lease of leases) await lease[Symbol.asyncDispose]();
  return {
    what: `${LANES} sessions against one, relative to as many python3 loops`,
    ...summarize(ratios),
    unit: "×",
    bound: 0.95,
  };
}

/** Milliseconds in which a pool starts a session and warms it up. */
const READY_MS = 2_500;

/** Measures the first and the second program of a lease of a new process. */
async function firstRows(setup: BenchSetup): Promise<Row[]> {
  const [first, second]: [number[], number[]] = [[], []];
  for (let run = 0; run < 7 * setup.effort; run++) {
    await using pool = new SandboxPool({ ...poolOptions(setup), size: 1, resetMode: "rewind" });
    await new Promise((resolve) => setTimeout(resolve, READY_MS));
    await using lease = await pool.acquire();
    first.push(...await timings(() => lease.session.exec(SHORT), { runs: 1 }));
    second.push(...await timings(() => lease.session.exec(SHORT), { runs: 1 }));
  }
  return [
    { what: "short program, first of a process", ...summarize(first), unit: "ms" },
    { what: "short program, second of a process", ...summarize(second), unit: "ms" },
  ];
}
