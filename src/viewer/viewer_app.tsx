import { type Context, Hono } from "hono";
import { readRunRecord, type RunRecord } from "../rollout/run_record.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import viewerScript from "./assets/viewer.js" with { type: "text" };
import episodeStyle from "./assets/episode.css" with { type: "text" };
import narrowStyle from "./assets/narrow.css" with { type: "text" };
import pageStyle from "./assets/page.css" with { type: "text" };
import plotsStyle from "./assets/plots.css" with { type: "text" };
import tablesStyle from "./assets/tables.css" with { type: "text" };
import { branchTreeOf } from "./episode/branch_tree.ts";
import { compareRuns, samplesOfTask } from "./compare_runs.ts";
import { type EpisodeQuery, filtersOf, pageOfRows, parseQuery, toSearch } from "./episode_query.ts";
import { parsePlace } from "./episode/episode_place.ts";
import { previewRows } from "./episode/episode_preview.ts";
import { readEpisode } from "./episode/episode_view.ts";
import { type Export, exportCsv, exportJsonLines } from "./export_rows.ts";
import { isLive, LiveEvents } from "./live_events.ts";
import { CHANGES, ComparePage } from "./pages/compare_page.tsx";
import { type ComparedRun, CompareTaskPage } from "./pages/compare_task_page.tsx";
import { EpisodePage } from "./pages/episode_page.tsx";
import { GroupsPage } from "./pages/groups_page.tsx";
import { BASE, MessagePage, renderPage, runHref } from "./pages/layout.tsx";
import { RunPage } from "./pages/run_page.tsx";
import { RunsPage } from "./pages/runs_page.tsx";
import type { RunFile, RunFolder } from "./run_folder.ts";
import { type ListedRun, parseRunQuery, type RunQuery, selectRuns } from "./run_list.ts";
import { type OpenRun, RunStore } from "./run_store.ts";
import { describeRows, type RunDetails } from "./run_summary.ts";
import { selectRows } from "./select_rows.ts";

/** Options of {@linkcode viewerApp}. */
export interface ViewerOptions {
  readonly folder: RunFolder;
  /** Decodes the tokens of episodes. */
  readonly tokenizer?: Tokenizer | undefined;
  /** Ends streams and reading. */
  readonly signal?: AbortSignal | undefined;
}

/** Milliseconds that a page waits for a file that is read; then the page shows the progress. */
const WAIT_MS = 1_500;
/** Milliseconds that the list of runs waits for all files. */
const LIST_WAIT_MS = 800;
/** Milliseconds that an export waits for a file that is read. */
const EXPORT_WAIT_MS = 10 * 60_000;

const STYLE = [pageStyle, tablesStyle, plotsStyle, episodeStyle, narrowStyle].join("");

/** Scripts and styles come from this server; nothing else is loaded, and forms are sent to this server. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** A file of episodes as the model wrote the file: a browser loads and runs nothing of the file. */
const DATA_HEADERS = { "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'" };

/**
 * Returns the pages of a folder of runs below `/runs`. The app only reads: every route is a GET, so a page of another
 * site can change nothing. The app checks neither a token nor the host name, which is the task of the surrounding
 * server.
 */
export function viewerApp({ folder, tokenizer, signal }: ViewerOptions): Hono {
  const store = new RunStore(folder, { signal });
  const live = new LiveEvents(store, { signal });
  const app = new Hono();
  app.use(`${BASE}/*`, async (c, next) => {
    await next();
    const { headers } = c.res;
    if (!headers.has("content-security-policy")) headers.set("content-security-policy", POLICY);
    if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
    headers.set("x-content-type-options", "nosniff");
    headers.set("referrer-policy", "same-origin");
    headers.set("cross-origin-opener-policy", "same-origin");
    headers.set("cross-origin-resource-policy", "same-origin");
  });
  app.get(`${BASE}/assets/viewer.css`, (c) => asset(c, STYLE, "text/css"));
  app.get(`${BASE}/assets/viewer.js`, (c) => asset(c, viewerScript, "text/javascript"));
  app.get(BASE, async (c) => c.html(await listRuns(store, parseRunQuery(parametersOf(c)))));
  app.get(`${BASE}/compare`, (c) => compare(c, store));
  app.get(`${BASE}/:run`, (c) =>
    withRun(c, store, async (run) => {
      const query = parseQuery(parametersOf(c));
      const { rows, details } = await describe(store, run, query);
      const list = pageOfRows(rows, query.page);
      const previews = query.texts ? await previewRows(run, list.shown) : new Map();
      const record = await recordOf(run);
      const page = (
        <RunPage {...{ run, query, details, previews, record, ...list, isLive: isLive(run.file) }} />
      );
      return c.html(renderPage(page));
    }));
  app.get(`${BASE}/:run/groups`, (c) =>
    withRun(c, store, async (run) => {
      const query = parseQuery(parametersOf(c));
      const { rows, details } = await describe(store, run, query);
      return c.html(renderPage(<GroupsPage run={run} query={query} rows={rows} details={details} />));
    }));
  app.get(`${BASE}/:run/events`, async (c) => {
    const file = await folder.find(c.req.param("run"));
    const events = file && live.open(file.name);
    if (events === undefined) return notFound(c, file ? "Too many pages follow runs." : NO_RUN);
    return c.body(events, 200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  });
  for (const [ending, { type, write }] of Object.entries(EXPORTS)) {
    app.get(`${BASE}/:run/export.${ending}`, (c) =>
      withRun(c, store, async (run) => {
        const rows = await selectRows(store, run, parseQuery(parametersOf(c)));
        return sendExport(c, write(run, rows), {
          "content-type": `${type}; charset=utf-8`,
          "content-disposition": `attachment; filename="episodes.${ending}"`,
        });
      }, EXPORT_WAIT_MS));
  }
  app.get(`${BASE}/:run/episodes/:episode`, (c) =>
    withRow(c, store, async (run, row) => {
      const parameters = parametersOf(c);
      const query = parseQuery(parameters);
      const rows = await selectRows(store, run, query);
      const place = rows.indexOf(row);
      const page = (
        <EpisodePage
          run={run}
          row={row}
          episode={await readEpisode(run, row)}
          previous={place > 0 ? rows[place - 1] : undefined}
          next={place >= 0 ? rows[place + 1] : undefined}
          search={toSearch({ ...query, texts: false })}
          tree={await store.derive(`tree\n${run.version}\n${row}`, () => branchTreeOf(run.table, row))}
          tokenizer={tokenizer}
          place={parsePlace(parameters)}
          marked={query.text}
        />
      );
      return c.html(renderPage(page));
    }));
  app.get(
    `${BASE}/:run/episodes/:episode/raw`,
    (c) =>
      withRow(c, store, (run, row) =>
        sendExport(c, exportJsonLines(run, Uint32Array.of(row)), {
          "content-type": "text/plain; charset=utf-8",
        })),
  );
  app.notFound((c) => notFound(c, "There is no such page."));
  return app;
}

const EXPORTS = {
  jsonl: { type: "application/jsonl", write: exportJsonLines },
  csv: { type: "text/csv", write: exportCsv },
} as const;

function sendExport(c: Context, { body, bytes }: Export, headers: Record<string, string>): Response {
  const length = bytes === undefined ? undefined : { "content-length": `${bytes}` };
  return c.body(body, 200, { ...headers, ...length, ...DATA_HEADERS });
}

const NO_RUN = "The folder has no such run.";

async function listRuns(store: RunStore, query: RunQuery): Promise<string> {
  const { runs: files, isComplete } = await store.folder.list();
  const runs = await Promise.all(files.map((file) => describeRun(store, file)));
  const isReading = runs.some(({ summary, note }) => summary === undefined && note === READING);
  const total = runs.length;
  return renderPage(<RunsPage {...{ runs: selectRuns(runs, query), query, total, isComplete, isReading }} />);
}

const READING = "reading …";

async function describeRun(store: RunStore, file: RunFile): Promise<ListedRun> {
  const run = await store.open(file, LIST_WAIT_MS);
  if ("share" in run) return { file, note: READING };
  if ("fault" in run) return { file, note: "cannot be read" };
  return { file, summary: store.summaryOf(run) };
}

async function describe(
  store: RunStore,
  run: OpenRun,
  query: EpisodeQuery,
): Promise<{ rows: Uint32Array; details: RunDetails }> {
  const rows = await selectRows(store, run, query);
  const key = `details\n${run.version}\n${JSON.stringify(filtersOf(query))}`;
  return { rows, details: await store.derive(key, () => describeRows(run.table, rows)) };
}

async function compare(c: Context, store: RunStore): Promise<Response> {
  const names = c.req.queries("run") ?? [];
  if (names.length !== 2) {
    return c.html(
      renderPage(
        <MessagePage
          title="Compare"
          text={`Select two runs in the list to compare them. Selected: ${names.length}.`}
        />,
      ),
      400,
    );
  }
  const files = await Promise.all(names.map((name) => store.folder.find(name)));
  const [firstFile, secondFile] = files;
  if (firstFile === undefined || secondFile === undefined) return notFound(c, NO_RUN);
  const first = await store.open(firstFile, WAIT_MS);
  const second = await store.open(secondFile, WAIT_MS);
  if (!("table" in first)) return stillReading(c, first);
  if (!("table" in second)) return stillReading(c, second);
  const task = c.req.query("task");
  if (task !== undefined) {
    const sample = Math.max(1, Math.floor(Number(c.req.query("sample")) || 1));
    const [one, other] = await Promise.all([first, second].map((run) => sampleOf(run, task, sample)));
    if (one === undefined || other === undefined) return notFound(c, NO_RUN);
    return c.html(renderPage(<CompareTaskPage task={task} sample={sample} first={one} second={other} />));
  }
  const key = `compare\n${first.version}\n${second.version}`;
  const comparison = await store.derive(key, () => compareRuns(first.table, second.table));
  const change = CHANGES.find((name) => name === c.req.query("change")) ?? "all";
  const { page } = parseQuery(parametersOf(c));
  const records = (await Promise.all([first, second].map(recordOf))).map((record) => record?.runs.at(-1));
  return c.html(renderPage(<ComparePage {...{ first, second, comparison, change, page, records }} />));
}

/** Returns the record of a run; `undefined` if unknown. */
async function recordOf({ file }: OpenRun): Promise<RunRecord | undefined> {
  try {
    return await readRunRecord(file.path);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined; // a damaged record says nothing about the episodes
  }
}

async function sampleOf(run: OpenRun, task: string, sample: number): Promise<ComparedRun> {
  const rows = samplesOfTask(run.table, task);
  const row = rows[sample - 1];
  return { run, rows, row, episode: row === undefined ? undefined : await readEpisode(run, row) };
}

/** Calls a handler with the run of the address, or says why the run cannot be shown yet. */
async function withRun(
  c: Context,
  store: RunStore,
  handle: (run: OpenRun) => Response | Promise<Response>,
  waitMs = WAIT_MS,
): Promise<Response> {
  const file = await store.folder.find(c.req.param("run") ?? "");
  if (file === undefined) return notFound(c, NO_RUN);
  const run = await store.open(file, waitMs);
  return "table" in run ? await handle(run) : stillReading(c, run);
}

async function withRow(
  c: Context,
  store: RunStore,
  handle: (run: OpenRun, row: number) => Response | Promise<Response>,
): Promise<Response> {
  return await withRun(c, store, async (run) => {
    const number = c.req.param("episode") ?? "";
    const row = /^[1-9]\d{0,9}$/.test(number) ? Number(number) - 1 : -1;
    return row >= 0 && row < run.table.count
      ? await handle(run, row)
      : notFound(c, "The run has no such episode.");
  });
}

function stillReading(
  c: Context,
  run: { file: RunFile; share: number } | { file: RunFile; fault: string },
): Response {
  const crumbs = [{ text: run.file.name, href: runHref(run.file.name) }];
  if ("fault" in run) {
    return c.html(
      renderPage(<MessagePage title="Cannot read the run" crumbs={crumbs} text={run.fault} />),
      500,
    );
  }
  const text = `${Math.round(run.share * 100)} % of the file is read. The page is loaded again every second.`;
  return c.html(
    renderPage(<MessagePage title="Reading the run" crumbs={crumbs} refreshSeconds={1} text={text} />),
    202,
  );
}

function notFound(c: Context, text: string): Response {
  return c.html(renderPage(<MessagePage title="Not found" text={text} />), 404);
}

function asset(c: Context, text: string, type: string): Response {
  return c.body(text, 200, { "content-type": `${type}; charset=utf-8`, "cache-control": "max-age=60" });
}

function parametersOf(c: Context): URLSearchParams {
  return new URL(c.req.url).searchParams;
}
