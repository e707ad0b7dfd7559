import { run } from "../../../packaging/sources.ts";

/** Versions of the packages, which are fetched from npm. */
const PLAYWRIGHT = "npm:playwright-core@1.65.1";
const AXE = "npm:axe-core@4.14.1";

/** The part of Playwright's API that the checks use; its own types are not fetched for `deno check`. */
export interface Browser {
  newContext(options?: object): Promise<BrowserContext>;
  newPage(options?: object): Promise<BrowserPage>;
  close(): Promise<void>;
}

/** A context of pages with the same options. */
export interface BrowserContext {
  newPage(): Promise<BrowserPage>;
  close(): Promise<void>;
}

/** Elements of a page. */
export interface Locator {
  first(): Locator;
  click(): Promise<void>;
  check(): Promise<void>;
  count(): Promise<number>;
  fill(text: string): Promise<void>;
  innerText(): Promise<string>;
  selectOption(value: string): Promise<unknown>;
}

/** A page of the browser. */
export interface BrowserPage {
  readonly keyboard: { press(key: string): Promise<void> };
  goto(url: string): Promise<unknown>;
  url(): string;
  locator(selector: string): Locator;
  getByRole(role: string, options: { name: string | RegExp }): Locator;
  evaluate(expression: string): Promise<unknown>;
  waitForSelector(selector: string): Promise<unknown>;
  waitForURL(url: string): Promise<void>;
  screenshot(options: { path: string; fullPage: boolean }): Promise<Uint8Array>;
  addInitScript(script: { content: string }): Promise<void>;
  on(event: string, listener: (value: BrowserEvent) => void): void;
  close(): Promise<void>;
}

/** What Playwright reports: a message of the console, an error, a request or a dialog. */
interface BrowserEvent {
  text?(): string;
  type?(): string;
  url?(): string;
  readonly message?: unknown;
}

/**
 * Starts Chromium.
 *
 * @throws {Error} if it is not installed.
 */
export async function launchBrowser(): Promise<Browser> {
  const path = Deno.env.get("PADDOCK_CHROMIUM") ?? (await run("which", ["chromium"])).trim();
  const { chromium } = await import(PLAYWRIGHT);
  // Root has no sandbox in Chromium; the pages are this repository's.
  return await chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
}

/** Script that collects the layout shifts of a page since its start, except those that a click has caused. */
export const COUNT_SHIFTS = `
globalThis.layoutShifts = [];
new PerformanceObserver((list) => layoutShifts.push(
  ...list.getEntries().filter(({ hadRecentInput }) => !hadRecentInput).map(({ value }) => value),
))
  .observe({ type: "layout-shift", buffered: true });
`;

/** All faults that axe finds, of any impact. */
const AXE_FAULTS =
  `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] })
  .then(({ violations }) => violations.map(({ id, impact, nodes }) =>
    impact + " " + id + ": " + nodes.slice(0, 3).map(({ html, any }) =>
      html.slice(0, 200) + " " + (any[0]?.message ?? "")).join(" | ")))`;

/** Opens a page and returns its faults: errors, requests to other servers, layout shifts, faults of axe, side-scrolling. */
export async function checkPage(
  page: BrowserPage,
  url: string,
  { isError }: { isError: boolean },
): Promise<string[]> {
  const faults: string[] = [];
  const { origin } = new URL(url);
  page.on("console", (message) => {
    if (!isError || !message.text?.().startsWith("Failed to load resource")) {
      faults.push(`console: ${message.text?.()}`);
    }
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", () => faults.push("a dialog was opened"));
  page.on("request", (request) => {
    const target = request.url?.() ?? "";
    if (!target.startsWith(`${origin}/`) && !target.startsWith("data:")) faults.push(`request: ${target}`);
  });
  await page.addInitScript({ content: COUNT_SHIFTS });
  await page.goto(url);
  const shift = await page.evaluate("layoutShifts.reduce((sum, value) => sum + value, 0)");
  if (shift !== 0) faults.push(`layout shift ${shift}`);
  if (await page.evaluate("globalThis.attacked === true")) faults.push("a script of the content ran");
  const axe = await import(AXE);
  await page.evaluate(axe.default.source);
  for (const state of ["as it opens", "with its parts toggled"]) {
    if (await page.evaluate("document.documentElement.scrollWidth > innerWidth")) {
      faults.push(`${state}: scrolls to the side`);
    }
    const found = await page.evaluate(AXE_FAULTS) as string[];
    faults.push(...found.map((fault) => `${state}: ${fault}`));
    await page.evaluate("for (const part of document.querySelectorAll('details')) part.open = !part.open");
  }
  return faults;
}

/** Returns the size of a PNG in pixels. */
export function pngSize(png: Uint8Array): { width: number; height: number } {
  const view = new DataView(png.buffer, png.byteOffset, png.length);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}
