import type { Child, FC } from "hono/jsx";
import { plainLabel, SafeText } from "./safe_text.tsx";

/** Path below which the viewer is served. */
export const BASE = "/runs";

/** A link in the path to a page. */
export interface Crumb {
  readonly text: string;
  readonly href: string;
}

interface PageProps {
  readonly title: string;
  /** Pages above this one. */
  readonly crumbs?: readonly Crumb[];
  /** Seconds after which the page is loaded again, while a file is read. */
  readonly refreshSeconds?: number;
  readonly children?: Child;
}

/** A whole page. */
export const Page: FC<PageProps> = ({ title, crumbs = [], refreshSeconds, children }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      {refreshSeconds !== undefined && <meta http-equiv="refresh" content={`${refreshSeconds}`} />}
      <title>{`${plainLabel(title)} · Paddock`}</title>
      <link rel="icon" href="data:," />
      <link rel="stylesheet" href={`${BASE}/assets/viewer.css`} />
      <script src={`${BASE}/assets/viewer.js`} defer></script>
    </head>
    <body>
      <a class="skip" href="#main">Skip to the content</a>
      <header>
        <nav aria-label="Path">
          <a class="brand" href={BASE}>Paddock runs</a>
          {crumbs.map(({ text, href }) => (
            <>
              <span aria-hidden="true">/</span>
              <a href={href}>
                <SafeText text={text} limit={80} />
              </a>
            </>
          ))}
        </nav>
      </header>
      <main id="main" tabindex={-1}>{children}</main>
    </body>
  </html>
);

/** Returns the HTML of a page. */
export function renderPage(page: ReturnType<typeof Page>): string {
  return `<!DOCTYPE html>${page}`;
}

/** A page that says why there is nothing else. */
export const MessagePage: FC<Omit<PageProps, "children"> & { text: string }> = ({ text, ...page }) => (
  <Page {...page}>
    <h1>{plainLabel(page.title)}</h1>
    <p>
      <SafeText text={text} />
    </p>
  </Page>
);

/** Returns the address of a run, or of a page below it. */
export function runHref(run: string, ...below: readonly (string | number)[]): string {
  return [BASE, run, ...below].map((part, at) =>
    at === 0 ? part : encodeURIComponent(`${part}`.toWellFormed())
  ).join("/");
}

/** Returns the address of an episode. */
export function episodeHref(run: string, row: number, search = ""): string {
  return runHref(run, "episodes", row + 1) + search;
}

/** Formats a number with at most four decimal places; an en dash for none. */
export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) >= 100 ? 1 : 4 });
}

/** Formats a change with its sign. */
export function formatChange(value: number): string {
  return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${formatNumber(Math.abs(value))}`;
}

/** Formats a duration. */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 100_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 120
    ? `${minutes} min ${Math.round(ms / 1_000) % 60} s`
    : `${(ms / 3_600_000).toFixed(1)} h`;
}

/** Formats a size. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${formatNumber(Math.round(bytes / 1024 ** power * 10) / 10)} ${units[power]}`;
}

/** A time, in UTC. */
export const Time: FC<{ date: Date }> = ({ date }) => {
  const text = date.toISOString();
  return <time datetime={text}>{`${text.slice(0, 10)} ${text.slice(11, 16)} UTC`}</time>;
};

/** A mark of the reward of an episode. */
export const Reward: FC<{ value: number | null }> = ({ value }) => {
  const kind = value === null || Number.isNaN(value)
    ? "none"
    : value >= 1
    ? "right"
    : value > 0
    ? "part"
    : "wrong";
  return <span class={`reward ${kind}`}>{formatNumber(value)}</span>;
};
