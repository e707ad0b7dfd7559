/**
 * The command `paddock`. This module imports no package: Deno downloads what a program imports before it runs, and prints
 * a line for each package. Here the first start downloads the packages by a step of its own, which prints one line.
 */
import { keepHangupIgnored } from "./cli/process/hangup.ts";

/** Folder in Deno's cache with a file for each lock file whose packages were downloaded. */
const MARKS = "paddock_packages";

const CLEAR_LINE = "\r\x1b[K";
const SIGTERM = 15;

if (import.meta.main) {
  const ignoresHangup = keepHangupIgnored(); // first: Deno takes the signal soon
  const { dirname: folder } = import.meta;
  if (folder !== undefined) await downloadPackages(folder, ignoresHangup);
  const { main } = await load<typeof import("./cli/main.ts")>("./cli/main.ts");
  await main({ ignoresHangup });
}

/** Imports a module beside this one. Its URL is computed, so that Deno does not load it with this module. */
async function load<Module>(path: string): Promise<Module> {
  return await import(new URL(path, import.meta.url).href);
}

/** Downloads the packages that the sources in a folder import, if this was not done before. */
async function downloadPackages(folder: string, ignoresHangup: boolean): Promise<void> {
  const mark = markOf(`${folder}/deno.lock`);
  const caches = denoCaches();
  if (caches.some((cache) => exists(`${cache}/${MARKS}/${mark}`))) return;
  const present = caches.find(exists);
  if (present !== undefined && !write(present)) return; // Deno cannot write there either
  await runDownload(folder, ignoresHangup);
  const cache = caches.find(exists);
  if (cache !== undefined) write(cache, mark);
}

/** Returns a name that changes with the lock file. */
function markOf(lock: string): string {
  const { size, mtime } = Deno.statSync(lock);
  return `${size}-${mtime?.getTime() ?? 0}`;
}

/** Folders that may be Deno's cache, the one that Deno prefers first. */
function denoCaches(): string[] {
  const [own, cache, home, windows] = ["DENO_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"]
    .map((name) => Deno.env.get(name));
  if (own) return [own];
  return [
    ...cache ? [`${cache}/deno`] : [],
    ...home ? [`${home}/.cache/deno`, `${home}/Library/Caches/deno`] : [],
    ...windows ? [`${windows}/deno`] : [],
  ];
}

/** Runs the download with one line of progress. If it fails, prints the reason and ends the process. */
async function runDownload(folder: string, ignoresHangup: boolean): Promise<void> {
  const startMs = performance.now();
  const { npm } = JSON.parse(await Deno.readTextFile(`${folder}/deno.lock`));
  const total = Object.keys(npm).length;
  const download = new AbortController();
  using _watch = await watchOwnNpx(ignoresHangup, () => {
    download.abort();
    Deno.exit(128 + SIGTERM);
  });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["install", "--config", `${folder}/deno.json`, "--entrypoint", `${folder}/cli/commands.ts`],
    env: { NO_COLOR: "1" },
    signal: download.signal,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const isTerminal = Deno.stderr.isTerminal();
  const others: string[] = [];
  let count = 0;
  for await (const line of linesOf(child.stderr)) {
    if (!line.startsWith("Download ")) others.push(line);
    if (!/^Download .*\.tgz$/.test(line)) continue;
    count++;
    if (isTerminal) print(`${CLEAR_LINE}Downloading the packages of Paddock (once): ${count} of ${total}`);
  }
  if (isTerminal && count > 0) print(CLEAR_LINE);
  const { success, code } = await child.status;
  if (!success) {
    print(`${others.join("\n").trim()}\n`);
    Deno.exit(code);
  }
  if (count === 0) return;
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  print(`Downloaded the packages of Paddock (once): ${count} in ${seconds} s\n`);
}

/** Calls `onEnd` when npx has ended that runs this process, as the command line does later. */
async function watchOwnNpx(ignoresHangup: boolean, onEnd: () => void): Promise<Disposable | undefined> {
  const path = "./cli/process/parent_process.ts";
  const { findNpx, watchNpx } = await load<typeof import("./cli/process/parent_process.ts")>(path);
  const npx = findNpx({ ignoresHangup });
  return npx === undefined || npx.hasNohup ? undefined : watchNpx(npx, onEnd);
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false; // missing, or not readable
  }
}

/** Writes an empty file into the folder of marks, or only creates the folder. Returns whether that was possible. */
function write(cache: string, mark?: string): boolean {
  try {
    Deno.mkdirSync(`${cache}/${MARKS}`, { recursive: true });
    if (mark !== undefined) Deno.writeTextFileSync(`${cache}/${MARKS}/${mark}`, "");
    return true;
  } catch {
    return false; // the cache may only be read
  }
}

function print(text: string): void {
  try {
    Deno.stderr.writeSync(new TextEncoder().encode(text));
  } catch {
    // stderr is closed
  }
}
