import type { FC } from "hono/jsx";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { BranchNode } from "../branch_tree.ts";
import type { DamagedRow, EpisodeView } from "../episode_view.ts";
import type { OpenRun } from "../run_store.ts";
import { episodeHref, formatBytes, formatMs, formatNumber, Page, Reward, runHref } from "./layout.tsx";
import { Chat } from "./messages.tsx";
import { Code, MOST_CHARACTERS, SafeText, SHOWN_CHARACTERS } from "./safe_text.tsx";
import { Tokens } from "./tokens.tsx";

/** Content of the page of an episode. */
export interface EpisodePageProps {
  readonly run: OpenRun;
  readonly row: number;
  readonly episode: EpisodeView | DamagedRow;
  /** Rows before and after it in the list that it was opened from. */
  readonly previous: number | undefined;
  readonly next: number | undefined;
  /** Query of that list, with `?`. */
  readonly search: string;
  readonly tree: BranchNode | undefined;
  readonly tokenizer: Tokenizer | undefined;
  /** Number of the first token that is shown. */
  readonly from: number;
  /** True to show all messages, and long texts. */
  readonly all: boolean;
}

/** The page of an episode: its end, its reward, the conversation and the tokens. */
export const EpisodePage: FC<EpisodePageProps> = (props) => {
  const { run: { table, file: { name } }, row, episode, search, tree } = props;
  const task = table.nameOf("task", row) || "(no task)";
  const title = `Episode ${row + 1}`;
  return (
    <Page
      title={`${title} of ${name}`}
      crumbs={[{ text: name, href: runHref(name) + search }, {
        text: title,
        href: episodeHref(name, row, search),
      }]}
    >
      <Neighbours {...props} />
      <h1>
        {`${title}: `}
        <SafeText text={task} limit={200} />
      </h1>
      {"fault" in episode ? <Damaged {...props} episode={episode} /> : (
        <>
          <Ending {...props} episode={episode} />
          {tree && (
            <section>
              <h2 id="branches">Branches</h2>
              <ul class="tree">
                <Branch node={tree} run={props.run} current={row} />
              </ul>
            </section>
          )}
          <h2 id="messages">Messages</h2>
          <Chat
            episode={episode}
            limit={props.all ? MOST_CHARACTERS : SHOWN_CHARACTERS}
            allHref={props.all ? undefined : withParameter(search, "all", "1")}
          />
          <h2 id="tokens">Tokens</h2>
          <Tokens
            episode={episode}
            tokenizer={props.tokenizer}
            from={props.from}
            hrefFrom={(from) => `${withParameter(search, "from", `${from}`)}#tokens`}
          />
          <Data title="Further data of the task" data={episode.taskData} />
          <Data title="Further data of the env" data={episode.info} />
        </>
      )}
      <p class="note">
        Keys: ← and → open the previous and the next episode, j and k go to the next and previous turn, r
        opens the raw JSON.
      </p>
    </Page>
  );
};

/** Returns the parameters of an address with one more. */
function withParameter(search: string, name: string, value: string): string {
  const parameters = new URLSearchParams(search);
  parameters.set(name, value);
  return `?${parameters}`;
}

const Neighbours: FC<EpisodePageProps> = (
  { run: { table, file: { name } }, row, previous, next, search, all },
) => (
  <nav class="actions" aria-label="Episode">
    {previous !== undefined && (
      <a rel="prev" href={episodeHref(name, previous, search)}>
        ← Previous episode
      </a>
    )}
    {next !== undefined && <a rel="next" href={episodeHref(name, next, search)}>Next episode →</a>}
    <a id="raw" href={runHref(name, "episodes", row + 1, "raw")}>
      {`Raw JSON (${formatBytes(table.columns.length[row] ?? 0)})`}
    </a>
    {!all && <a href={withParameter(search, "all", "1")}>Show long texts whole</a>}
  </nav>
);

const Damaged: FC<EpisodePageProps & { episode: DamagedRow }> = ({ episode }) => (
  <>
    <p class="bad">
      {"This line is no episode: "}
      <SafeText text={episode.fault} limit={2_000} />
    </p>
    <Code code={episode.beginning} language="json" />
  </>
);

const Ending: FC<EpisodePageProps & { episode: EpisodeView }> = ({ run: { table }, row, episode }) => {
  const { reward, rewardParts, unscored, times, errors, answer, facts } = episode;
  return (
    <>
      <dl class="figures">
        <div>
          <dt>Reward</dt>
          <dd>
            <Reward value={reward} />
          </dd>
        </div>
        <Fact name="End" value={table.endOf(row)} />
        <Fact name="Sample" value={`${table.columns.sample[row]}`} />
        <Fact name="Turns" value={formatNumber(episode.turns.length)} />
        <Fact
          name="Duration"
          value={`${formatMs(times.totalMs)} (policy ${formatMs(times.policyMs)}, env ${
            formatMs(times.envMs)
          })`}
        />
        {answer !== undefined && <Fact name="Answer" value={answer} />}
        {Object.entries(facts).map(([name, value]) => <Fact name={name} value={value} />)}
      </dl>
      {Object.keys(rewardParts).length > 0 && (
        <table class="parts">
          <caption>Parts of the reward</caption>
          <tbody>
            {Object.entries(rewardParts).slice(0, 100).map(([name, value]) => (
              <tr>
                <th scope="row">
                  <SafeText text={name} limit={100} />
                </th>
                <td class="number">{formatNumber(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {unscored !== undefined && (
        <p class="bad">
          {"Not scored: "}
          <SafeText text={unscored} limit={2_000} />
        </p>
      )}
      {errors.map(({ boundary, name, message }) => (
        <p class="bad">
          {"Failed at "}
          <SafeText text={`${boundary}: ${name}: ${message}`} limit={4_000} />
        </p>
      ))}
    </>
  );
};

const Fact: FC<{ name: string; value: string }> = ({ name, value }) => (
  <div>
    <dt>{name}</dt>
    <dd>
      <SafeText text={value} limit={200} />
    </dd>
  </div>
);

const Branch: FC<{ node: BranchNode; run: OpenRun; current: number }> = ({ node, run, current }) => (
  <li>
    <a
      href={`${episodeHref(run.file.name, node.row)}${node.turn > 0 ? `#turn-${node.turn}` : ""}`}
      aria-current={node.row === current ? "page" : undefined}
    >
      {`Episode ${node.row + 1}`}
    </a>
    {node.turn > 0 && ` from turn ${node.turn}`}
    {", reward "}
    <Reward value={run.table.columns.reward[node.row] ?? NaN} />
    {`, ${run.table.endOf(node.row)}`}
    {node.children.length > 0 && (
      <ul>{node.children.map((child) => <Branch node={child} run={run} current={current} />)}</ul>
    )}
  </li>
);

const Data: FC<{ title: string; data: Readonly<Record<string, unknown>> }> = ({ title, data }) =>
  Object.keys(data).length === 0 ? null : (
    <details>
      <summary>{title}</summary>
      <Code code={JSON.stringify(data, null, 2)} language="json" />
    </details>
  );
