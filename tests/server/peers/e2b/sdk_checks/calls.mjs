// Calls the JavaScript SDKs of E2B, and prints a line of JSON for each of 40 calls: its name and its error, if any.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

/** Home directory of E2B's user `root` in a sandbox. */
const ROOT_HOME = "/root";

const SDK = "@e2b/code-interpreter"; // a package of the checks, not of the project
const { Sandbox } = await import(SDK);

const sandbox = await Sandbox.create({ metadata: { user: "ada" }, envs: { FOO: "bar" }, timeoutMs: 120_000 });
const other = await Sandbox.create({ timeoutMs: 120_000 });
const { files, commands } = sandbox;
const display = "from IPython.display import display, HTML; display(HTML('<b>1</b>')); 6 * 7";

async function ids(state) {
  const found = await Sandbox.list({ query: { state: [state] } }).nextItems();
  return found.map(({ sandboxId }) => sandboxId);
}

/** Returns a sandbox that has paused at the end of its time. */
async function startPausing(autoResume) {
  const started = await Sandbox.create({ timeoutMs: 1000, lifecycle: { onTimeout: "pause", autoResume } });
  await started.runCode("x = 7");
  for (let i = 0; i < 100; i++) {
    if ((await started.getInfo()).state === "paused") return started;
    await delay(100);
  }
  throw new Error("the sandbox was not paused");
}

let snapshot;

const calls = {
  create: () => assert.notEqual(sandbox.sandboxId, other.sandboxId),
  "run_code": async () => assert.equal((await sandbox.runCode("1 + 1")).text, "2"),
  isolation: async () => {
    await sandbox.runCode("x = 1");
    assert.equal((await other.runCode("x")).error.name, "NameError");
  },
  "run_code error": async () =>
    assert.equal((await sandbox.runCode("1 / 0")).error.name, "ZeroDivisionError"),
  "run_code stream": async () => {
    const texts = [];
    await sandbox.runCode("print('a')", { onStdout: ({ line }) => texts.push(line) });
    assert.deepEqual(texts, ["a\n"]);
  },
  "run_code envs": async () => {
    const code = "import os; os.environ['A'] + os.environ['FOO']";
    assert.equal((await sandbox.runCode(code, { envs: { A: "1" } })).text, "1bar");
  },
  "run_code timeout": () => assert.rejects(sandbox.runCode("while True: pass", { timeoutMs: 1000 })),
  "run_code results": async () => assert.equal((await sandbox.runCode(display)).results[0].html, "<b>1</b>"),
  "run_code bash": async () => {
    assert.deepEqual((await sandbox.runCode("echo $FOO", { language: "bash" })).logs.stdout, ["bar\n"]);
  },
  contexts: async () => {
    const context = await sandbox.createCodeContext();
    await sandbox.runCode("y = 1", { context });
    assert.equal((await sandbox.runCode("y")).error.name, "NameError");
    await sandbox.restartCodeContext(context);
    assert.equal((await sandbox.runCode("y", { context })).error.name, "NameError");
    await sandbox.removeCodeContext(context);
    assert(!(await sandbox.listCodeContexts()).some(({ id }) => id === context.id));
  },
  "files.write": async () =>
    assert.equal((await files.write("dir/a.txt", "hello")).path, "/home/user/dir/a.txt"),
  "files.read": async () => assert.equal(await files.read("dir/a.txt"), "hello"),
  "files.write_files": async () => {
    const written = await files.write([{ path: "b", data: new ArrayBuffer(1) }, { path: "c", data: "[" }]);
    assert.equal(written.length, 2);
  },
  "files.list": async () => assert.deepEqual((await files.list("dir")).map(({ name }) => name), ["a.txt"]),
  "files.exists": async () => assert(await files.exists("b") && !(await files.exists("missing"))),
  "files.get_info": async () => assert.equal((await files.getInfo("dir/a.txt")).size, 5),
  "download_url": async () => {
    const url = await sandbox.downloadUrl("dir/a.txt", { useSignatureExpiration: 60 });
    assert.equal(await (await fetch(url)).text(), "hello");
    assert.equal((await fetch(await other.downloadUrl("dir/a.txt"))).status, 404);
  },
  "upload_url": async () => {
    const url = await sandbox.uploadUrl("dir/up.txt", { user: "root", useSignatureExpiration: 60 });
    const body = new FormData();
    body.append("file", "up");
    const [{ path }] = await (await fetch(url, { method: "POST", body })).json();
    assert.equal(path, `${ROOT_HOME}/dir/up.txt`);
    assert.equal(await files.read("dir/up.txt", { user: "root" }), "up");
    assert.equal(await files.exists("dir/up.txt"), false);
  },
  "files.make_dir": async () => assert(await files.makeDir("made") && !(await files.makeDir("made"))),
  "files.rename": async () => assert.equal((await files.rename("b", "made/b")).path, "/home/user/made/b"),
  "files.remove": async () => {
    await files.remove("made");
    assert(!(await files.exists("made")));
  },
  "files.watch_dir": async () => {
    const { promise, resolve } = Promise.withResolvers?.() ?? {};
    const names = [];
    const handle = await files.watchDir("dir", ({ name }) => {
      names.push(name);
      resolve?.();
    });
    await files.write("dir/new.txt", "1");
    await Promise.race([promise ?? delay(1000), delay(3000)]);
    assert(names.includes("new.txt"));
    await handle.stop();
  },
  "commands.run": async () =>
    assert.equal((await commands.run("echo $FOO; pwd")).stdout, "bar\n/home/user\n"),
  "commands background": async () => {
    const command = await commands.run("sleep 30", { background: true });
    assert((await commands.list()).some(({ pid }) => pid === command.pid));
    assert(await command.kill());
  },
  "commands stdin": async () => {
    const command = await commands.run("cat", { background: true, stdin: true });
    await commands.sendStdin(command.pid, "in");
    await commands.closeStdin(command.pid);
    assert.equal((await command.wait()).stdout, "in");
  },
  "info and list": async () => {
    assert.deepEqual((await sandbox.getInfo()).metadata, { user: "ada" });
    assert.equal((await Sandbox.list({ limit: 1 }).nextItems()).length, 1);
  },
  connect: async () =>
    assert.equal((await (await Sandbox.connect(sandbox.sandboxId)).runCode("x")).text, "1"),
  "set_timeout": async () => {
    await other.setTimeout(1000);
    await delay(2000);
    assert(!(await other.isRunning()));
  },
  pause: async () => {
    assert(await sandbox.pause() && !(await sandbox.isRunning()) && !(await sandbox.pause()));
    assert.equal((await sandbox.getInfo()).state, "paused");
  },
  "list states": async () => {
    assert((await ids("paused")).includes(sandbox.sandboxId));
    assert(!(await ids("running")).includes(sandbox.sandboxId));
  },
  "connect after pause": async () => {
    const resumed = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 120_000 });
    assert.equal((await resumed.runCode("x")).text, "1");
    assert.equal(await files.read("c"), "[");
    assert.equal((await commands.run("echo $FOO")).stdout, "bar\n");
  },
  "beta_pause": async () => {
    assert(await sandbox.betaPause() && !(await sandbox.isRunning()));
    assert.equal((await (await sandbox.connect({ timeoutMs: 120_000 })).runCode("x")).text, "1");
  },
  fork: async () => {
    const copies = await sandbox.fork({ count: 2, timeoutMs: 60_000 });
    assert.equal(new Set([sandbox, ...copies].map(({ sandboxId }) => sandboxId)).size, 3);
    for (const copy of copies) {
      assert.equal((await copy.runCode("x += 1; x")).text, "2");
      assert.equal(await copy.files.read("c"), "[");
      assert(await copy.kill());
    }
    assert.equal((await sandbox.runCode("x")).text, "1");
  },
  "create_snapshot": async () => {
    snapshot = await sandbox.createSnapshot({ name: "calls" });
    assert.deepEqual(snapshot.names, ["calls:default"]);
    await sandbox.runCode("x = 5");
  },
  "list_snapshots": async () => {
    for (const query of [{}, { sandboxId: sandbox.sandboxId }, { name: "calls" }]) {
      const found = await Sandbox.listSnapshots(query).nextItems();
      assert.deepEqual(found.map(({ snapshotId }) => snapshotId), [snapshot.snapshotId]);
    }
    assert.deepEqual(await Sandbox.listSnapshots({ name: "others" }).nextItems(), []);
  },
  "create from a snapshot": async () => {
    for (const template of [snapshot.snapshotId, "calls"]) {
      const copy = await Sandbox.create(template, { timeoutMs: 60_000 });
      assert.equal((await copy.runCode("x")).text, "1");
      assert.equal(await copy.files.read("c"), "[");
      assert(await copy.kill());
    }
  },
  "delete_snapshot": async () => {
    assert(await Sandbox.deleteSnapshot(snapshot.snapshotId));
    assert(!(await Sandbox.deleteSnapshot(snapshot.snapshotId)));
  },
  "auto_pause": async () => {
    const paused = await startPausing(false);
    assert(!(await paused.isRunning()));
    assert.equal((await (await paused.connect({ timeoutMs: 60_000 })).runCode("x")).text, "7");
    await paused.kill();
  },
  "auto_resume": async () => {
    const paused = await startPausing(true);
    assert.equal((await paused.runCode("x")).text, "7");
    await paused.kill();
  },
  kill: async () => {
    assert(await sandbox.kill() && !(await sandbox.isRunning()) && !(await Sandbox.kill(sandbox.sandboxId)));
  },
};
for (const [name, call] of Object.entries(calls)) {
  let error = null;
  try {
    await call();
  } catch (thrown) {
    error = String(thrown);
  }
  process.stdout.write(`${JSON.stringify({ name, error })}\n`);
}
process.exit(0);
