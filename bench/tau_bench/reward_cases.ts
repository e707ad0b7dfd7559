import type { DomainTask } from "../../src/envs/tau_bench/domain_description.ts";
import type { TauBenchDomain } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import { ownCalls } from "./own_calls.ts";

/** A call of a tool; the arguments are JSON text. */
export interface CaseCall {
  readonly name: string;
  readonly kwargs: string;
}

/** An episode whose reward is asked for: what is done, and then what the user is told. */
export interface RewardCase {
  /** Which task of the split is played. */
  readonly index: number;
  /** How it differs from what the task asks for. */
  readonly what: string;
  readonly calls: readonly CaseCall[];
  /** The user is done behind the last of these; without one, the last call ends the episode. */
  readonly said: readonly string[];
}

/** Tasks of a split that are played in every way. */
const TASKS = 8;

/**
 * Episodes of some tasks of a split that are right, or wrong in each of the ways that an agent may be: too little
 * done, too much, in another order, with other arguments, and the user told of it or not.
 */
export function rewardCases(domain: TauBenchDomain, split: string): RewardCase[] {
  const cases = sampledTasks(domain.tasks(split)).flatMap((index) => casesOf(domain, { split, index }));
  const seen = new Set<string>();
  return cases.filter(({ index, calls, said }) => {
    const text = JSON.stringify([index, calls, said]);
    return !seen.has(text) && seen.add(text);
  });
}

/** The indices of tasks from all over a split, half of them such as want something said where there are any. */
function sampledTasks(tasks: readonly DomainTask[]): number[] {
  const indices = [...tasks.keys()];
  const telling = indices.filter((index) => (tasks[index]?.outputs.length ?? 0) > 0);
  const chosen = spread(telling, TASKS / 2);
  const others = indices.filter((index) => !chosen.includes(index));
  return [...chosen, ...spread(others, TASKS - chosen.length)];
}

function spread(indices: readonly number[], count: number): number[] {
  const step = Math.max(1, indices.length / count);
  return indices.filter((_, at) =>
    at < count * step && Math.floor(at / step) !== Math.floor((at - 1) / step)
  );
}

function casesOf(domain: TauBenchDomain, { split, index }: { split: string; index: number }): RewardCase[] {
  const callsOf = (index: number) =>
    ownCalls(domain, { split, index }).map(({ name, kwargs, kwargsText }) => ({
      name,
      kwargs: kwargsText ?? JSON.stringify(kwargs),
    }));
  const own = callsOf(index);
  const last = own.slice(-1);
  const outputs = domain.tasks(split)[index]?.outputs ?? [];
  const told = [`It is ${outputs.join(" and ")}.`, "Is that all?"];
  const ways: [string, readonly CaseCall[], readonly string[]][] = [
    ["right", own, told],
    ["right and told in other letters", own, told.map(inOtherLetters)],
    ["right and not all told", own, [`It is ${outputs.slice(0, -1).join(" and ")}.`]],
    ["right and told nothing", own, ["Done."]],
    ["nothing done, and told", [], told],
    ["the last left out", own.slice(0, -1), told],
    ["the first left out", own.slice(1), told],
    ["in reverse order", own.toReversed(), told],
    ["the last done twice", [...own, ...last], told],
    ["the last without an argument", [...own.slice(0, -1), ...last.map(withoutArgument)], told],
    ["what another task wants", callsOf(index + 1), told],
    ["ended by a tool", [...own, ...endingCall(domain)], []],
  ];
  return ways.filter(([, calls, said]) => said.length > 0 || calls.length > own.length)
    .map(([what, calls, said]) => ({ index, what, calls, said }));
}

/** Capital letters, and commas in numbers, neither of which tau-bench minds. */
function inOtherLetters(text: string): string {
  return text.toUpperCase().replace(/\d(?=(?:\d{3})+(?!\d))/g, "$&,");
}

function withoutArgument({ name, kwargs }: CaseCall): CaseCall {
  const [, ...rest] = Object.entries<unknown>(JSON.parse(kwargs));
  return { name, kwargs: JSON.stringify(Object.fromEntries(rest)) };
}

/** A call of a tool that ends an episode, where the domain has one. */
function endingCall({ description: { terminate_tools: [name], tools_info } }: TauBenchDomain): CaseCall[] {
  const tool = tools_info.find(({ function: tool }) => tool.name === name);
  if (name === undefined || tool === undefined) return [];
  const { required } = tool.function.parameters;
  const names = Array.isArray(required) ? required : [];
  return [{ name, kwargs: JSON.stringify(Object.fromEntries(names.map((name) => [name, "x"]))) }];
}
