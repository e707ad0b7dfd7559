import type { DomainTask } from "../../src/envs/tau_bench/domain_description.ts";
import type { TauBenchDomain } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import { ownCalls } from "./own_calls.ts";

/** A call of a tool; the arguments are JSON text. */
export interface CaseCall {
  readonly name: string;
  readonly kwargs: string;
}

/** An episode whose reward is compared: its tool calls, then its messages to the user. */
export interface RewardCase {
  /** Index of the task in its split. */
  readonly index: number;
  /** Difference from the actions that the task requires. */
  readonly what: string;
  readonly calls: readonly CaseCall[];
  /** Messages to the user, who stops after the last one; without any, the last call ends the episode. */
  readonly messages: readonly string[];
}

/** Number of tasks of a split that are played in all variants. */
const TASKS = 8;

/**
 * Returns episodes of some tasks of a split: right ones, and wrong ones with missing actions, additional actions, another
 * order, other arguments, or missing messages to the user.
 */
export function rewardCases(domain: TauBenchDomain, split: string): RewardCase[] {
  const cases = sampledTasks(domain.tasks(split)).flatMap((index) => casesOf(domain, { split, index }));
  const seen = new Set<string>();
  return cases.filter(({ index, calls, messages }) => {
    const text = JSON.stringify([index, calls, messages]);
    return !seen.has(text) && seen.add(text);
  });
}

/** Returns indices spread over a split; half of the tasks require outputs, if there are enough. */
function sampledTasks(tasks: readonly DomainTask[]): number[] {
  const indices = [...tasks.keys()];
  const withOutputs = indices.filter((index) => (tasks[index]?.outputs.length ?? 0) > 0);
  const chosen = spread(withOutputs, TASKS / 2);
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
  const report = [`It is ${outputs.join(" and ")}.`, "Is that all?"];
  const ways: [string, readonly CaseCall[], readonly string[]][] = [
    ["right", own, report],
    ["right, with outputs in other letters", own, report.map(inOtherLetters)],
    ["right, without the last output", own, [`It is ${outputs.slice(0, -1).join(" and ")}.`]],
    ["right, without outputs", own, ["Done."]],
    ["no action, with outputs", [], report],
    ["without the last action", own.slice(0, -1), report],
    ["without the first action", own.slice(1), report],
    ["actions in reverse order", own.toReversed(), report],
    ["the last action twice", [...own, ...last], report],
    ["the last action without an argument", [...own.slice(0, -1), ...last.map(withoutArgument)], report],
    ["the actions of another task", callsOf(index + 1), report],
    ["ended by a tool", [...own, ...endingCall(domain)], []],
  ];
  return ways.filter(([, calls, messages]) => messages.length > 0 || calls.length > own.length)
    .map(([what, calls, messages]) => ({ index, what, calls, messages }));
}

/** Writes capital letters, and commas in numbers; tau-bench ignores both. */
function inOtherLetters(text: string): string {
  return text.toUpperCase().replace(/\d(?=(?:\d{3})+(?!\d))/g, "$&,");
}

function withoutArgument({ name, kwargs }: CaseCall): CaseCall {
  const [, ...rest] = Object.entries<unknown>(JSON.parse(kwargs));
  return { name, kwargs: JSON.stringify(Object.fromEntries(rest)) };
}

/** Returns a call of a tool that ends an episode, if the domain has one. */
function endingCall({ description: { terminate_tools: [name], tools_info } }: TauBenchDomain): CaseCall[] {
  const tool = tools_info.find(({ function: tool }) => tool.name === name);
  if (name === undefined || tool === undefined) return [];
  const { required } = tool.function.parameters;
  const names = Array.isArray(required) ? required : [];
  return [{ name, kwargs: JSON.stringify(Object.fromEntries(names.map((name) => [name, "x"]))) }];
}
