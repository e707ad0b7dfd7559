import type { FC } from "hono/jsx";
import type { PlayedRun } from "../../rollout/run_record.ts";
import type { ComparedTask, RunComparison } from "../compare_runs.ts";
import { pageOfRows } from "../episode_query.ts";
import type { OpenRun } from "../run_store.ts";
import { formatChange, formatMs, formatNumber, signOf } from "./format.ts";
import { BASE, episodeHref, Page, Pager, Reward, runHref } from "./layout.tsx";
import { SettingDifferences } from "./run_settings.tsx";
import { SafeText } from "./safe_text.tsx";

/** Which tasks a comparison shows. */
export const CHANGES = ["all", "worse", "better", "same"] as const;

/** Content of the page that compares two runs. */
export interface ComparePageProps {
  readonly first: OpenRun;
  readonly second: OpenRun;
  readonly comparison: RunComparison;
  readonly change: typeof CHANGES[number];
  readonly page: number;
  /** Settings of the runs, if known. */
  readonly records?: readonly (PlayedRun | undefined)[];
}

/** Two runs of the same tasks side by side, the largest changes first. */
export const ComparePage: FC<ComparePageProps> = (
  { first, second, comparison, change, page: wanted, records = [] },
) => {
  const tasks = comparison.tasks.filter((task) => change === "all" || changeOf(task) === change);
  const { shown, page, pages } = pageOfRows(tasks, wanted);
  const search = (changes: Record<string, string>) => {
    const parameters = new URLSearchParams([["run", first.file.name], ["run", second.file.name]]);
    for (const [name, value] of Object.entries({ change, ...changes })) parameters.set(name, value);
    return `${BASE}/compare?${parameters}`;
  };
  return (
    <Page title="Compare" crumbs={[{ text: "Compare", href: search({}) }]}>
      <h1>Compare</h1>
      <dl class="figures">
        <div>
          <dt>First</dt>
          <dd>
            <RunName run={first} />
          </dd>
        </div>
        <div>
          <dt>Second</dt>
          <dd>
            <RunName run={second} />
          </dd>
        </div>
        <Difference comparison={comparison} />
      </dl>
      <FigureTable comparison={comparison} />
      <SettingDifferences first={records[0]} second={records[1]} />
      <h2 id="tasks">Tasks</h2>
      <p>
        {`${formatNumber(comparison.tasks.length)} tasks are scored in both runs. Left out: ${
          formatNumber(comparison.onlyFirst)
        } of the first run only, ${formatNumber(comparison.onlySecond)} of the second run only.`}
      </p>
      <nav class="actions" aria-label="Changes">
        {CHANGES.map((name) => (
          <a href={search({ change: name })} aria-current={name === change ? "true" : undefined}>
            {`${name} (${formatNumber(name === "all" ? comparison.tasks.length : comparison[name])})`}
          </a>
        ))}
        <a
          href={`${BASE}/compare?${new URLSearchParams([["run", second.file.name], [
            "run",
            first.file.name,
          ]])}`}
        >
          swap the runs
        </a>
      </nav>
      {tasks.length === 0 ? <p>No task to show.</p> : (
        <>
          <div class="scroll" tabindex={0} role="region" aria-label="Tasks">
            <table>
              <ChangeHead subject="Task" />
              <tbody>
                {shown.map((task) => (
                  <tr>
                    <th scope="row">
                      <a href={taskHref(first, second, task.task)}>
                        <SafeText text={task.task || "(no id)"} limit={100} />
                      </a>
                    </th>
                    <td class="number">
                      <a href={episodeHref(first.file.name, task.firstRow, taskSearch(task))}>
                        <Reward value={task.first} />
                      </a>
                    </td>
                    <td class="number">
                      <a href={episodeHref(second.file.name, task.secondRow, taskSearch(task))}>
                        <Reward value={task.second} />
                      </a>
                    </td>
                    <td class={`number ${changeOf(task)}`}>
                      {`${formatChange(task.second - task.first)} ${changeOf(task)}`}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <Pager href={(to) => search({ page: `${to}` })} page={page} pages={pages} />
        </>
      )}
    </Page>
  );
};

/** Returns the address of the page with the episodes of a task in both runs. */
export function taskHref(first: OpenRun, second: OpenRun, task: string, sample = 1): string {
  const parameters = new URLSearchParams([["run", first.file.name], ["run", second.file.name], [
    "task",
    task,
  ]]);
  if (sample > 1) parameters.set("sample", `${sample}`);
  return `${BASE}/compare?${parameters}`;
}

const FigureTable: FC<{ comparison: RunComparison }> = ({ comparison: { figures } }) => (
  <table class="parts">
    <caption>Means of all episodes</caption>
    <ChangeHead subject="Figure" />
    <tbody>
      {figures.map(({ name, unit, first, second }) => {
        const format = unit === "ms" ? formatMs : formatNumber;
        const change = second - first;
        return (
          <tr>
            <th scope="row">
              <SafeText text={name} limit={60} />
            </th>
            <td class="number">{Number.isNaN(first) ? "–" : format(first)}</td>
            <td class="number">{Number.isNaN(second) ? "–" : format(second)}</td>
            <td class="number">
              {Number.isNaN(change)
                ? "–"
                : unit === "ms"
                ? `${signOf(change)}${formatMs(Math.abs(change))}`
                : formatChange(change)}
            </td>
          </tr>
        );
      })}
    </tbody>
  </table>
);

const ChangeHead: FC<{ subject: string }> = ({ subject }) => (
  <thead>
    <tr>
      <th scope="col">{subject}</th>
      {["First", "Second", "Change"].map((name) => <th scope="col" class="number">{name}</th>)}
    </tr>
  </thead>
);

/** A link to a run. */
export const RunName: FC<{ run: OpenRun }> = ({ run }) => (
  <a href={runHref(run.file.name)}>
    <SafeText text={run.file.name} limit={100} />
  </a>
);

const Difference: FC<{ comparison: RunComparison }> = (
  { comparison: { difference, test, better, worse, same } },
) => (
  <>
    <div>
      <dt>Change of the mean reward</dt>
      <dd>
        {difference
          ? `${formatChange(difference.mean)} (${formatChange(difference.low)} to ${
            formatChange(difference.high)
          })`
          : "–"}
      </dd>
      {difference && (
        <dd class="note">
          {`95 %, paired over the tasks (${
            difference.method === "bootstrap" ? "bootstrap" : "normal approximation"
          })`}
        </dd>
      )}
    </div>
    <div>
      <dt>Tasks better, worse, same</dt>
      <dd>{`${formatNumber(better)}, ${formatNumber(worse)}, ${formatNumber(same)}`}</dd>
    </div>
    {test && (
      <div>
        <dt>McNemar's exact test</dt>
        <dd>{`p = ${test.p < 0.0001 ? test.p.toExponential(1) : formatNumber(test.p)}`}</dd>
        <dd class="note">
          {`samples solved only by the first: ${formatNumber(test.onlyFirst)}, only by the second: ${
            formatNumber(test.onlySecond)
          }`}
        </dd>
      </div>
    )}
  </>
);

function changeOf({ first, second }: ComparedTask): "better" | "worse" | "same" {
  return second > first ? "better" : second < first ? "worse" : "same";
}

function taskSearch({ task }: ComparedTask): string {
  return `?${new URLSearchParams({ task })}`;
}
