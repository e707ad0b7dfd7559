import type { FC } from "hono/jsx";
import type { EpisodePreview } from "../episode/episode_preview.ts";
import { type EpisodeQuery, type SortName, toSearch } from "../episode_query.ts";
import { COLUMN_ENTRIES } from "../index/episode_columns.ts";
import type { EpisodeTable } from "../index/episode_table.ts";
import { MAX_PARSED_BYTES } from "../index/run_index.ts";
import type { OpenRun } from "../run_store.ts";
import { formatBytes, formatKnown, formatMs, formatNumber } from "./format.ts";
import { episodeHref, Pager, Reward, runHref } from "./layout.tsx";
import { MarkedText, SafeText } from "./safe_text.tsx";

/** Content of a page of the list of episodes. */
export interface EpisodeListProps {
  readonly run: OpenRun;
  readonly query: EpisodeQuery;
  /** Rows of the page. */
  readonly shown: Uint32Array;
  readonly page: number;
  readonly pages: number;
  /** Texts of the rows; empty if they are not shown. */
  readonly previews: ReadonlyMap<number, EpisodePreview>;
}

/** Columns of numbers behind those that have cells of their own. */
const NUMBERS = COLUMN_ENTRIES.flatMap(([name, { list, sort }]) =>
  list ? [{ name, ...list, sort: sort?.parameter as SortName | undefined }] : []
);
const COLUMNS = 6 + NUMBERS.length;
const FORMATS = { number: formatNumber, known: formatKnown, ms: formatMs };

/** A page of the episodes of a run, with their texts if the query asks for them. */
export const EpisodeList: FC<EpisodeListProps> = ({ run, query, shown, page, pages, previews }) => {
  const { table, file: { name } } = run;
  const search = toSearch(query, { page: 1, texts: false });
  if (shown.length === 0) return <p>No episode matches.</p>;
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
              {NUMBERS.map(({ heading, sort }) =>
                sort === undefined
                  ? <th scope="col" class="number">{heading}</th>
                  : <SortHead name={name} query={query} sort={sort} text={heading} />
              )}
            </tr>
          </thead>
          <tbody>
            <MarkedText.Provider value={query.text}>
              <Rows {...{ table, name, search, shown, previews }} />
            </MarkedText.Provider>
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

interface RowsProps extends Pick<EpisodeListProps, "shown" | "previews"> {
  readonly table: EpisodeTable;
  readonly name: string;
  readonly search: string;
}

const Rows: FC<RowsProps> = ({ table, name, search, shown, previews }) => (
  <>
    {Array.from(shown, (row) => (
      <>
        <EpisodeRow table={table} row={row} href={episodeHref(name, row, search)} />
        {previews.has(row) && <PreviewRow preview={previews.get(row)} />}
      </>
    ))}
  </>
);

const EpisodeRow: FC<{ table: EpisodeTable; row: number; href: string }> = ({ table, row, href }) => {
  const { columns } = table;
  const boundary = table.nameOf("boundary", row);
  const branchTurn = columns.branchTurn[row] ?? 0;
  return (
    <tr>
      <td class="number">
        <a href={href}>{`${row + 1}`}</a>
      </td>
      <th scope="row">
        <SafeText text={table.nameOf("task", row)} limit={80} />
      </th>
      <td class="number">
        <Reward value={columns.reward[row] ?? NaN} />
      </td>
      <td class="number">
        {columns.sample[row]}
        {branchTurn > 0 && <span class="interval">{`branch of turn ${formatNumber(branchTurn)}`}</span>}
      </td>
      <td>
        {(columns.length[row] ?? 0) > MAX_PARSED_BYTES
          ? `too large (${formatBytes(columns.length[row] ?? 0)})`
          : table.endOf(row)}
        {boundary !== "" && (
          <>
            {" at "}
            <SafeText text={boundary} limit={40} />
          </>
        )}
      </td>
      <td>
        <SafeText text={table.setOf("statuses", row).join(", ")} limit={60} />
      </td>
      {NUMBERS.map(({ name, format }) => <td class="number">{FORMATS[format](columns[name][row] ?? 0)}</td>)}
    </tr>
  );
};

const PreviewRow: FC<{ preview: EpisodePreview | undefined }> = ({ preview }) =>
  preview === undefined ? null : (
    <tr class="preview">
      <td></td>
      <td colspan={COLUMNS - 1}>
        <Preview name="Question" text={preview.question} />
        <Preview name="Last reply" text={preview.reply} />
        {preview.answer !== undefined && <Preview name="Answer" text={preview.answer} />}
      </td>
    </tr>
  );

const Preview: FC<{ name: string; text: string }> = ({ name, text }) => (
  <p class="prose">
    <span class="note">{`${name}: `}</span>
    <SafeText text={text} />
  </p>
);

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
