import { SandboxPool } from "../src/sandbox/pool.ts";
import { loadProfile } from "../src/sandbox/profile/profile.ts";
import { HttpServer } from "../src/server/http/http_server.ts";
import { PaddockServer } from "../src/server/paddock_server.ts";
import { median, timings } from "./measure.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const PROGRAM = "1+1";
const HEADERS = { "content-type": "application/json" };

/** Measures the overhead of `/v1` over a plain exec: three ways into the same session, in turn. */
export async function overheadRows(setup: BenchSetup): Promise<Row[]> {
  const profile = await loadProfile("serve");
  await using pool = new SandboxPool({ ...poolOptions(setup), profile, size: 1, resetMode: "rewind" });
  await using lease = await pool.acquire();
  const borrowed = { session: lease.session, [Symbol.asyncDispose]: () => Promise.resolve() };
  await using paddock = new PaddockServer({
    pool: { acquire: () => Promise.resolve(borrowed) },
    maxSessions: 1,
  });
  const onGraceOver = () => paddock[Symbol.asyncDispose]();
  await using server = await HttpServer.listen(paddock.fetch, {
    hostname: "127.0.0.1",
    port: 0,
    onGraceOver,
  });
  const address = `http://127.0.0.1:${server.port}/v1/sessions`;
  const { id } = await readJson(await paddock.fetch(request(address, {})));
  const execRequest = () => request(`${address}/${id}/exec`, { code: PROGRAM });
  const ways = {
    pool: () => lease.session.exec(PROGRAM),
    app: async () => await readJson(await paddock.fetch(execRequest())),
    socket: async () => await readJson(await fetch(execRequest())),
  };
  const times = await timedInTurn(ways, setup.effort);
  const bare = median(times.pool);
  const what = "/v1 exec on a live session, beyond the pool's exec";
  return [
    { what: `${what}, without a socket`, value: median(times.app) - bare, unit: "ms", bound: 1 },
    {
      what: `${what}, over a socket, including its client`,
      value: median(times.socket) - bare,
      unit: "ms",
      bound: 1,
    },
  ];
}

async function timedInTurn<Name extends string>(
  ways: Record<Name, () => Promise<unknown>>,
  effort: number,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(ways) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (const name of names) await timings(ways[name], { runs: 500 });
  for (let run = 0; run < 1_000 * effort; run++) {
    for (const name of names) times[name].push(...await timings(ways[name], { runs: 1 }));
  }
  return times;
}

function request(url: string, body: object): Request {
  return new Request(url, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
}

async function readJson(response: Response): Promise<{ id?: string }> {
  const text = await response.text();
  if (!response.ok) {
    throw new Error(
      `Cannot measure the server as the response must be ok: status is ${response.status}, body ${text}`,
    );
  }
  return JSON.parse(text);
}
