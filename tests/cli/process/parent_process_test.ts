import { assertEquals } from "@std/assert";
import { findNpx, type ProcessState, watchNpx } from "../../../src/cli/process/parent_process.ts";

const NPX = "npm exec deno@2.9.6 task paddock serve";

/** Processes by id; process 1 is their root. The last is the command that looks for npx. */
function processes(...states: Partial<ProcessState>[]): Map<number, ProcessState> {
  return new Map(states.map((state, index) => [index + 1, {
    parent: index,
    session: 7,
    hasEnded: false,
    args: ["deno", "run", "-A", "src/cli.ts", "serve"],
    launcher: "",
    ...state,
  }]));
}

function find(...states: Partial<ProcessState>[]): ReturnType<typeof findNpx> {
  const all = processes(...states);
  return findNpx({ ignoresHangup: false, pid: states.length, read: (pid) => all.get(pid) });
}

const SHELL = { args: ["bash"] };
const RUNNER = { args: ["sh", "-c", "'deno' task paddock serve"] };
const TASK = { args: ["deno", "task", "--quiet", "paddock", "serve"] };

Deno.test("findNpx() finds npx above its shell, Node and deno task", () => {
  const found = { pid: 2, hasNohup: false };
  assertEquals(find(SHELL, { args: [NPX] }, {}), found);
  assertEquals(find(SHELL, { args: [NPX] }, RUNNER, {}), found);
  assertEquals(find(SHELL, { args: [NPX] }, RUNNER, TASK, {}), found);
  const script = { args: ["node", "/x/_npx/7a/node_modules/.bin/deno", "run", "src/cli.ts"] };
  assertEquals(find(SHELL, { args: [NPX] }, RUNNER, script, TASK, {}), found);
  const installed = { args: ["node", "/x/_npx/7a/node_modules/.bin/paddock", "serve"] };
  assertEquals(find(SHELL, { args: ["npm exec @paddock/paddock serve"] }, RUNNER, installed, {}), found);
  assertEquals(find(SHELL, { args: ["node", "/usr/bin/npx", "-y", "deno@2.9.6"] }, RUNNER, {}), found);
});

Deno.test("findNpx() finds no npx above other programs", () => {
  assertEquals(find(SHELL, {}), undefined);
  assertEquals(find({ args: ["/sbin/init"] }, {}), undefined);
  assertEquals(find(SHELL, TASK, {}), undefined);
  const agent = { args: ["node", "/x/_npx/7a/node_modules/.bin/agent"] };
  const agentsNpx = { args: ["npm exec agent"] };
  assertEquals(
    find(SHELL, agentsNpx, RUNNER, agent, { args: ["bash", "-c", "paddock serve &"] }, {}),
    undefined,
  );
  assertEquals(find(SHELL, { args: [NPX] }, RUNNER, { args: ["bash", "start.sh"] }, {}), undefined);
});

Deno.test("findNpx() finds no npx above what setsid or nohup detached from it", () => {
  assertEquals(find(SHELL, { args: [NPX] }, RUNNER, { session: 4 }), undefined);
  const all = processes(SHELL, { args: [NPX] }, RUNNER, {});
  assertEquals(findNpx({ ignoresHangup: true, pid: 4, read: (pid) => all.get(pid) }), undefined);
});

Deno.test("findNpx() recognizes nohup of npx, and not the nohup of the program that started npx", () => {
  const nohup = { launcher: "nohup" };
  const npx = { args: [NPX], ...nohup };
  assertEquals(find(SHELL, npx, { ...RUNNER, ...nohup }, nohup), { pid: 2, hasNohup: true });
  assertEquals(find({ args: ["python3", "train.py"], ...nohup }, npx, { ...RUNNER, ...nohup }, nohup), {
    pid: 2,
    hasNohup: false,
  });
});

for (const [how, end] of [["has gone", undefined], ["is a zombie", { hasEnded: true }]] as const) {
  Deno.test(`watchNpx() calls back once when npx ${how}`, async () => {
    const all = processes(SHELL, { args: [NPX] }, {});
    const npx = all.get(2);
    const { promise, resolve } = Promise.withResolvers<void>();
    let ends = 0;
    let reads = 0;
    using _watch = watchNpx({ pid: 2, hasNohup: false }, () => {
      ends++;
      resolve();
    }, (pid) => {
      if (++reads === 2) {
        all.delete(2);
        if (npx !== undefined && end !== undefined) all.set(2, { ...npx, ...end });
      }
      return all.get(pid);
    });
    const keepAlive = setInterval(() => {}, 60_000); // the watch does not keep a process alive
    await promise;
    clearInterval(keepAlive);
    assertEquals([ends, reads], [1, 2]);
  });
}

Deno.test("watchNpx() does not take a system without free files for the end of npx", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let ends = 0;
  let reads = 0;
  using _watch = watchNpx({ pid: 2, hasNohup: false }, () => {
    ends++;
    resolve();
  }, () => {
    if (++reads < 3) throw Object.assign(new Error("Too many open files"), { code: "EMFILE" });
    return undefined;
  });
  const keepAlive = setInterval(() => {}, 60_000);
  await promise;
  clearInterval(keepAlive);
  assertEquals([ends, reads], [1, 3]);
});
