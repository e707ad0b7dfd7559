/**
 * Opens each page of the viewer in headless Chromium: wide and narrow, light and dark. `deno task browser` runs it; it
 * fetches playwright-core and axe-core from npm, and needs Debian's `chromium`. Screenshots are in `dist/browser`.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { HttpServer } from "../../../src/server/http/http_server.ts";
import { viewerServer } from "../../../src/server/viewer_server.ts";
import { RunFolder } from "../../../src/viewer/run_folder.ts";
import { byteTokenizer } from "../../byte_tokenizer.ts";
import { TempFolder } from "../../temp_folder.ts";
import { rowOf } from "../saved_rows.ts";
import {
  type Browser,
  type BrowserPage,
  checkPage,
  COUNT_SHIFTS,
  launchBrowser,
  pngSize,
} from "./chromium.ts";
import { writeRuns } from "./browser_runs.ts";

const SCREENSHOTS = decodeURIComponent(new URL("../../../dist/browser", import.meta.url).pathname);

const PAGES: Readonly<Record<string, string>> = {
  runs: "/runs",
  found: "/runs?find=qwen&sort=reward&order=desc",
  run: "/runs/baseline.jsonl",
  filtered: "/runs/baseline.jsonl?reward=wrong&tool=error&sort=time&order=desc",
  empty: "/runs/baseline.jsonl?text=nowhere",
  texts: "/runs/baseline.jsonl?text=42&texts=1&min=1",
  numbers: "/runs/numbers.jsonl",
  groups: "/runs/baseline.jsonl/groups",
  episode: "/runs/full.jsonl/episodes/1",
  branches: "/runs/full.jsonl/episodes/3",
  "long-end": "/runs/long.jsonl/episodes/1?turn=400",
  damaged: "/runs/full.jsonl/episodes/5",
  compare: "/runs/compare?run=baseline.jsonl&run=trained%2Fstep-200.jsonl",
  "compare-task": "/runs/compare?run=baseline.jsonl&run=trained%2Fstep-200.jsonl&task=task-3&sample=2",
  "compare-one": "/runs/compare?run=baseline.jsonl",
  hostile: "/runs/hostile.jsonl/episodes/1",
  "hostile-run": "/runs/hostile.jsonl",
  missing: "/runs/none.jsonl",
};

/** Pages that are errors, which the browser reports in its console. */
const ERROR_PAGES: ReadonlySet<string> = new Set(["compare-one", "missing"]);

const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 375, height: 740 } };
const SCHEMES = ["light", "dark"] as const;

interface Opened {
  readonly url: string;
  readonly folder: TempFolder;
  readonly browser: Browser;
}

/** Calls a check with a browser and a server of the example runs. */
async function withViewer(check: (opened: Opened) => Promise<void>): Promise<void> {
  await using folder = await TempFolder.of();
  await writeRuns(folder.path);
  const stop = new AbortController();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const runs = await RunFolder.open(folder.path);
  const handler = viewerServer({
    folder: runs,
    hosts: ["127.0.0.1"],
    tokenizer: byteTokenizer(),
    signal: stop.signal,
    onError,
  });
  const options = { hostname: "127.0.0.1", port: 0, onError, onGraceOver: () => Promise.resolve() };
  await using server = await HttpServer.listen(handler, options);
  const browser = await launchBrowser();
  try {
    await check({ url: `http://127.0.0.1:${server.port}`, folder, browser });
  } finally {
    await browser.close();
    stop.abort();
  }
  assertEquals(errors, []);
}

// Playwright keeps timers and a process beyond a test.
const test = (name: string, check: (opened: Opened) => Promise<void>) =>
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false, fn: () => withViewer(check) });

test("each page has no error, no layout jump and no fault of axe, folded and unfolded, in all sizes and colours", async ({ browser, url }) => {
  await Deno.mkdir(SCREENSHOTS, { recursive: true });
  const faults: string[] = [];
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({ viewport, colorScheme });
      for (const [name, path] of Object.entries(PAGES)) {
        const page = await context.newPage();
        const found = await checkPage(page, url + path, { isError: ERROR_PAGES.has(name) });
        const shot = await page.screenshot({
          fullPage: true,
          path: join(SCREENSHOTS, `${name}-${size}-${colorScheme}.png`),
        });
        faults.push(...found.map((fault) => `${name}, ${size}, ${colorScheme}: ${fault}`));
        const { width, height } = pngSize(shot);
        const isWhole = width === viewport.width && height >= viewport.height && height < 12_000;
        if (!isWhole || shot.length < 4_000) {
          faults.push(
            `${name}, ${size}: the picture has ${width} × ${height} pixels and ${shot.length} bytes`,
          );
        }
        await page.close();
      }
      await context.close();
    }
  }
  assertEquals(faults, []);
});

test("every page works without JavaScript, and forms filter and compare", async ({ browser, url }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  for (const [name, path] of Object.entries(PAGES)) {
    await page.goto(url + path);
    assert((await page.locator("h1").innerText()).length > 0, name);
  }
  await page.goto(`${url}/runs/baseline.jsonl`);
  await page.locator("select[name=reward]").selectOption("wrong");
  await page.locator("input[name=task]").fill("task-3");
  await page.getByRole("button", { name: "Apply" }).click();
  assertStringIncludes(page.url(), "reward=wrong");
  assertEquals(await page.locator("#live-episodes tbody tr").count(), 1);
  await page.locator("#live-episodes tbody a").first().click();
  assertStringIncludes(await page.locator("h1").innerText(), "task-3");
  await page.goto(`${url}/runs`);
  await page.locator('input[value="baseline.jsonl"]').check();
  await page.locator('input[value="trained/step-200.jsonl"]').check();
  await page.getByRole("button", { name: /Compare/ }).click();
  assertStringIncludes(await page.locator("main").innerText(), "McNemar");
  await context.close();
});

test("the keyboard alone selects runs, opens episodes and turns, and reaches the raw line", async ({ browser, url }) => {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  await page.goto(`${url}/runs`);
  await page.keyboard.press("Tab");
  assertEquals(await focusedText(page), "Skip to the content");
  await page.keyboard.press("Enter");
  for (let selected = 0; selected < 2;) {
    await page.keyboard.press("Tab");
    if (!await page.evaluate("document.activeElement.matches('[value^=baseline], [value^=trained]')")) {
      continue;
    }
    await page.keyboard.press("Space");
    selected++;
  }
  assertEquals(await page.locator("input[name=run]:disabled").count(), 5); // only two can be compared
  await page.keyboard.press("Enter");
  await page.waitForURL("**/compare?**");
  await page.goto(`${url}/runs/full.jsonl/episodes/1`);
  assertEquals(await page.evaluate("document.querySelector('.picture').naturalWidth"), 48); // its image is drawn
  await page.keyboard.press("j");
  assertEquals(await page.evaluate("document.activeElement.id"), "turn-1");
  await page.keyboard.press("j");
  assertEquals(await page.evaluate("document.activeElement.id"), "turn-2");
  await page.keyboard.press("k");
  assertEquals(await page.evaluate("document.activeElement.id"), "turn-1");
  await page.keyboard.press("c");
  await page.waitForSelector("#key-status:has-text('Copied turn 1.')");
  assertStringIncludes(await page.evaluate("navigator.clipboard.readText()") as string, "return math.pi");
  await page.keyboard.press("e");
  assertEquals(await page.locator("main details:not([open])").count(), 0);
  await page.keyboard.press("e");
  assertEquals(await page.locator("main details[open]").count(), 0);
  await page.keyboard.press("ArrowRight");
  await page.waitForURL("**/episodes/2");
  await page.keyboard.press("ArrowLeft");
  await page.waitForURL("**/episodes/1");
  await page.keyboard.press("r");
  await page.waitForURL("**/episodes/1/raw");
  assertStringIncludes(await page.locator("body").innerText(), `"circle/area"`);
  await context.close();
});

test("a live run shows new episodes without a reload, and keeps what the reader has opened", async ({ browser, url, folder }) => {
  const page = await browser.newPage();
  await page.addInitScript({ content: COUNT_SHIFTS });
  await page.goto(`${url}/runs/live.jsonl`);
  await page.waitForSelector("#live-status:has-text('4 episodes')");
  await page.locator("summary").first().click();
  await page.evaluate("globalThis.isSamePage = true");
  await Deno.writeTextFile(join(folder.path, "live.jsonl"), `${rowOf({ id: "arrived" })}\n`, {
    append: true,
  });
  await page.waitForSelector("#live-status:has-text('5 episodes')");
  await page.waitForSelector("#live-episodes:has-text('arrived')");
  assertEquals(await page.evaluate("globalThis.isSamePage"), true);
  assertEquals(await page.locator("details[open]").count(), 1);
  assertEquals(await page.evaluate("layoutShifts.length"), 0);
  await page.close();
});

test("the list of runs follows live runs, and keeps what is selected", async ({ browser, url, folder }) => {
  const page = await browser.newPage();
  await page.goto(`${url}/runs`);
  await page.waitForSelector("tr:has-text('live.jsonl') td:has-text('4')");
  await page.locator('input[value="baseline.jsonl"]').check();
  await page.locator("h1").click(); // the table is not replaced while it has the focus
  const row = `${rowOf({ id: "arrived" })}\n`;
  await Deno.writeTextFile(join(folder.path, "live.jsonl"), row, { append: true });
  await page.waitForSelector("tr:has-text('live.jsonl') td.number:text-is('5')");
  assertEquals(await page.locator('input[value="baseline.jsonl"]:checked').count(), 1);
  await page.close();
});

function focusedText(page: BrowserPage): Promise<unknown> {
  return page.evaluate("document.activeElement.textContent");
}
