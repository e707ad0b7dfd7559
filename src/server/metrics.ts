/** Upper bounds of the duration buckets, in seconds. */
const BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

/** Metrics of the server in Prometheus format. */
export class Metrics {
  readonly #counts = new Map<string, number>();
  readonly #gauges = new Map<string, () => number>();
  readonly #helps = new Map<string, { help: string; kind: "counter" | "gauge" | "histogram" }>([
    ["paddock_requests_total", { help: "Requests by status.", kind: "counter" }],
    ["paddock_execs_total", { help: "Programs by result status.", kind: "counter" }],
    ["paddock_exec_seconds", { help: "Wall time of programs.", kind: "histogram" }],
  ]);

  /** Counts a response. */
  countRequest(status: number): void {
    this.#add(`paddock_requests_total{status="${status}"}`, 1);
  }

  /** Counts a finished program. */
  countExec(status: string, durationMs: number): void {
    const seconds = durationMs / 1000;
    this.#add(`paddock_execs_total{status="${status}"}`, 1);
    for (const bound of BUCKETS) {
      this.#add(`paddock_exec_seconds_bucket{le="${bound}"}`, seconds <= bound ? 1 : 0);
    }
    this.#add(`paddock_exec_seconds_bucket{le="+Inf"}`, 1);
    this.#add("paddock_exec_seconds_sum", seconds);
    this.#add("paddock_exec_seconds_count", 1);
  }

  /** Adds a gauge whose value is read at each scrape. */
  addGauge(name: string, help: string, value: () => number): void {
    this.#helps.set(name, { help, kind: "gauge" });
    this.#gauges.set(name, value);
  }

  /** Returns all metrics in the text format of Prometheus, version 0.0.4. */
  format(): string {
    const lines = [...this.#helps].flatMap(([name, { help, kind }]) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${kind}`,
      ...this.#samples(name),
    ]);
    return `${lines.join("\n")}\n`;
  }

  #samples(name: string): string[] {
    const gauge = this.#gauges.get(name);
    if (gauge) return [`${name} ${gauge()}`];
    const own = [...this.#counts].filter(([sample]) => sample.startsWith(name));
    return own.map(([sample, count]) => `${sample} ${count}`);
  }

  #add(sample: string, amount: number): void {
    this.#counts.set(sample, (this.#counts.get(sample) ?? 0) + amount);
  }
}
