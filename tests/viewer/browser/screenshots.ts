/**
 * Takes the pictures of the documentation: plays the episodes of `deno task demo`, serves the run as
 * `paddock view --web` does, and saves the page of the run and the page of an episode. `deno task screenshots`
 * runs this program, which needs what `deno task browser` needs.
 */
import { fromFileUrl, join } from "@std/path";
import { HttpServer } from "../../../src/server/http/http_server.ts";
import { viewerServer } from "../../../src/server/viewer_server.ts";
import { RunFolder } from "../../../src/viewer/run_folder.ts";
import { launchBrowser } from "./chromium.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));
const VIEWPORT = { width: 1120, height: 720 };

/** Each picture in `docs/`, with the address of its page. */
const PICTURES = {
  "viewer.png": "/runs/demo.jsonl/episodes/3#turn-1", // recovers: an error, and the next reply
  "viewer_run.png": "/runs/demo.jsonl",
};

/** Plays the demo and writes its rows. */
async function playDemo(out: string): Promise<void> {
  const line = ["rollout", "--tasks", "examples/tasks.jsonl", "--mcp", "examples/mcp.jsonc", "--out", out];
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "src/cli.ts", ...line],
    cwd: ROOT,
  }).output();
  if (!success) throw new Error("Cannot play the demo: its command failed");
}

async function takePictures(url: string): Promise<void> {
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: VIEWPORT, colorScheme: "light" });
    for (const [name, path] of Object.entries(PICTURES)) {
      const page = await context.newPage();
      await page.goto(url + path);
      await page.waitForSelector("h1");
      await page.screenshot({ path: join(ROOT, "docs", name), fullPage: false });
      await page.close();
      console.log(`docs/${name}`);
    }
  } finally {
    await browser.close();
  }
}

const folder = await Deno.makeTempDir();
const stop = new AbortController();
const onError = (error: unknown) => console.error(error);
try {
  await playDemo(join(folder, "demo.jsonl"));
  const handler = viewerServer({
    folder: await RunFolder.open(folder),
    hosts: ["127.0.0.1"],
    signal: stop.signal,
    onError,
  });
  const options = { hostname: "127.0.0.1", port: 0, onError, onGraceOver: () => Promise.resolve() };
  await using server = await HttpServer.listen(handler, options);
  await takePictures(`http://127.0.0.1:${server.port}`);
} finally {
  stop.abort();
  await Deno.remove(folder, { recursive: true });
}
