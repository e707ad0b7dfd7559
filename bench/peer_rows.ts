import { fileURLToPath } from "node:url";
import { writeText } from "../src/cli/output.ts";
import { SandboxPool } from "../src/sandbox/pool.ts";
import { summarize, timings } from "./measure.ts";
import { runChild } from "./peers.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const FOLDER = fileURLToPath(new URL("peers/", import.meta.url));
/** Environment of the peers, which `deno task bench:peers` creates. */
export const PEER_VENV = `${FOLDER}.venv`;

const NAMES = ["pydantic-monty", "smolagents", "TorchRL", "dspy"] as const;
const WARM = "1+1";
/** A program that all peers can run. */
const PROGRAM = "total = 0\nfor i in range(100):\n    total = total + i * i % 7\ntotal";

/** Runs before the measured ones: as many as in the row of one session alone, and fewer of fresh programs, which are slow. */
const [WARMUP, FRESH_WARMUP] = [1_000, 20];

interface Request {
  readonly code: string;
  readonly fresh: boolean;
  readonly runs: number;
}

/** A way to run programs. Returns the milliseconds of each run. */
type Runner = (request: Request) => Promise<number[]>;

/** Returns why the peers cannot be measured; `undefined` if they can. */
export async function missingForPeers(): Promise<string | undefined> {
  const isReady = await Deno.stat(`${PEER_VENV}/bin/python`).then(() => true, () => false);
  return isReady ? undefined : "'deno task bench:peers' must have been run";
}

/**
 * Measures warm execs and fresh programs of Paddock and of other systems that run a model's Python, in turn. Each is called
 * as its users call it, in the process that calls it. The peers have no isolation, or another one.
 */
export async function peerRows(setup: BenchSetup): Promise<Row[]> {
  if (await missingForPeers() !== undefined) return [];
  await using pool = new SandboxPool({ ...poolOptions(setup), size: 2, resetMode: "rewind" });
  await using stack = new AsyncDisposableStack();
  const { session } = stack.use(await pool.acquire()); // each peer keeps one for warm execs, too
  const runners = new Map<string, Runner>([[
    "Paddock",
    async ({ code, fresh, runs }) =>
      await timings(fresh ? () => runFresh(pool, code) : () => session.exec(code), { runs }),
  ]]);
  const { python } = setup;
  if (python) {
    runners.set(
      "python3, a child each",
      async ({ code, fresh, runs }) =>
        fresh ? await timings(() => runChild(python.executable, code), { runs }) : [],
    );
  }
  for (const name of NAMES) {
    const peer = stack.use(new Peer(name));
    const works = await peer.run({ code: WARM, fresh: false, runs: 1 }).then(() => true, () => false);
    if (works) runners.set(name, (request) => peer.run(request));
    else await writeText(Deno.stdout, `No rows of ${name}: it did not run\n`);
  }
  const rows: Row[] = [];
  for (const fresh of [false, true]) {
    const times = await timesInTurn(runners, { fresh, rounds: 10 * setup.effort });
    for (const [name, values] of times) {
      if (values.length === 0) continue;
      const what = fresh ? `fresh program, by one caller: ${name}` : `warm exec("${WARM}"): ${name}`;
      rows.push({ what, ...summarize(values), unit: "ms" });
    }
  }
  return rows;
}

async function timesInTurn(
  runners: ReadonlyMap<string, Runner>,
  { fresh, rounds }: { fresh: boolean; rounds: number },
): Promise<Map<string, number[]>> {
  const times = new Map([...runners.keys()].map((name) => [name, [] as number[]]));
  const program = { code: fresh ? PROGRAM : WARM, fresh };
  for (const run of runners.values()) await run({ ...program, runs: fresh ? FRESH_WARMUP : WARMUP });
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of runners) {
      times.get(name)?.push(...await run({ ...program, runs: fresh ? 2 : 20 }));
    }
  }
  return times;
}

async function runFresh(pool: SandboxPool, code: string): Promise<void> {
  await using lease = await pool.acquire();
  await lease.session.exec(code);
}

/** A child that times another system. */
class Peer implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #reader: ReadableStreamDefaultReader<string>;

  constructor(name: string) {
    this.#process = new Deno.Command(`${PEER_VENV}/bin/python`, {
      args: [`${FOLDER}peers.py`, name],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#writer = this.#process.stdin.getWriter();
    this.#reader = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Rejects if the system does not run, such as one whose own files must be downloaded. */
  async run(request: Request): Promise<number[]> {
    await this.#writer.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
    let answer = "";
    while (!answer.endsWith("\n")) {
      const { value, done } = await this.#reader.read();
      if (done) throw new Error("the peer ended");
      answer += value;
    }
    return JSON.parse(answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close().catch(() => {}); // it has ended
    await this.#reader.cancel().catch(() => {});
    await this.#process.status;
  }
}
