import type { FC } from "hono/jsx";
import {
  type EpisodeQuery,
  isFiltered,
  PAGE_ROWS,
  REWARD_CHOICES,
  SORT_COLUMNS,
  type SortName,
  toSearch,
} from "../episode_query.ts";
import type { OpenRun } from "../run_store.ts";
import type { RunDetails } from "../run_summary.ts";
import { episodeHref, formatMs, formatNumber, Page, Reward, runHref } from "./layout.tsx";
import { HistogramPlot, RewardCurve, TaskCurve } from "./plots.tsx";
import { plainLabel, SafeText } from "./safe_text.tsx";

/** Content of the page of a run. */
export interface RunPageProps {
  readonly run: OpenRun;
  readonly query: EpisodeQuery;
  /** Rows of the query. */
  readonly rows: Uint32Array;
  /** Figures of these rows. */
  readonly details: RunDetails;
  /** True if the file was changed within the last minutes. */
  readonly isLive: boolean;
}

/** The page of a run: figures, plots, filters and episodes. */
export const RunPage: FC<RunPageProps> = (props) => {
  const { run: { file: { name } }, query, details, isLive } = props;
  const search = toSearch(query);
  return (
    <Page title={name} crumbs={[{ text: name, href: runHref(name) }]}>
      <h1>
        <SafeText text={name} />
      </h1>
      <div id="live" data-events={runHref(name, "events")} data-live={isLive ? "true" : "false"}>
        <p class="status" id="live-status" role="status">
          {isLive ? "Live: this page follows the file." : "The file has not changed in the last minutes."}
        </p>
        <Figures details={details} isFiltered={isFiltered(query)} />
        <div class="plots">
          {details.curve.length > 0 && <RewardCurve points={details.curve} />}
          {details.taskMeans.length > 0 && <TaskCurve means={details.taskMeans} />}
          {details.reward && <HistogramPlot title="Reward of an episode" histogram={details.rewards} />}
          {details.episodes > 0 && <HistogramPlot title="Turns of an episode" histogram={details.turns} />}
          {details.tokens > 0 && <HistogramPlot title="Tokens of an episode" histogram={details.lengths} />}
          {details.episodes > 0 && (
            <HistogramPlot title="Duration of an episode" histogram={details.durations} format={formatMs} />
          )}
        </div>
      </div>
      <h2 id="episodes">Episodes</h2>
      <Filters name={name} query={query} details={details} />
      <p class="actions">
        <a href={runHref(name, "groups") + toSearch(query, { page: 1 })}>Groups with pass@n</a>
        <a href={runHref(name, "export.jsonl") + search} download>Export JSONL</a>
        <a href={runHref(name, "export.csv") + search} download>Export CSV</a>
      </p>
      <div id="live-episodes">
        <EpisodeRows {...props} />
      </div>
    </Page>
  );
};

const Figures: FC<{ details: RunDetails; isFiltered: boolean }> = ({ details, isFiltered }) => {
  const { reward, passRates } = details;
  const hasInterval = reward !== undefined && reward.count > 1;
  const facts: [string, string][] = [
    [isFiltered ? "Episodes that match" : "Episodes", formatNumber(details.episodes)],
    [
      "Mean reward",
      hasInterval
        ? `${formatNumber(reward.mean)} (${formatNumber(reward.low)} to ${formatNumber(reward.high)})`
        : formatNumber(reward?.mean),
    ],
    ...passRates.map(({ k, rate, groups }): [string, string] => [
      `pass@${k}`,
      `${formatNumber(rate)} of ${formatNumber(groups)} groups`,
    ]),
    ["Unscored", formatNumber(details.unscored)],
    ["Errors", formatNumber(details.failed)],
    ["Damaged lines", formatNumber(details.damaged)],
    ["Tokens", formatNumber(details.tokens)],
  ];
  return (
    <>
      <dl class="figures">
        {facts.map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {hasInterval && (
        <p class="note">
          {`The interval is 95 %, over ${formatNumber(reward.count)} groups (${
            reward.method === "bootstrap" ? "bootstrap" : "normal approximation"
          }); the mean is that of the groups' means.`}
        </p>
      )}
    </>
  );
};

const CHOICE_NAMES: Readonly<Record<typeof REWARD_CHOICES[number], string>> = {
  right: "1 or more",
  wrong: "below 1",
  partial: "between 0 and 1",
  zero: "0 or less",
  unscored: "not scored",
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

const Filters: FC<{ name: string; query: EpisodeQuery; details: RunDetails }> = (
  { name, query, details },
) => (
  <form class="filters" action={`${runHref(name)}#episodes`} method="get" role="search" aria-label="Episodes">
    <Select
      name="reward"
      label="Reward"
      value={query.reward}
      options={REWARD_CHOICES.map((choice) => [choice, CHOICE_NAMES[choice]])}
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

function same(names: readonly string[]): [string, string][] {
  return names.map((name) => [name, name]);
}

const EpisodeRows: FC<RunPageProps> = ({ run, query, rows }) => {
  const { table, file: { name } } = run;
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  const page = Math.min(query.page, pages);
  const shown = rows.subarray((page - 1) * PAGE_ROWS, page * PAGE_ROWS);
  const search = toSearch(query, { page: 1 });
  if (rows.length === 0) return <p>No episode matches.</p>;
  return (
    <>
      <div class="scroll" tabindex={0} role="region" aria-label="Episodes">
        <table>
          <thead>
            <tr>
              <SortHead name={name} query={query} sort="file" text="Episode" />
              <th scope="col">Task</th>
              <SortHead name={name} query={query} sort="reward" text="Reward" />
              <th scope="col" class="number">Sample</th>
              <th scope="col">End</th>
              <th scope="col">Tools</th>
              <SortHead name={name} query={query} sort="calls" text="Calls" />
              <SortHead name={name} query={query} sort="turns" text="Turns" />
              <SortHead name={name} query={query} sort="tokens" text="Tokens" />
              <SortHead name={name} query={query} sort="time" text="Duration" />
            </tr>
          </thead>
          <tbody>
            {Array.from(shown, (row) => {
              const { columns } = table;
              const boundary = table.boundaryOf(row);
              return (
                <tr>
                  <td class="number">
                    <a href={episodeHref(name, row, search)}>{`${row + 1}`}</a>
                  </td>
                  <th scope="row">
                    <SafeText text={table.nameOf("task", row)} limit={80} />
                  </th>
                  <td class="number">
                    <Reward value={columns.reward[row] ?? NaN} />
                  </td>
                  <td class="number">{columns.sample[row]}</td>
                  <td>
                    {table.endOf(row)}
                    {boundary !== "" && (
                      <>
                        {" at "}
                        <SafeText text={boundary} limit={40} />
                      </>
                    )}
                  </td>
                  <td>
                    <SafeText text={table.statusesOf(row).join(", ")} limit={60} />
                  </td>
                  <td class="number">{columns.calls[row]}</td>
                  <td class="number">{columns.turns[row]}</td>
                  <td class="number">{formatNumber(columns.tokens[row])}</td>
                  <td class="number">{formatMs(columns.durationMs[row] ?? 0)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <Pager
        href={(to) => `${runHref(name)}${toSearch(query, { page: to })}#episodes`}
        page={page}
        pages={pages}
      />
    </>
  );
};

const SortHead: FC<{ name: string; query: EpisodeQuery; sort: SortName; text: string }> = (
  { name, query, sort, text },
) => {
  const isSorted = query.sort === sort;
  const descending = isSorted ? !query.descending : sort !== "file" && sort !== "reward";
  return (
    <th
      scope="col"
      class="number"
      aria-sort={isSorted ? (query.descending ? "descending" : "ascending") : undefined}
    >
      <a href={`${runHref(name)}${toSearch(query, { sort, descending, page: 1 })}#episodes`}>{text}</a>
    </th>
  );
};

/** Links to other pages of a list. */
export const Pager: FC<{ href: (page: number) => string; page: number; pages: number }> = (
  { href, page, pages },
) => (
  <nav class="pager" aria-label="Pages">
    {page > 1 && <a href={href(1)}>First</a>}
    {page > 1 && <a href={href(page - 1)} rel="prev">Previous page</a>}
    <span>{`Page ${formatNumber(page)} of ${formatNumber(pages)}`}</span>
    {page < pages && <a href={href(page + 1)} rel="next">Next page</a>}
    {page < pages && <a href={href(pages)}>Last</a>}
  </nav>
);
