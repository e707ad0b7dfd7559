import { assertEquals, assertMatch } from "@std/assert";
import { isAlive } from "../../../bench/processes.ts";
import { readLines } from "../../../src/read_lines.ts";
import { DENO_VERSION } from "../../../src/version.ts";
import { completion, FakeServer } from "../../policy/fake_server.ts";
import { TempFolder } from "../../temp_folder.ts";

const ROOT = decodeURIComponent(new URL("../../../", import.meta.url).pathname);
const PADDOCK = `${Deno.execPath()} run -A --quiet --no-check ${ROOT}src/cli.ts`;
const JSON_BODY = { "content-type": "application/json" };

/** A program that prints whether it would end with npx. */
const LOOK = `
const { findNpx } = await import("${
  new URL("../../../src/cli/process/parent_process.ts", import.meta.url).href
}");
const npx = findNpx();
console.error("ends with npx:", npx !== undefined && !npx.hasNohup);
`;

/** A program with the title of npx, which starts its argument as npx does: through a shell that it waits for. */
const LIKE_NPX = `#!/bin/bash
exec -a "npm exec deno@${DENO_VERSION} run" bash -c 'sh -c "$1; exit" <&0 & wait' npx "$1"
`;

/** A program whose stderr is read by lines, in a folder with a program like npx. */
class Started implements AsyncDisposable {
  readonly lines: ReturnType<typeof readLines>;

  private constructor(readonly child: Deno.ChildProcess, readonly folder: TempFolder) {
    this.lines = readLines(child.stderr, { maxBytes: 1 << 20 });
  }

  /** Starts a command of bash in which `npx` and `paddock` are variables with commands. */
  static async shell(script: string, ...args: string[]): Promise<Started> {
    const folder = await TempFolder.of({ "npx": LIKE_NPX });
    await Deno.chmod(`${folder.path}/npx`, 0o755);
    const child = new Deno.Command("bash", {
      args: ["-c", script, "bash", ...args],
      cwd: ROOT,
      stdin: "piped",
      stdout: "null",
      stderr: "piped",
      env: { NO_COLOR: "1", npx: `${folder.path}/npx`, paddock: PADDOCK, folder: folder.path },
    }).spawn();
    return new Started(child, folder);
  }

  /** Starts a command of Paddock below a process like npx. */
  static async paddock(...args: string[]): Promise<Started> {
    return await Started.shell(`exec $npx "$paddock $*"`, ...args);
  }

  /** Returns the first line with the text. */
  async lineWith(text: string): Promise<string> {
    for (;;) {
      const { done, value } = await this.lines.next();
      if (done) throw new Error(`the command ended before it printed '${text}'`);
      if ("text" in value && value.text.includes(text)) return value.text;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child.stdin.close().catch(() => {}); // the command has ended
    while (!(await this.lines.next()).done); // until all processes that may write have ended
    await this.child.status;
    await this.folder[Symbol.asyncDispose]();
  }
}

/** Returns the process that has an argument in its command line, and runs the command line itself. */
async function processWith(mark: string): Promise<number> {
  for await (const { name } of Deno.readDir("/proc")) {
    const text = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    const args = text.split("\0");
    if (args.includes(mark) && args.some((arg) => arg.endsWith("src/cli.ts")) && args[1] === "run") {
      return Number(name);
    }
  }
  throw new Error(`no process has the argument '${mark}'`);
}

async function waitForEnd(pid: number): Promise<void> {
  while (await isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 50));
}

const ignore = !await Deno.stat("/proc/self/stat").then(() => true, () => false);
const hasNpx = await new Deno.Command("npx", {
  args: ["--offline", "-y", `deno@${DENO_VERSION}`, "--version"],
  stderr: "null",
}).output().then(({ success }) => success, () => false);

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  Deno.test(`paddock serve saves its sessions and ends after ${signal} of npx`, { ignore }, async () => {
    await using folder = await TempFolder.of();
    await Deno.chmod(folder.path, 0o700);
    const { path } = folder;
    await using started = await Started.paddock("serve --port 0 --max-sessions 1 --state-dir", path);
    const [, url = ""] = /at (\S+) /.exec(await started.lineWith("Serving at")) ?? [];
    const created = await fetch(`${url}/v1/sessions`, { method: "POST", body: "{}", headers: JSON_BODY });
    await created.body?.cancel();
    const pid = await processWith(path);
    started.child.kill(signal);
    await started.lineWith("1 session");
    await waitForEnd(pid);
  });
}

Deno.test("paddock view --web ends after npx", { ignore }, async () => {
  await using folder = await TempFolder.of();
  await using started = await Started.paddock("view --web --port 0", folder.path);
  await started.lineWith("Viewing at");
  const pid = await processWith(folder.path);
  started.child.kill("SIGTERM");
  await waitForEnd(pid);
});

Deno.test("paddock mcp ends after npx while its client keeps stdin open", { ignore }, async () => {
  await using folder = await TempFolder.of();
  await using started = await Started.paddock("--cache-dir", folder.path, "mcp");
  let pid: number | undefined;
  while (pid === undefined) pid = await processWith(folder.path).catch(() => undefined);
  while (!await listensToSigterm(pid)) await new Promise((resolve) => setTimeout(resolve, 50)); // npx is found before
  started.child.kill("SIGTERM");
  await waitForEnd(pid);
});

Deno.test("paddock rollout saves its episodes and ends after npx", { ignore }, async () => {
  await using folder = await TempFolder.of({ "tasks.jsonl": `{"query":"1"}\n{"query":"2"}\n` });
  const tasks = `${folder.path}/tasks.jsonl`;
  const stuck = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  await using server = new FakeServer((_, count) => {
    if (count === 2) asked.resolve();
    return count === 1 ? completion({ content: "It is 1" }) : stuck.promise;
  });
  const options = `--env chat --concurrency 1 --model m --policy openai:${server.url}`;
  await using started = await Started.paddock(
    "rollout",
    options,
    `--out ${folder.path}/a.jsonl --tasks`,
    tasks,
  );
  await asked.promise;
  const pid = await processWith(tasks);
  started.child.kill("SIGTERM");
  await waitForEnd(pid);
  stuck.resolve(new Response());
  assertEquals((await Deno.readTextFile(`${folder.path}/a.jsonl`)).trim().split("\n").length, 1);
});

for (const form of ["run -A src/cli.ts", "task --quiet paddock"]) {
  Deno.test(`npx deno ${form} view --web ends after npx`, { ignore: ignore || !hasNpx }, async () => {
    await using folder = await TempFolder.of();
    const command = `exec npx --offline -y deno@${DENO_VERSION} ${form} view --web --port 0 "$1"`;
    await using started = await Started.shell(command, folder.path);
    await started.lineWith("Viewing at");
    const pid = await processWith(folder.path);
    started.child.kill("SIGTERM");
    await waitForEnd(pid);
  });
}

/** Scripts that start a program below npx, and whether the program ends with npx. */
const SCRIPTS: readonly (readonly [name: string, script: string, ends: boolean])[] = [
  ["a program in the background of a script", `$npx "$1" & wait`, true],
  ["a program of npx that setsid starts", `setsid --wait $npx "$1"`, true],
  ["a program of npx that nohup starts", `nohup $npx "$1" & wait`, false],
  ["a program that setsid starts below npx", `$npx "setsid --wait $1"`, false],
  ["a program that nohup starts below npx", `$npx "nohup $1"`, false],
  ["a program of a script below npx", `$npx "bash -c '$1; true'; true"`, true],
  ["a program without npx", "$1", false],
];

for (const [name, script, ends] of SCRIPTS) {
  Deno.test(`${name} ${ends ? "ends" : "does not end"} with npx`, { ignore }, async () => {
    await using folder = await TempFolder.of({ "look.ts": LOOK });
    await using started = await Started.shell(script, `${Deno.execPath()} run -A ${folder.path}/look.ts`);
    assertMatch(await started.lineWith("ends with npx"), new RegExp(`: ${ends}$`));
  });
}

Deno.test("paddock view --web below nohup of npx continues after npx and SIGHUP", { ignore }, async () => {
  await using folder = await TempFolder.of();
  const script = `nohup $npx "$paddock view --web --port 0 $1" & wait`;
  await using started = await Started.shell(script, folder.path);
  const [, url = ""] = /at (\S+)\/runs;/.exec(await started.lineWith("Viewing at")) ?? [];
  const pid = await processWith(folder.path);
  const npx = await parentOf(await parentOf(pid));
  Deno.kill(npx, "SIGKILL");
  await waitForEnd(npx);
  Deno.kill(pid, "SIGHUP");
  const response = await fetch(`${url}/runs`);
  await response.body?.cancel();
  assertEquals(response.status, 200);
  Deno.kill(pid, "SIGTERM");
  await waitForEnd(pid);
});

async function parentOf(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** True if the process has a listener for SIGTERM, signal 15. */
async function listensToSigterm(pid: number): Promise<boolean> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  const [, caught = "0"] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(status) ?? [];
  return (BigInt(`0x${caught}`) & (1n << 14n)) !== 0n;
}
