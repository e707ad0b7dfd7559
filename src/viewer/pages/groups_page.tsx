import type { FC } from "hono/jsx";
import { type EpisodeQuery, pageOfRows, toSearch } from "../episode_query.ts";
import { samplesOfGroups } from "../groups.ts";
import type { OpenRun } from "../run_store.ts";
import type { RunDetails } from "../run_summary.ts";
import { passAt } from "../statistics.ts";
import { formatNumber } from "./format.ts";
import { episodeHref, Page, Pager, Reward, runHref } from "./layout.tsx";
import { SafeText } from "./safe_text.tsx";

/** Content of the page of groups. */
export interface GroupsPageProps {
  readonly run: OpenRun;
  readonly query: EpisodeQuery;
  /** Rows of the query. */
  readonly rows: Uint32Array;
  readonly details: RunDetails;
}

/** The groups of samples of the same task, the hardest first. */
export const GroupsPage: FC<GroupsPageProps> = ({ run, query, rows, details: { groups, passRates } }) => {
  const { table, file: { name } } = run;
  const { names, episodes, scored, right, sums } = groups;
  const meanOf = (at: number) => (sums[at] ?? 0) / (scored[at] ?? 0);
  const order = Array.from(names.keys()).sort((one, other) => {
    const [first, second] = [meanOf(one), meanOf(other)];
    return Number.isNaN(first) || Number.isNaN(second)
      ? Number(Number.isNaN(first)) - Number(Number.isNaN(second))
      : first - second;
  });
  const sizes = passRates.map(({ k }) => k);
  const { shown, page, pages } = pageOfRows(order, query.page);
  const samples = samplesOfGroups(table, rows, shown.map((at) => names[at] ?? 0));
  return (
    <Page
      title={`Groups of ${name}`}
      crumbs={[{ text: name, href: runHref(name) }, { text: "Groups", href: runHref(name, "groups") }]}
    >
      <h1>Groups</h1>
      <p>
        {`${
          formatNumber(order.length)
        } groups, the lowest mean reward first. pass@n is the estimate of the probability that one of n samples has a reward of 1 or more.`}
      </p>
      <div class="scroll" tabindex={0} role="region" aria-label="Groups">
        <table>
          <thead>
            <tr>
              <th scope="col">Group</th>
              <th scope="col">Rewards of the samples</th>
              <th scope="col" class="number">Episodes</th>
              <th scope="col" class="number">Right</th>
              <th scope="col" class="number">Mean reward</th>
              {sizes.map((k) => <th scope="col" class="number">{`pass@${k}`}</th>)}
            </tr>
          </thead>
          <tbody>
            {shown.map((at) => {
              const group = table.names.nameOf(names[at] ?? 0);
              const [count, rightCount] = [scored[at] ?? 0, right[at] ?? 0];
              return (
                <tr>
                  <th scope="row">
                    <a href={`${runHref(name)}?${new URLSearchParams({ group })}#episodes`}>
                      <SafeText text={group || "(no name)"} limit={100} />
                    </a>
                  </th>
                  <td class="samples">
                    {(samples.get(names[at] ?? 0) ?? []).map((row) => (
                      <a href={episodeHref(name, row, `?${new URLSearchParams({ group })}`)}>
                        <Reward value={table.columns.reward[row] ?? NaN} />
                      </a>
                    ))}
                  </td>
                  <td class="number">{episodes[at]}</td>
                  <td class="number">{`${rightCount} of ${count}`}</td>
                  <td class="number">{formatNumber(meanOf(at))}</td>
                  {sizes.map((k) => (
                    <td class="number">
                      {k > count ? "–" : formatNumber(passAt(k, { count, right: rightCount }))}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <Pager
        href={(to) => runHref(name, "groups") + toSearch(query, { page: to })}
        page={page}
        pages={pages}
      />
    </Page>
  );
};
