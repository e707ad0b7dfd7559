import type { Child, FC } from "hono/jsx";
import { formatNumber } from "./format.ts";
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
  /** Pages above this page. */
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

/** Returns the address of a run, or of a page below the run. */
export function runHref(run: string, ...below: readonly (string | number)[]): string {
  return [BASE, run, ...below].map((part, at) =>
    at === 0 ? part : encodeURIComponent(`${part}`.toWellFormed())
  ).join("/");
}

/** Returns the address of an episode. */
export function episodeHref(run: string, row: number, search = ""): string {
  return runHref(run, "episodes", row + 1) + search;
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

/** Links to other pages of a list. */
export const Pager: FC<{ href: (page: number) => string; page: number; pages: number }> = (
  { href, page, pages },
) => (
  <nav class="pager" aria-label="Pages">
    {page > 1 && <a href={href(1)}>First</a>}
    {page > 1 && <a href={href(page - 1)} rel="prev">Previous page</a>}
    <span>{`Page ${formatNumber(page)} of ${formatNumber(pages)}`}</span>
    {page < pages && <a href={href(page + 1)} rel="next">Next page</a>}
    {page < pages && <a href={href(pages)}>Last</a>}
  </nav>
);
