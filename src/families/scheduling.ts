import { type Draw, until } from "./draw.ts";
import type { Family, ReplyProblem, Verdict } from "./family.ts";

interface Job {
  readonly name: string;
  readonly duration: number;
  readonly due: number;
  readonly weight: number;
  readonly release: number;
  /** Indices of the jobs that must come before. */
  readonly after: readonly number[];
}

/** The lowest cost, and the numbers of orders. */
interface Optimum {
  readonly cost: number;
  readonly order: readonly number[];
  /** Number of orders with the lowest cost. */
  readonly best: number;
  /** Number of orders that are allowed. */
  readonly legal: number;
}

/** Largest share of the allowed orders that may be optimal. */
const MAX_SHARE = 0.03;

/** Order jobs of one machine for the least weighted lateness. Difficulty adds jobs, precedence and release times. */
export const scheduling: Family = {
  about: "an order of jobs on one machine with the least weighted lateness",
  version: 1,
  kind: "reply",
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ReplyProblem | undefined {
  const count = 5 + Math.floor(difficulty / 2);
  const jobs = Array.from({ length: count }, (_, at) => randomJob(draw, { at, count, difficulty }));
  const { cost, order, best, legal } = optimize(jobs);
  if (cost === 0 || best / legal > MAX_SHARE) return undefined;
  const names = jobs.map(({ name }) => name);
  return {
    kind: "reply",
    query: `A machine runs ${count} jobs one after another, and starts each as early as possible.\n` +
      `${jobs.map((job) => describe(job, jobs)).join("\n")}\n` +
      "A job that ends after the due time costs its weight for each unit of time that it is late. " +
      "Find an order of all jobs with the lowest total cost. Give the names in order, as in A B C.",
    solution: order.map((at) => names[at]).join(" "),
    copies: [names.join(" "), names.toReversed().join(" "), "A B C"],
    guess: (draw) => randomOrder(draw, jobs).map((at) => names[at]).join(" "),
    check: (answer) => check(answer, { jobs, cost }),
  };
}

function randomJob(
  draw: Draw,
  { at, count, difficulty }: { at: number; count: number; difficulty: number },
): Job {
  const earlier = Array.from({ length: at }, (_, index) => index);
  return {
    name: String.fromCharCode(65 + at),
    duration: draw.int(1, 9),
    due: draw.int(2, Math.ceil(3.5 * count)),
    weight: draw.int(1, 5),
    release: difficulty >= 7 && draw.chance(0.4) ? draw.int(1, 2 * count) : 0,
    after: difficulty >= 4 && at > 0 && draw.chance(0.25) ? [draw.pick(earlier)] : [],
  };
}

function describe({ name, duration, due, weight, release, after }: Job, jobs: readonly Job[]): string {
  const before = after.map((at) => `, not before ${jobs[at]?.name} has ended`).join("");
  const start = release > 0 ? `, starts at time ${release} or later` : "";
  return `${name}: duration ${duration}, due at ${due}, weight ${weight}${start}${before}`;
}

/** The lowest cost of a set of jobs that ends at a time. With release times, a set can end at several times. */
interface State {
  readonly end: number;
  readonly cost: number;
  readonly count: number;
  readonly order: readonly number[];
}

/** Finds the optimum by dynamic programming over sets of jobs. */
function optimize(jobs: readonly Job[]): Optimum {
  const states: Map<number, State>[] = Array.from({ length: 2 ** jobs.length }, () => new Map());
  const legal = new Array<number>(states.length).fill(0);
  states[0]?.set(0, { end: 0, cost: 0, count: 1, order: [] });
  legal[0] = 1;
  for (const [set, reached] of states.entries()) {
    for (const [at, job] of jobs.entries()) {
      if (set & (1 << at) || job.after.some((other) => !(set & (1 << other)))) continue;
      const next = set | (1 << at);
      legal[next] = (legal[next] ?? 0) + (legal[set] ?? 0);
      for (const state of reached.values()) extend(states[next], state, { at, job });
    }
  }
  const finals = [...states.at(-1)?.values() ?? []];
  const cost = Math.min(...finals.map((state) => state.cost));
  const optimal = finals.filter((state) => state.cost === cost);
  return {
    cost,
    order: optimal[0]?.order ?? [],
    best: optimal.reduce((sum, { count }) => sum + count, 0),
    legal: legal.at(-1) ?? 1,
  };
}

function extend(
  states: Map<number, State> | undefined,
  { end, cost, count, order }: State,
  { at, job }: { at: number; job: Job },
): void {
  const next = endOf(job, end);
  const total = cost + job.weight * Math.max(0, next - job.due);
  const known = states?.get(next);
  if (known !== undefined && known.cost < total) return;
  const isTie = known?.cost === total;
  states?.set(next, {
    end: next,
    cost: total,
    count: count + (isTie ? known.count : 0),
    order: isTie ? known.order : [...order, at],
  });
}

function endOf({ release, duration }: Job, start: number): number {
  return Math.max(start, release) + duration;
}

/** Returns the cost of an order; undefined if a job comes before a job that must come first. */
function costOf(order: readonly number[], jobs: readonly Job[]): number | undefined {
  let [end, cost] = [0, 0];
  for (const [place, at] of order.entries()) {
    const job = jobs[at];
    if (job === undefined || job.after.some((other) => !order.slice(0, place).includes(other))) {
      return undefined;
    }
    end = endOf(job, end);
    cost += job.weight * Math.max(0, end - job.due);
  }
  return cost;
}

function randomOrder(draw: Draw, jobs: readonly Job[]): number[] {
  const order: number[] = [];
  while (order.length < jobs.length) {
    const ready = jobs.flatMap(({ after }, at) =>
      !order.includes(at) && after.every((other) => order.includes(other)) ? [at] : []
    );
    order.push(draw.pick(ready));
  }
  return order;
}

function check(answer: string, { jobs, cost }: { jobs: readonly Job[]; cost: number }): Verdict {
  const names = answer.split(/[\s,>-]+/).filter((name) => name !== "");
  const order = names.map((name) => jobs.findIndex((job) => job.name === name));
  if (order.length !== jobs.length || new Set(order).size !== jobs.length || order.includes(-1)) {
    return "malformed";
  }
  return costOf(order, jobs) === cost ? "right" : "wrong";
}
