import type { FC } from "hono/jsx";
import { messageLimits, rangeOf, toPlaceSearch } from "../episode/episode_place.ts";
import { type DamagedRow, type EpisodeView, turnsOfMessages } from "../episode/episode_view.ts";
import type { OpenRun } from "../run_store.ts";
import { RunName, taskHref } from "./compare_page.tsx";
import { formatMs, formatNumber } from "./format.ts";
import { BASE, episodeHref, Page, Reward } from "./layout.tsx";
import { Chat } from "./messages.tsx";
import { SafeText } from "./safe_text.tsx";

/** A run's episodes of the task, and the shown episode. */
export interface ComparedRun {
  readonly run: OpenRun;
  /** Rows of the task, by sample. */
  readonly rows: readonly number[];
  readonly row: number | undefined;
  readonly episode: EpisodeView | DamagedRow | undefined;
}

interface CompareTaskPageProps {
  readonly task: string;
  /** Number of the samples that are shown, from 1. */
  readonly sample: number;
  readonly first: ComparedRun;
  readonly second: ComparedRun;
}

/** Samples that are linked. */
const LINKED_SAMPLES = 64;

/** The episodes of a task in two runs, side by side. */
export const CompareTaskPage: FC<CompareTaskPageProps> = ({ task, sample, first, second }) => {
  const samples = Math.min(LINKED_SAMPLES, Math.max(first.rows.length, second.rows.length));
  const href = (number: number) => taskHref(first.run, second.run, task, number);
  const runs = new URLSearchParams([["run", first.run.file.name], ["run", second.run.file.name]]);
  return (
    <Page
      title="Compare"
      crumbs={[{ text: "Compare", href: `${BASE}/compare?${runs}` }, {
        text: task || "(no id)",
        href: href(1),
      }]}
    >
      <h1>
        {"Compare: "}
        <SafeText text={task || "(no id)"} limit={200} />
      </h1>
      {samples > 1 && (
        <nav class="actions" aria-label="Samples">
          {Array.from(
            { length: samples },
            (_, at) => (
              <a href={href(at + 1)} aria-current={at + 1 === sample ? "true" : undefined}>
                {`Sample ${at + 1}`}
              </a>
            ),
          )}
        </nav>
      )}
      <div class="side-by-side">
        <Side label="First" {...first} />
        <Side label="Second" {...second} />
      </div>
    </Page>
  );
};

const Side: FC<ComparedRun & { label: string }> = ({ label, run, row, episode }) => (
  <section aria-label={`${label} run`}>
    <h2>
      {`${label}: `}
      <RunName run={run} />
    </h2>
    {row === undefined || episode === undefined
      ? <p>The run has no such sample.</p>
      : <SideEpisode run={run} row={row} episode={episode} />}
  </section>
);

const SideEpisode: FC<{ run: OpenRun; row: number; episode: EpisodeView | DamagedRow }> = (
  { run: { table, file }, row, episode },
) => {
  const link = <a href={episodeHref(file.name, row)}>{`Episode ${row + 1}`}</a>;
  if ("fault" in episode) {
    return (
      <p class="bad">
        {link}
        {" cannot be shown: "}
        <SafeText text={episode.fault} limit={500} />
      </p>
    );
  }
  const place = { message: 0, token: 0, all: false };
  return (
    <>
      <p>
        {link}
        {", reward "}
        <Reward value={episode.reward} />
        {`, ${table.endOf(row)}, ${formatNumber(episode.turns.length)} turns, ${
          formatMs(episode.times.totalMs)
        }`}
      </p>
      {episode.errors.map(({ boundary, name, message }) => (
        <p class="bad">
          {"Failed at "}
          <SafeText text={`${boundary}: ${name}: ${message}`} limit={1_000} />
        </p>
      ))}
      <Chat
        episode={episode}
        limits={messageLimits(place)}
        range={rangeOf(place, { messages: episode.messages, turnOf: turnsOfMessages(episode) })}
        hrefFrom={(message) => episodeHref(file.name, row, toPlaceSearch("", { message }))}
        hasAnchors={false}
      />
    </>
  );
};
