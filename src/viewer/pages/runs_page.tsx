import type { FC } from "hono/jsx";
import { isLive } from "../live_events.ts";
import { type ListedRun, type RunQuery, type RunSort, toRunSearch } from "../run_list.ts";
import { formatBytes, formatKnown, formatNumber } from "./format.ts";
import { BASE, Page, runHref, Time } from "./layout.tsx";
import { plainLabel, SafeText } from "./safe_text.tsx";

interface RunsPageProps {
  /** Runs of the query. */
  readonly runs: readonly ListedRun[];
  readonly query: RunQuery;
  /** Number of runs of the folder that are listed without the query. */
  readonly total: number;
  readonly isComplete: boolean;
  /** True if a file is still being read. */
  readonly isReading: boolean;
}

/** The table of the runs of a folder. */
export const RunsPage: FC<RunsPageProps> = ({ runs, query, total, isComplete, isReading }) => (
  <Page title="Runs" {...isReading && { refreshSeconds: 2 }}>
    <h1>Runs</h1>
    {total === 0
      ? (
        <p>
          The folder has no <code>.jsonl</code> file. <code>paddock rollout --out runs/a.jsonl</code>{" "}
          writes one.
        </p>
      )
      : (
        <>
          <form class="filters" action={BASE} method="get" role="search" aria-label="Runs">
            <label>
              Name, model or env
              <input type="search" name="find" value={query.find} autocomplete="off" />
            </label>
            <input type="hidden" name="sort" value={query.sort} />
            <input type="hidden" name="order" value={query.descending ? "desc" : "asc"} />
            <button type="submit">Find</button>
            {query.find !== "" && <a href={BASE + toRunSearch({ ...query, find: "" })}>Clear</a>}
          </form>
          {runs.length === 0 ? <p>No run matches.</p> : <RunTable runs={runs} query={query} />}
        </>
      )}
    {!isComplete && <p>The folder has more files than are listed.</p>}
  </Page>
);

const RunTable: FC<{ runs: readonly ListedRun[]; query: RunQuery }> = ({ runs, query }) => (
  <form action={`${BASE}/compare`} method="get">
    <div class="scroll" tabindex={0} role="region" aria-label="Runs">
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Compare</span>
            </th>
            <SortHead query={query} sort="name" text="Run" />
            <SortHead query={query} sort="episodes" text="Episodes" />
            <SortHead query={query} sort="reward" text="Mean reward" />
            <SortHead query={query} sort="errors" text="Errors" />
            <SortHead query={query} sort="tokens" text="Tokens" />
            <th scope="col">Model or policy</th>
            <th scope="col">Env</th>
            <SortHead query={query} sort="changed" text="Last change" />
            <SortHead query={query} sort="size" text="Size" />
            <th scope="col">Tool statuses</th>
          </tr>
        </thead>
        <tbody
          id="live-runs"
          data-live={runs.some(({ file }) =>
              isLive(file)
            )
            ? "true"
            : "false"}
        >
          {runs.map((run) => <RunRow {...run} />)}
        </tbody>
      </table>
    </div>
    <p>
      <button type="submit">Compare the two selected runs</button>
    </p>
  </form>
);

const SortHead: FC<{ query: RunQuery; sort: RunSort; text: string }> = ({ query, sort, text }) => {
  const isSorted = query.sort === sort;
  const descending = isSorted ? !query.descending : sort !== "name";
  return (
    <th
      scope="col"
      class={sort === "name" || sort === "changed" ? undefined : "number"}
      aria-sort={isSorted ? (query.descending ? "descending" : "ascending") : undefined}
    >
      <a href={BASE + toRunSearch({ ...query, sort, descending })}>{text}</a>
    </th>
  );
};

const RunRow: FC<ListedRun> = ({ file, summary, note }) => (
  <tr>
    <td>
      <input type="checkbox" name="run" value={file.name} aria-label={`Compare ${plainLabel(file.name)}`} />
    </td>
    <th scope="row" class="run-name">
      <a href={runHref(file.name)}>
        <SafeText text={file.name} limit={200} />
      </a>
      {isLive(file) && <span class="badge ok">live</span>}
    </th>
    {summary === undefined ? <td colspan={6}>{note}</td> : (
      <>
        <td class="number">{formatNumber(summary.episodes)}</td>
        <td class="number">
          {formatNumber(summary.reward?.mean)}
          {summary.reward && summary.reward.count > 1 && (
            <span class="interval">
              {`${formatNumber(summary.reward.low)} to ${formatNumber(summary.reward.high)}`}
            </span>
          )}
        </td>
        <td class="number">{formatNumber(summary.failed)}</td>
        <td class="number">{formatKnown(summary.tokens)}</td>
        <td class="names">
          <SafeText text={summary.names.policy.join(", ") || "–"} limit={80} />
        </td>
        <td class="names">
          <SafeText text={summary.names.env.join(", ") || "–"} limit={80} />
        </td>
      </>
    )}
    <td>
      <Time date={file.changedAt} />
    </td>
    <td class="number">{formatBytes(file.size)}</td>
    <td class="names">
      <SafeText text={summary?.names.statuses.join(", ") || "–"} limit={80} />
    </td>
  </tr>
);
