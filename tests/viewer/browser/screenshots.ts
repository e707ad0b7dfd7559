/**
 * Takes the pictures of the documentation: plays the episodes of `deno task demo`, serves the run as
 * `paddock view --web` does, and saves the page of the run and the page of an episode. `deno task screenshots`
 * runs this program, which needs what `deno task browser` needs.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HttpServer } from "../../../src/server/http/http_server.ts";
import { viewerServer } from "../../../src/server/viewer_server.ts";
import { RunFolder } from "../../../src/viewer/run_folder.ts";
import { launchBrowser } from "./chromium.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const VIEWPORT = { width: 1120, height: 720 };

/** Task of the episode that the first picture shows: a program raises, and the next reply corrects the program. */
const TASK = "recovers";

/** Plays the demo, writes the rows, and returns each picture in `docs/` with the address of the page. */
async function playDemo(out: string): Promise<Readonly<Record<string, string>>> {
  const line = ["rollout", "--tasks", "examples/tasks.jsonl", "--mcp", "examples/mcp.jsonc", "--out", out];
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "src/cli.ts", ...line],
    cwd: ROOT,
  }).output();
  if (!success) throw new Error("Cannot play the demo: its command failed");
  const rows = (await Deno.readTextFile(out)).trimEnd().split("\n").map((line) => JSON.parse(line));
  const number = 1 + rows.findIndex(({ task }) => task.id === TASK);
  if (number === 0) throw new Error(`Cannot show the task '${TASK}': the demo does not play that task`);
  return {
    "viewer.png": `/runs/demo.jsonl/episodes/${number}#turn-1`,
    "viewer_run.png": "/runs/demo.jsonl",
  };
}

async function takePictures(url: string, pictures: Readonly<Record<string, string>>): Promise<void> {
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: VIEWPORT, colorScheme: "light" });
    for (const [name, path] of Object.entries(pictures)) {
      const page = await context.newPage();
      await page.goto(url + path);
      await page.waitForSelector("h1");
      await page.screenshot({ path: join(ROOT, "docs", name), fullPage: false });
      await page.close();
    }
  } finally {
    await browser.close();
  }
}

const folder = await Deno.makeTempDir();
const stop = new AbortController();
const errors: unknown[] = [];
const onError = (error: unknown) => void errors.push(error);
try {
  const pictures = await playDemo(join(folder, "demo.jsonl"));
  const handler = viewerServer({
    folder: await RunFolder.open(folder),
    hosts: ["127.0.0.1"],
    signal: stop.signal,
    onError,
  });
  const options = { hostname: "127.0.0.1", port: 0, onError, onGraceOver: () => Promise.resolve() };
  await using server = await HttpServer.listen(handler, options);
  await takePictures(`http://127.0.0.1:${server.port}`, pictures);
} finally {
  stop.abort();
  await Deno.remove(folder, { recursive: true });
}
if (errors.length > 0) throw new AggregateError(errors, "Cannot take the pictures: the viewer failed");
