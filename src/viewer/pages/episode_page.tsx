import type { FC } from "hono/jsx";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { BranchNode } from "../episode/branch_tree.ts";
import { type EpisodePlace, messageLimits, rangeOf, toPlaceSearch } from "../episode/episode_place.ts";
import {
  type CallView,
  type DamagedRow,
  type EpisodeView,
  turnsOfMessages,
} from "../episode/episode_view.ts";
import type { OpenRun } from "../run_store.ts";
import { formatBytes, formatMs, formatNumber } from "./format.ts";
import { episodeHref, Page, Reward, runHref } from "./layout.tsx";
import { Chat } from "./messages.tsx";
import { TurnTimes } from "./plots.tsx";
import { Code, MarkedText, SafeText } from "./safe_text.tsx";
import { Tokens } from "./tokens.tsx";

/** Content of the page of an episode. */
export interface EpisodePageProps {
  readonly run: OpenRun;
  readonly row: number;
  readonly episode: EpisodeView | DamagedRow;
  /** Rows before and after the episode in the list from which the episode was opened. */
  readonly previous: number | undefined;
  readonly next: number | undefined;
  /** Query of that list, with `?`. */
  readonly search: string;
  readonly tree: BranchNode | undefined;
  readonly tokenizer: Tokenizer | undefined;
  /** What of the episode is shown. */
  readonly place: EpisodePlace;
  /** Text that is marked. */
  readonly marked: string | undefined;
}

/** The page of an episode: the end, the reward, the conversation and the tokens. */
export const EpisodePage: FC<EpisodePageProps> = (props) => {
  const { run: { table, file: { name } }, row, search } = props;
  const task = table.nameOf("task", row);
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
        {title}
        {task !== "" && (
          <>
            {": "}
            <SafeText text={task} limit={200} />
          </>
        )}
      </h1>
      <MarkedText.Provider value={props.marked}>
        <Content {...props} />
      </MarkedText.Provider>
      <p class="note">
        Keys: ← and → open the previous and the next episode, j and k go to the next and previous turn, c
        copies the text of the turn, e unfolds or folds all parts, r opens the raw JSON.
      </p>
      <p class="note" id="key-status" role="status"></p>
    </Page>
  );
};

const Content: FC<EpisodePageProps> = ({ episode, ...props }) => {
  if ("fault" in episode) return <Damaged episode={episode} />;
  const { place, search, tree, tokenizer } = props;
  const turnOf = turnsOfMessages(episode);
  const range = rangeOf(place, { messages: episode.messages, turnOf });
  const href = (change: Partial<EpisodePlace>) => toPlaceSearch(search, { all: place.all, ...change });
  const shownTurns = new Set(
    [...turnOf].filter(([at]) => at >= range.from && at < range.to).map(([, turn]) => turn),
  );
  const turnHref = (turn: number) =>
    shownTurns.has(turn) ? `#turn-${turn}` : `${href({ turn })}#turn-${turn}`;
  return (
    <>
      <Ending {...props} episode={episode} />
      {tree && (
        <section>
          <h2 id="branches">Branches</h2>
          <ul class="tree">
            <Branch node={tree} run={props.run} current={props.row} />
          </ul>
        </section>
      )}
      {episode.turns.length > 1 && <Turns episode={episode} turnHref={turnHref} />}
      <h2 id="messages">Messages</h2>
      <Chat
        episode={episode}
        limits={messageLimits(place)}
        range={range}
        hrefFrom={(message) => `${href({ message })}#messages`}
      />
      <h2 id="tokens">Tokens</h2>
      <Tokens
        episode={episode}
        tokenizer={tokenizer}
        from={place.token}
        hrefFrom={(token) => `${href({ token, message: range.from })}#tokens`}
        turnHref={turnHref}
      />
      <Data title="Further data of the task" data={episode.taskData} />
      <Data title="Further data of the env" data={episode.info} />
    </>
  );
};

/** Turns in the plot of their times. */
const PLOTTED_TURNS = 200;

const Turns: FC<{ episode: EpisodeView; turnHref: (turn: number) => string }> = ({ episode, turnHref }) => {
  const calls = Map.groupBy(episode.calls, ({ turn }) => turn);
  const plotted = episode.turns.slice(0, PLOTTED_TURNS);
  const left = episode.turns.length - plotted.length;
  return (
    <section>
      <h2 id="turns">Turns</h2>
      <div class="plots single">
        <TurnTimes
          turns={plotted.map(({ turn, policyMs, envMs, usage, reward, notRun }) => ({
            turn,
            policyMs,
            envMs: envMs ?? 0,
            cells: [
              formatNumber(usage?.promptTokens),
              formatNumber(usage?.replyTokens),
              formatNumber(reward),
              <SafeText text={toolsText(calls.get(turn), notRun)} limit={120} />,
            ],
          }))}
          columns={["Prompt tokens", "Reply tokens", "Reward", "Tools"]}
          hrefOf={turnHref}
        />
      </div>
      {left > 0 && (
        <p class="note">{`The first ${PLOTTED_TURNS} turns; ${formatNumber(left)} more follow.`}</p>
      )}
    </section>
  );
};

/** Returns the statuses of the calls of a turn, and the turn's blocks that were not run. */
function toolsText(calls: readonly CallView[] = [], notRun: string | undefined): string {
  return [...calls.map(({ status }) => status), ...(notRun === undefined ? [] : [`not run: ${notRun}`])].join(
    ", ",
  );
}

const Neighbours: FC<EpisodePageProps> = (
  { run: { table, file: { name } }, row, previous, next, search, place },
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
    <a href={toPlaceSearch(search, { all: !place.all, message: place.message })}>
      {place.all ? "Cut long texts" : "Show long texts"}
    </a>
  </nav>
);

const Damaged: FC<{ episode: DamagedRow }> = ({ episode }) => (
  <>
    <p class="bad">
      {"This line cannot be shown as an episode: "}
      <SafeText text={episode.fault} limit={2_000} />
    </p>
    <Code code={episode.beginning} language="json" />
  </>
);

/** Failures of an episode that are shown; a row for a trainer may have several. */
const SHOWN_ERRORS = 20;

const Ending: FC<{ run: OpenRun; row: number; episode: EpisodeView }> = (
  { run: { table }, row, episode },
) => {
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
      {errors.slice(0, SHOWN_ERRORS).map(({ boundary, name, message }) => (
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
      href={episodeHref(run.file.name, node.row) +
        (node.turn > 0 ? `${toPlaceSearch("", { turn: node.turn })}#turn-${node.turn}` : "")}
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
