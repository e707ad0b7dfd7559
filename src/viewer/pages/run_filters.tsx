import type { FC } from "hono/jsx";
import {
  END_CHOICES,
  type EpisodeQuery,
  isFiltered,
  REWARD_CHOICES,
  SORT_COLUMNS,
  type SortName,
} from "../episode_query.ts";
import type { RunDetails } from "../run_summary.ts";
import { runHref } from "./layout.tsx";
import { plainLabel } from "./safe_text.tsx";

const CHOICE_NAMES: Readonly<Record<typeof REWARD_CHOICES[number], string>> = {
  right: "1 or more",
  wrong: "below 1",
  partial: "between 0 and 1",
  zero: "0 or less",
  unscored: "not scored",
};

const END_NAMES: Readonly<Record<typeof END_CHOICES[number], string>> = {
  terminated: "reached the end",
  truncated: "cut off by any limit",
  cut: "cut off by a limit of tokens",
  stopped: "stopped",
  failed: "failed",
};

const Select: FC<
  { name: string; label: string; value: string | undefined; options: readonly [string, string][] }
> = (
  { name, label, value, options },
) => (
  <label>
    {label}
    <select name={name}>
      <option value="">all</option>
      {options.map(([key, text]) => (
        <option value={key} selected={key === value}>
          {plainLabel(text, 60)}
        </option>
      ))}
    </select>
  </label>
);

/** The form that selects and sorts the episodes of a run. */
export const Filters: FC<{ name: string; query: EpisodeQuery; details: RunDetails }> = (
  { name, query, details },
) => (
  <form class="filters" action={`${runHref(name)}#episodes`} method="get" role="search" aria-label="Episodes">
    <Select
      name="reward"
      label="Reward"
      value={query.reward}
      options={REWARD_CHOICES.map((choice) => [choice, CHOICE_NAMES[choice]])}
    />
    <label>
      Reward from
      <input name="min" value={textOf(query.minReward)} inputmode="decimal" size={5} autocomplete="off" />
    </label>
    <label>
      Reward to
      <input name="max" value={textOf(query.maxReward)} inputmode="decimal" size={5} autocomplete="off" />
    </label>
    <Select
      name="end"
      label="End"
      value={query.end}
      options={END_CHOICES.map((choice) => [choice, END_NAMES[choice]])}
    />
    <Select
      name="error"
      label="Error"
      value={query.error}
      options={[["none", "no error"], ["any", "any error"], ...same(details.boundaries)]}
    />
    <Select name="tool" label="Tool status" value={query.tool} options={same(details.statuses)} />
    {(details.envs.length > 1 || query.env !== undefined) && (
      <Select name="env" label="Env" value={query.env} options={same(details.envs)} />
    )}
    <label>
      Task
      <input name="task" value={query.task ?? ""} autocomplete="off" />
    </label>
    {query.group !== undefined && (
      <label>
        Group
        <input name="group" value={query.group} autocomplete="off" />
      </label>
    )}
    <label>
      Text
      <input type="search" name="text" value={query.text ?? ""} autocomplete="off" />
    </label>
    <Select
      name="sort"
      label="Sort by"
      value={query.sort}
      options={(Object.keys(SORT_COLUMNS) as SortName[]).map((key) => [key, SORT_NAMES[key]])}
    />
    <label class="check">
      <input type="checkbox" name="order" value="desc" checked={query.descending} />
      largest first
    </label>
    <label class="check">
      <input type="checkbox" name="texts" value="1" checked={query.texts} />
      show texts
    </label>
    <button type="submit">Apply</button>
    {isFiltered(query) && <a href={`${runHref(name)}#episodes`}>Clear</a>}
  </form>
);

const SORT_NAMES: Readonly<Record<SortName, string>> = {
  file: "order in the file",
  reward: "reward",
  turns: "turns",
  tokens: "tokens",
  calls: "tool calls",
  time: "duration",
};

function textOf(value: number | undefined): string {
  return value === undefined ? "" : `${value}`;
}

function same(names: readonly string[]): [string, string][] {
  return names.map((name) => [name, name]);
}
