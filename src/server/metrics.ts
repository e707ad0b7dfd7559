import type { DeniedAttempts } from "../sandbox/exec.ts";

/** Upper bounds of the duration buckets, in seconds. */
const BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

/** Returns the value of one owner, or of all owners together. */
type Gauge = (owner?: string) => number;

/** Metrics of the server, counted per owner, in Prometheus format. */
export class Metrics {
  /** Counts of each owner by sample. */
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #helps = new Map<string, { help: string; kind: "counter" | "gauge" | "histogram" }>([
    ["paddock_requests_total", { help: "Requests by status.", kind: "counter" }],
    ["paddock_execs_total", { help: "Programs by result status.", kind: "counter" }],
    ["paddock_denied_attempts_total", {
      help: "Refused attempts of programs by kind, as the guest counts them.",
      kind: "counter",
    }],
    ["paddock_exec_seconds", { help: "Wall time of programs.", kind: "histogram" }],
  ]);

  /** Counts a response to an owner; the empty string if the request had no valid token. */
  countRequest(status: number, owner: string): void {
    this.#add(owner, `paddock_requests_total{status="${status}"}`, 1);
  }

  /** Counts a finished program of an owner. */
  countExec(
    status: string,
    { durationMs, owner, denied = {} }: {
      durationMs: number;
      owner: string;
      denied?: DeniedAttempts | undefined;
    },
  ): void {
    for (const [kind, count] of Object.entries(denied)) {
      this.#add(owner, `paddock_denied_attempts_total{kind="${kind}"}`, count);
    }
    const seconds = durationMs / 1000;
    this.#add(owner, `paddock_execs_total{status="${status}"}`, 1);
    for (const bound of BUCKETS) {
      this.#add(owner, `paddock_exec_seconds_bucket{le="${bound}"}`, seconds <= bound ? 1 : 0);
    }
    this.#add(owner, `paddock_exec_seconds_bucket{le="+Inf"}`, 1);
    this.#add(owner, "paddock_exec_seconds_sum", seconds);
    this.#add(owner, "paddock_exec_seconds_count", 1);
  }

  /** Adds a gauge whose value is read at each scrape: of one owner, or of all. */
  addGauge(name: string, help: string, value: Gauge): void {
    this.#helps.set(name, { help, kind: "gauge" });
    this.#gauges.set(name, value);
  }

  /** Returns the metrics of one owner, or of all, in the text format of Prometheus, version 0.0.4. */
  format(owner?: string): string {
    const lines = [...this.#helps].flatMap(([name, { help, kind }]) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${kind}`,
      ...this.#samples(name, owner),
    ]);
    return `${lines.join("\n")}\n`;
  }

  #samples(name: string, owner: string | undefined): string[] {
    const gauge = this.#gauges.get(name);
    if (gauge) return [`${name} ${gauge(owner)}`];
    const sums = new Map<string, number>();
    for (const [of, counts] of this.#counts) {
      for (const [sample, count] of owner === undefined || of === owner ? counts : []) {
        if (sample.startsWith(name)) sums.set(sample, (sums.get(sample) ?? 0) + count);
      }
    }
    return [...sums].map(([sample, count]) => `${sample} ${count}`);
  }

  #add(owner: string, sample: string, amount: number): void {
    const counts = this.#counts.get(owner) ?? new Map<string, number>();
    this.#counts.set(owner, counts);
    counts.set(sample, (counts.get(sample) ?? 0) + amount);
  }
}
