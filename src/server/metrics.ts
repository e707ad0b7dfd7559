import process from "node:process";
import type { DeniedAttempts } from "../sandbox/contract/exec.ts";

/** Upper bounds of the duration buckets, in seconds. */
const BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

/** Returns the value of one owner, or of all owners together. */
type Gauge = (owner?: string) => number;

/** A response that is counted. */
export interface CountedResponse {
  readonly status: number;
  /** Owner of the request; the empty string if it had no valid token. */
  readonly owner: string;
  readonly method: string;
  /** Template of the route, never the path of a request, since each value is a time series. */
  readonly route: string;
}

/** Metrics of the server, counted per owner, in Prometheus format. */
export class Metrics {
  /** Counts of each owner by sample. */
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #helps = new Map<string, { help: string; kind: "counter" | "gauge" | "histogram" }>([
    ["paddock_requests_total", { help: "Requests by method, route and status.", kind: "counter" }],
    ["paddock_execs_total", { help: "Programs by result status.", kind: "counter" }],
    ["paddock_denied_attempts_total", {
      help: "Refused attempts of programs by kind, as the guest counts them.",
      kind: "counter",
    }],
    ["paddock_exec_seconds", { help: "Wall time of programs.", kind: "histogram" }],
    ["paddock_queue_seconds", { help: "Time that requests wait for a session.", kind: "histogram" }],
  ]);

  /** Counts a response. */
  countRequest({ status, owner, method, route }: CountedResponse): void {
    this.#add(owner, `paddock_requests_total{method="${method}",route="${route}",status="${status}"}`, 1);
  }

  /** Counts a wait for a session, also one that ended without a session. */
  countWait(waitMs: number, owner: string): void {
    this.#observe("paddock_queue_seconds", waitMs / 1000, owner);
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
    this.#add(owner, `paddock_execs_total{status="${status}"}`, 1);
    this.#observe("paddock_exec_seconds", durationMs / 1000, owner);
  }

  /** Adds an amount to a counter without labels, whose name is the start of no other name. */
  count(name: string, amount: number, { owner, help }: { owner: string; help: string }): void {
    this.#helps.getOrInsertComputed(name, () => ({ help, kind: "counter" }));
    this.#add(owner, name, amount);
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

  #observe(name: string, seconds: number, owner: string): void {
    for (const bound of BUCKETS) {
      this.#add(owner, `${name}_bucket{le="${bound}"}`, seconds <= bound ? 1 : 0);
    }
    this.#add(owner, `${name}_bucket{le="+Inf"}`, 1);
    this.#add(owner, `${name}_sum`, seconds);
    this.#add(owner, `${name}_count`, 1);
  }

  #add(owner: string, sample: string, amount: number): void {
    const counts = this.#counts.get(owner) ?? new Map<string, number>();
    this.#counts.set(owner, counts);
    counts.set(sample, (counts.get(sample) ?? 0) + amount);
  }
}

/**
 * Returns the metrics of the server's process in the text format of Prometheus, under the names that all clients of
 * Prometheus use. The processes of sandboxes are not included. Only Linux shows the open files.
 */
export function formatProcessMetrics(): string {
  const { user, system } = process.cpuUsage();
  const samples = [
    ["process_cpu_seconds_total", "counter", "CPU time of the server.", (user + system) / 1e6],
    ["process_resident_memory_bytes", "gauge", "Resident memory of the server.", Deno.memoryUsage().rss],
    ["process_open_fds", "gauge", "Open files of the server.", countOpenFiles()],
    [
      "process_start_time_seconds",
      "gauge",
      "Unix time of the server's start.",
      performance.timeOrigin / 1000,
    ],
  ] as const;
  return samples.filter(([, , , value]) => value !== undefined)
    .map(([name, kind, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${name} ${value}\n`)
    .join("");
}

function countOpenFiles(): number | undefined {
  try {
    return [...Deno.readDirSync("/proc/self/fd")].length;
  } catch {
    return undefined; // no Linux, or no file descriptor is left to read them
  }
}
