import { Connection } from "./connection.ts";
import { median, summarize } from "./measure.ts";
import type { Row } from "./row.ts";
import { isRight, ownProgram } from "./run_code.ts";
import type { BenchSetup } from "./sandbox_rows.ts";
import { Serving } from "./serving.ts";
import type { ProgramResponse } from "../src/server/peers/sandbox_fusion/contract.ts";

/** Numbers of tokens, and the least rate against that of one token. */
const TOKENS = [[2, 0.8], [10, 0.5], [100, 0.15]] as const;
const CONNECTIONS = 16;
const ROUNDS = 3;
const ROUND_MS = 4_000;
/** Time until each token has its interpreters, in milliseconds. */
const WARM_MS = 30_000;

/** Measures `/run_code` whose programs are of many tokens in turn, each number of tokens in turn with one token. */
export async function tokenRows({ cacheDir, effort }: BenchSetup): Promise<Row[]> {
  const rows: Row[] = [];
  await using one = await served(1, cacheDir);
  await load(one, WARM_MS / 4);
  for (const [count, bound] of TOKENS) {
    await using many = await served(count, cacheDir);
    await load(many, WARM_MS);
    const rates: number[] = [];
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS * effort; round++) {
      const [alone, turns] = [await load(one, ROUND_MS), await load(many, ROUND_MS)];
      rates.push(turns);
      ratios.push(turns / alone);
    }
    const what = `/run_code of ${count} tokens in turn by ${CONNECTIONS} connections`;
    rows.push({ what, ...summarize(rates), unit: "/s" });
    rows.push({ what: `${what}, against one token`, value: median(ratios), unit: "×", bound });
  }
  return rows;
}

/** A server with tokens. */
interface Served extends AsyncDisposable {
  readonly url: string;
  readonly tokens: readonly string[];
}

async function served(count: number, cacheDir: string): Promise<Served> {
  const tokens = Array.from({ length: count }, (_, at) => `token-${at}-`.padEnd(24, "x"));
  const serving = await Serving.startWith({
    PADDOCK_CACHE_DIR: cacheDir,
    PADDOCK_TOKEN: tokens.join(","),
  }, []);
  return { url: serving.url, tokens, [Symbol.asyncDispose]: () => serving[Symbol.asyncDispose]() };
}

/**
 * Runs programs for `ms` milliseconds, and returns their number in a second.
 *
 * @throws {Error} if one has not its own output.
 */
async function load({ url, tokens }: Served, ms: number): Promise<number> {
  const startedAt = performance.now();
  let sent = 0;
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    using connection = new Connection(url);
    while (performance.now() - startedAt < ms) {
      const { code, stdout } = ownProgram(sent);
      const token = tokens[sent++ % tokens.length];
      const response = await connection.post<ProgramResponse>("/run_code", { code, language: "python" }, {
        token,
      });
      if (!isRight(response, stdout)) {
        throw new Error(`Cannot accept the response to '${code}': ${JSON.stringify(response)}`);
      }
    }
  }));
  return sent / (performance.now() - startedAt) * 1_000;
}
