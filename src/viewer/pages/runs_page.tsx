import type { FC } from "hono/jsx";
import type { RunFile } from "../run_folder.ts";
import type { RunSummary } from "../run_summary.ts";
import { BASE, formatBytes, formatNumber, Page, runHref, Time } from "./layout.tsx";
import { plainLabel, SafeText } from "./safe_text.tsx";

/** A run in the table: its summary, or why there is none. */
export interface ListedRun {
  readonly file: RunFile;
  readonly summary?: RunSummary;
  /** What is shown instead of a summary. */
  readonly note?: string;
}

interface RunsPageProps {
  readonly runs: readonly ListedRun[];
  readonly isComplete: boolean;
  /** True if a file is still being read. */
  readonly isReading: boolean;
}

/** The table of the runs of a folder. */
export const RunsPage: FC<RunsPageProps> = ({ runs, isComplete, isReading }) => (
  <Page title="Runs" {...isReading && { refreshSeconds: 2 }}>
    <h1>Runs</h1>
    {runs.length === 0
      ? (
        <p>
          The folder has no <code>.jsonl</code> file. <code>paddock rollout --out runs/a.jsonl</code>{" "}
          writes one.
        </p>
      )
      : (
        <form action={`${BASE}/compare`} method="get">
          <div class="scroll" tabindex={0} role="region" aria-label="Runs">
            <table>
              <thead>
                <tr>
                  <th scope="col">Compare</th>
                  <th scope="col">Run</th>
                  <th scope="col">Policy</th>
                  <th scope="col">Env</th>
                  <th scope="col">Tool statuses</th>
                  <th scope="col">Last change</th>
                  <th scope="col" class="number">Episodes</th>
                  <th scope="col" class="number">Mean reward</th>
                  <th scope="col" class="number">Errors</th>
                  <th scope="col" class="number">Tokens</th>
                  <th scope="col" class="number">Size</th>
                </tr>
              </thead>
              <tbody>{runs.map((run) => <RunRow {...run} />)}</tbody>
            </table>
          </div>
          <p>
            <button type="submit">Compare the two selected runs</button>
          </p>
        </form>
      )}
    {!isComplete && <p>The folder has more files than are listed.</p>}
  </Page>
);

const RunRow: FC<ListedRun> = ({ file, summary, note }) => (
  <tr>
    <td>
      <input type="checkbox" name="run" value={file.name} aria-label={`Compare ${plainLabel(file.name)}`} />
    </td>
    <th scope="row" class="run-name">
      <a href={runHref(file.name)}>
        <SafeText text={file.name} limit={200} />
      </a>
    </th>
    {summary === undefined ? <td colspan={3}>{note}</td> : (
      <>
        <td class="names">
          <SafeText text={summary.policies.join(", ") || "–"} limit={80} />
        </td>
        <td class="names">
          <SafeText text={summary.envs.join(", ") || "–"} limit={80} />
        </td>
        <td class="names">
          <SafeText text={summary.statuses.join(", ") || "–"} limit={80} />
        </td>
      </>
    )}
    <td>
      <Time date={file.changedAt} />
    </td>
    <td class="number">{formatNumber(summary?.episodes)}</td>
    <td class="number">
      {formatNumber(summary?.reward?.mean)}
      {summary?.reward && summary.reward.count > 1 && (
        <span class="interval">
          {`${formatNumber(summary.reward.low)} to ${formatNumber(summary.reward.high)}`}
        </span>
      )}
    </td>
    <td class="number">{formatNumber(summary?.failed)}</td>
    <td class="number">{formatNumber(summary?.tokens)}</td>
    <td class="number">{formatBytes(file.size)}</td>
  </tr>
);
