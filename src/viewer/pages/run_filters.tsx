import type { FC } from "hono/jsx";
import {
  END_CHOICES,
  type EpisodeQuery,
  isFiltered,
  NAME_FILTERS,
  type NameFilter,
  REWARD_CHOICES,
  SORT_ORDERS,
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

/** Choices with menus, then those with fields. */
const FILTERS = [
  ...NAME_FILTERS.filter(({ store }) => store !== "name"),
  ...NAME_FILTERS.filter(({ store }) => store === "name"),
];

const NameChoice: FC<{ filter: NameFilter; query: EpisodeQuery; details: RunDetails }> = (
  { filter: { column, parameter, label, when }, query, details },
) => {
  const value = query[parameter];
  const names = column in details.names ? details.names[column as keyof typeof details.names] : undefined;
  const count = names?.length ?? 0;
  if (value === undefined && (when === "chosen" || (when === "several" && count < 2))) return null;
  if (names !== undefined) {
    return <Select name={parameter} label={label} value={value} options={same(names)} />;
  }
  return (
    <label>
      {label}
      <input name={parameter} value={value ?? ""} autocomplete="off" />
    </label>
  );
};

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
      options={[["none", "no error"], ["any", "any error"], ...same(details.names.boundary)]}
    />
    {FILTERS.map((filter) => <NameChoice filter={filter} query={query} details={details} />)}
    <label>
      Text
      <input type="search" name="text" value={query.text ?? ""} autocomplete="off" />
    </label>
    <Select
      name="sort"
      label="Sort by"
      value={query.sort}
      options={Array.from(SORT_ORDERS, ([key, { label }]) => [key, label])}
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

function textOf(value: number | undefined): string {
  return value === undefined ? "" : `${value}`;
}

function same(names: readonly string[]): [string, string][] {
  return names.map((name) => [name, name]);
}
