import { SandboxPool } from "../src/sandbox/pool.ts";
import { loadProfile } from "../src/sandbox/profile/profile.ts";
import { median, ratePerSecond, summarize, timings } from "./measure.ts";
import { runNatively } from "./peers.ts";
import type { Row } from "./row.ts";
import { ownProgram } from "./run_code.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";
import { Serving } from "./serving.ts";

const HEADERS = { "content-type": "application/json" };
const BATCH = 1_000;
const SESSIONS = Math.max(2, navigator.hardwareConcurrency);
const RUNS = 500;

/** Sends execs over one connection, and prints the median time in milliseconds. */
const KEEP_ALIVE = `
import http.client, json, sys, time
host, path, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
connection = http.client.HTTPConnection(host)
body = json.dumps({"code": "1+1"})
times = []
for _ in range(runs):
    start = time.perf_counter()
    connection.request("POST", path, body, {"content-type": "application/json"})
    result = json.loads(connection.getresponse().read())
    times.append(time.perf_counter() - start)
    assert result["value"] == "2", result
print(1000 * sorted(times)[runs // 2])
`;

/**
 * Measures a server in another process: a batch of 1,000 programs in turn with the same programs in a pool of this
 * process, and execs by a client in Python in turn with those of such a pool.
 */
export async function clientRows(setup: BenchSetup): Promise<Row[]> {
  const profile = await loadProfile("serve");
  await using pool = new SandboxPool({ ...poolOptions(setup), profile, size: SESSIONS, resetMode: "rewind" });
  await using serving = await Serving.startWith(
    { PADDOCK_CACHE_DIR: setup.cacheDir },
    ["--max-sessions", String(SESSIONS)],
  );
  return [...await batchRows(serving, pool, setup), ...await keepAliveRows(serving, pool, setup)];
}

async function batchRows({ url }: Serving, pool: SandboxPool, { effort }: BenchSetup): Promise<Row[]> {
  const programs = Array.from({ length: BATCH }, (_, number) => ownProgram(number));
  const items = programs.map(({ code }) => ({ code }));
  const served: number[] = [];
  const ratios: number[] = [];
  for (let round = -1; round < 5 * effort; round++) {
    const [ms = NaN] = await timings(async () => {
      const { results } = await postJson<{ results: { result?: { stdout: string } }[] }>(
        `${url}/v1/exec:batch`,
        { items },
      );
      const wrong = programs.findIndex(({ stdout }, at) => results[at]?.result?.stdout !== stdout);
      if (wrong >= 0) throw new Error(`Cannot accept the result of '${programs[wrong]?.code}'`);
    }, { runs: 1 });
    let number = 0;
    const pooled = await ratePerSecond(async () => {
      await using lease = await pool.acquire({ once: true });
      await lease.session.exec(programs[number++ % BATCH]?.code ?? "");
    }, { lanes: SESSIONS, ms });
    if (round < 0) continue; // V8 compiles what is used
    served.push(ms / BATCH);
    ratios.push(1000 * BATCH / ms / pooled);
  }
  const what = `/v1/exec:batch of ${BATCH} programs`;
  return [
    { what: `${what}: each`, ...summarize(served), unit: "ms" },
    { what: `${what}: rate against the pool`, ...summarize(ratios), unit: "×", bound: 0.95 },
  ];
}

async function keepAliveRows(
  { url }: Serving,
  pool: SandboxPool,
  { effort, python }: BenchSetup,
): Promise<Row[]> {
  if (!python) return [];
  const { id } = await postJson<{ id: string }>(`${url}/v1/sessions`, {});
  await using lease = await pool.acquire();
  const program = [KEEP_ALIVE, new URL(url).host, `/v1/sessions/${id}/exec`, String(RUNS)];
  const beyond: number[] = [];
  for (let round = -2; round < 7 * effort; round++) {
    const client = Number(await runNatively(python.executable, program));
    const own = median(await timings(() => lease.session.exec("1+1"), { runs: RUNS }));
    if (round >= 0) beyond.push(client - own); // V8 compiles what is used
  }
  const what = "/v1 exec by a keep-alive client in Python, beyond the pool's exec";
  return [{ what, ...summarize(beyond), unit: "ms", bound: 0.25 }];
}

async function postJson<T>(url: string, body: object): Promise<T> {
  const response = await fetch(url, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  throw new Error(
    `Cannot measure the server as the response must be ok: status is ${response.status}, body ${text}`,
  );
}
