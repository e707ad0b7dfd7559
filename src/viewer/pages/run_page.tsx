import type { FC } from "hono/jsx";
import type { RunRecord } from "../../rollout/run_record.ts";
import { isFiltered, toSearch } from "../episode_query.ts";
import type { RunDetails } from "../run_summary.ts";
import { EpisodeList, type EpisodeListProps } from "./episode_list.tsx";
import { formatBytes, formatKnown, formatMs, formatNumber } from "./format.ts";
import { Page, runHref, Time } from "./layout.tsx";
import { HistogramPlot, RewardCurve, TableFigure, TaskCurve } from "./plots.tsx";
import { Filters } from "./run_filters.tsx";
import { RunSettings } from "./run_settings.tsx";
import { plainLabel, SafeText } from "./safe_text.tsx";

/** Content of the page of a run. */
export interface RunPageProps extends EpisodeListProps {
  /** Figures of the rows of the query. */
  readonly details: RunDetails;
  /** True if the file was changed within the last minutes. */
  readonly isLive: boolean;
  /** Settings of the run, if known. */
  readonly record?: RunRecord | undefined;
}

/** Parts of the reward with a histogram. */
const PLOTTED_PARTS = 6;

const NEWEST_FIRST = { sort: "file", descending: true, page: 1 } as const;

/** The page of a run: figures, plots, filters and episodes. */
export const RunPage: FC<RunPageProps> = (props) => {
  const { run: { file: { name } }, query, details, isLive } = props;
  const search = toSearch(query, { page: 1, texts: false });
  return (
    <Page title={name} crumbs={[{ text: name, href: runHref(name) }]}>
      <h1>
        <SafeText text={name} />
      </h1>
      <div id="live" data-events={runHref(name, "events")} data-live={isLive ? "true" : "false"}>
        <p class="status" id="live-status" role="status">
          {isLive ? "Live: this page follows the file." : "The file has not changed in the last minutes."}
        </p>
        <div id="live-figures">
          <Figures {...props} />
        </div>
        <div class="plots">
          {details.curve.length > 0 && <RewardCurve points={details.curve} />}
          {details.taskMeans.length > 0 && <TaskCurve means={details.taskMeans} />}
          {details.reward && <HistogramPlot title="Reward of an episode" histogram={details.rewards} />}
          {details.passRates.length > 0 && <PassTable details={details} />}
          {details.parts.length > 0 && <PartTable details={details} />}
          {details.parts.slice(0, PLOTTED_PARTS).map((part) => (
            <HistogramPlot
              title={`Part of the reward: ${plainLabel(part.name, 40)}`}
              histogram={part.values}
            />
          ))}
          {details.episodes > 0 && <HistogramPlot title="Turns of an episode" histogram={details.turns} />}
          {details.tokens > 0 && <HistogramPlot title="Tokens of an episode" histogram={details.lengths} />}
          {details.episodes > 0 && (
            <HistogramPlot title="Duration of an episode" histogram={details.durations} format={formatMs} />
          )}
        </div>
      </div>
      <RunSettings record={props.record} />
      <h2 id="episodes">Episodes</h2>
      <Filters name={name} query={query} details={details} />
      <p class="actions">
        {(query.sort !== "file" || !query.descending) && (
          <a href={`${runHref(name)}${toSearch(query, NEWEST_FIRST)}#episodes`}>Newest first</a>
        )}
        <a href={runHref(name, "groups") + toSearch(query, { page: 1 })}>Groups with pass@n</a>
        <a href={runHref(name, "export.jsonl") + search} download>Export JSONL</a>
        <a href={runHref(name, "export.csv") + search} download>Export CSV</a>
      </p>
      <div id="live-episodes">
        <EpisodeList {...props} />
      </div>
    </Page>
  );
};

const Figures: FC<RunPageProps> = ({ run: { file }, query, details }) => {
  const { reward } = details;
  const hasInterval = reward !== undefined && reward.count > 1;
  const mean = hasInterval
    ? `${formatNumber(reward.mean)} (${formatNumber(reward.low)} to ${formatNumber(reward.high)})`
    : formatNumber(reward?.mean);
  return (
    <>
      <dl class="figures">
        <Figure name={isFiltered(query) ? "Episodes that match" : "Episodes"} value={details.episodes} />
        <Figure name="Mean reward" value={mean} />
        <Figure name="Unscored" value={details.unscored} />
        <Figure name="Cut off" value={details.cut} />
        <Figure name="Errors" value={details.failed} />
        <Figure name="Damaged lines" value={details.damaged} />
        <Figure name="Tokens" value={formatKnown(details.tokens)} />
        <Figure name="Model or policy" value={details.names.policy.join(", ") || "–"} />
        <Figure name="Env" value={details.names.env.join(", ") || "–"} />
        <div>
          <dt>Last change</dt>
          <dd>
            <Time date={file.changedAt} />
          </dd>
        </div>
        <Figure name="Size" value={formatBytes(file.size)} />
      </dl>
      <p class="note">
        {`The mean reward is the mean of the groups' means${
          hasInterval
            ? `; the interval is 95 %, over ${formatNumber(reward.count)} groups (${
              reward.method === "bootstrap" ? "bootstrap" : "normal approximation"
            })`
            : ""
        }.`}
      </p>
    </>
  );
};

const Figure: FC<{ name: string; value: string | number }> = ({ name, value }) => (
  <div>
    <dt>{name}</dt>
    <dd>
      <SafeText text={typeof value === "number" ? formatNumber(value) : value} limit={120} />
    </dd>
  </div>
);

const PassTable: FC<{ details: RunDetails }> = ({ details: { passRates } }) => (
  <TableFigure
    title="pass@n and pass^n"
    columns={["n", "pass@n", "pass^n", "Groups"]}
    rows={passRates.map(({ k, any, all, groups }) => [`${k}`, ...[any, all, groups].map(formatNumber)])}
  />
);

const PartTable: FC<{ details: RunDetails }> = ({ details: { parts } }) => (
  <TableFigure
    title="Parts of the reward"
    columns={["Part", "Mean", "Min", "Max", "Episodes"]}
    rows={parts.map(({ name, mean, count, values: { low, high } }) => [
      <SafeText text={name} limit={60} />,
      ...[mean, low, high, count].map(formatNumber),
    ])}
  />
);
