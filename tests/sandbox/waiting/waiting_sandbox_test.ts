import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { z } from "zod";
import { delay } from "@std/async";
import { childrenOf, isAlive, processTree } from "../../../bench/processes.ts";
import {
  type BranchingSession,
  type ExecResult,
  hostTool,
  loadProfile,
  readCheckpoint,
  SandboxPool,
  WaitingExecError,
} from "../../../mod/sandbox.ts";
import { TempFolder } from "../../temp_folder.ts";
import { copyImage } from "../copy_image.ts";

const ask = hostTool({
  name: "ask",
  description: "Asks a person.",
  parameters: z.object({ q: z.string() }),
  run: () => {
    throw new Error("it must not run");
  },
});
const tools = [ask];
const options = { tools, suspendAt: "tool" } as const;

/** A program whose calls depend on all that a second run must find again. */
const program = (calls: number) => `
import random, uuid, secrets, hashlib
from paddock import tools
seen = []
for n in range(${calls}):
    question = f"{n} {random.random()} {uuid.uuid4()} {secrets.token_hex(4)}"
    seen.append((question, tools.ask(q=question)))
    print("answer", n)
hashlib.sha256(repr(seen).encode()).hexdigest()
`;

function waitingCall(result: ExecResult) {
  if (result.status === "waiting") return result.call;
  throw new Error(`exec ended as '${result.status}': ${JSON.stringify(result)}`);
}

/** Kills the sandboxes with a cache, which their command lines name, and waits until they have ended. */
async function killSandboxes(cacheDir: string) {
  const sandboxes = await childrenOf(Deno.pid, cacheDir);
  const pids = (await Promise.all(sandboxes.map(processTree))).flat();
  assert(pids.length > 0);
  for (const pid of pids.reverse()) Deno.kill(pid, "SIGKILL");
  for (const pid of pids) while (await isAlive(pid)) await delay(1);
}

async function toEnd(session: BranchingSession, first: ExecResult): Promise<ExecResult> {
  let result = first;
  while (result.status === "waiting") {
    result = await session.resume({ value: `to ${result.call.arguments.q}` }, { tools });
  }
  return result;
}

Deno.test("exec() with suspendAt waits at each call of a tool", async (t) => {
  const profile = await loadProfile("tools");
  await using cache = await TempFolder.of();
  const cacheDir = cache.path;
  await copyImage(profile, cacheDir);
  await using pool = new SandboxPool({ profile, size: 2, cacheDir });
  await using lease = await pool.acquire({ seed: 7 });
  const { session } = lease;
  const exec = (code: string) => session.exec(`from paddock import tools\n${code}`, options);

  await t.step("and goes on with the answer", async () => {
    const first = await exec("print('before')\nx = tools.ask(q='age?')\nprint('after')\nx + 1");
    assertEquals(waitingCall(first), { callId: "call_1", name: "ask", arguments: { q: "age?" } });
    assertEquals([first.stdout, first.stateKept], ["before\n", true]);
    const end = await session.resume({ value: 41 });
    assertEquals([end.status, end.status === "ok" && end.value, end.stdout], ["ok", "42", "before\nafter\n"]);
  });
  await t.step("and passes only new output on", async () => {
    await exec("print('before')\ntools.ask(q='')\nprint('after')");
    const texts: string[] = [];
    await session.resume({ value: 1 }, { onOutput: (_, text) => texts.push(text) });
    assertEquals(texts.join(""), "after\n");
  });
  await t.step("and raises the error of an answer", async () => {
    await exec("try:\n    tools.ask(q='')\nexcept Exception as e:\n    print(type(e).__name__, e)");
    const end = await session.resume({ error: { type: "Denied", message: "no" } });
    assertStringIncludes(end.stdout, "ToolError Denied: no");
  });
  await t.step("but not at a call whose arguments are wrong", async () => {
    const result = await exec("tools.ask(q=1)");
    assert(result.status === "error");
  });
  await t.step("and runs nothing else meanwhile", async () => {
    await exec("tools.ask(q='?')");
    await assertRejects(() => session.exec("1"), WaitingExecError, "resume or reset");
    await assertRejects(
      () => session.resume({ value: 1 }, { callId: "call_2" }),
      WaitingExecError,
      "'call_1'",
    );
    await assertRejects(
      () => session.resume({ value: "x".repeat(2 ** 20) }),
      RangeError,
      "at most 1048576 bytes",
    );
    await assertRejects(() => session.resume({} as never), TypeError, "{ value }");
    await session.reset({ mode: "rewind" });
    assertEquals((await session.exec("'free'")).status, "ok");
    await assertRejects(() => session.resume({ value: 1 }), WaitingExecError, "none of the session waits");
  });
  await t.step("within its time limit, in which it does not wait", async () => {
    const result = await exec("tools.ask(q='')\nwhile True: pass");
    waitingCall(result);
    assertEquals((await session.resume({ value: 1 }, { timeoutMs: 200 })).status, "timeout");
    assertEquals((await session.exec("1")).status, "ok");
  });
  await t.step("for each of several calls at the same time", async () => {
    const first = await exec(`
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(3) as pool:
    found = list(pool.map(lambda n: tools.ask(q=str(n)), range(3)))
print(found)`);
    const end = await toEnd(session, first);
    assertEquals(end.stdout, "['to 0', 'to 1', 'to 2']\n", JSON.stringify(end));
  });
  await t.step("and continues if its interpreter is lost meanwhile", async () => {
    await exec("print('once')\nx = [tools.ask(q=str(n)) for n in range(2)]\nprint(x)");
    waitingCall(await session.resume({ value: "a" }));
    await killSandboxes(cacheDir);
    const end = await session.resume({ value: "b" });
    assertEquals([end.status, end.stdout], ["ok", "once\n['a', 'b']\n"], JSON.stringify(end));
    assertEquals(end.restarted, undefined);
  });
  await t.step("and ends as diverged if the second run makes another call", async () => {
    await exec("import time\ntools.ask(q='same')\ntools.ask(q=str(time.time_ns()))\ntools.ask(q='')");
    await session.resume({ value: 1 });
    waitingCall(await session.resume({ value: 1 }));
    await session.restore(await session.checkpoint());
    const end = await session.resume({ value: 1 }, { tools });
    assert(end.status === "diverged", JSON.stringify(end));
    assertEquals([end.call.callId, end.call.name], ["call_2", "ask"]);
    assertStringIncludes(end.error.message, "call_2 was ask(");
    assertEquals((await session.exec("1")).status, "ok");
  });
  await t.step("and a checkpoint that was asked for before it does not fail", async () => {
    const running = session.exec("import time\ntime.sleep(0.3)");
    const taken = session.checkpoint();
    await delay(100); // both are in the queue
    const [checkpoint, result] = await Promise.all([taken, exec("tools.ask(q='')"), running]);
    assert(checkpoint.storedBytes > 0);
    waitingCall(result);
    assertEquals((await session.resume({ value: 1 })).status, "ok");
  });
  await t.step("unless it has 'then'", async () => {
    await assertRejects(() => session.exec("1", { ...options, then: "rewind" }), TypeError, "'suspendAt'");
    await assertRejects(() => session.exec("1", { suspendAt: "call" } as never), TypeError, "must be 'tool'");
  });
});

Deno.test("A checkpoint of an exec that waits continues in another process with the same end", async () => {
  const profile = await loadProfile("tools");
  await using pool = new SandboxPool({ profile, size: 1 });
  const whole = await (async () => {
    await using lease = await pool.acquire({ seed: 3 });
    await lease.session.exec("import random; random.seed(5)");
    return await toEnd(lease.session, await lease.session.exec(program(2), options));
  })();
  assert(whole.status === "ok");

  let bytes: Uint8Array;
  {
    await using lease = await pool.acquire({ seed: 3 });
    await lease.session.exec("import random; random.seed(5)");
    waitingCall(await lease.session.exec(program(2), options));
    bytes = await (await lease.session.checkpoint()).toBytes();
  }
  for (let n = 0;; n++) { // a process for each call
    await using next = new SandboxPool({ profile, size: 1 });
    await using lease = await next.acquire();
    await lease.session.restore(await readCheckpoint(bytes));
    await assertRejects(() => lease.session.resume({ value: 1 }), TypeError, "'ask'");
    const asked = await lease.session.checkpoint();
    assertEquals([...asked.tools], ["ask"]);
    const question = whole.stdout.split("\n")[n];
    const result = await lease.session.resume({
      value: `to ${(await lease.session.waitingCall())?.arguments.q}`,
    }, { tools });
    assertStringIncludes(result.stdout, question ?? "");
    if (result.status !== "waiting") {
      assertEquals([result.status, result.stdout], ["ok", whole.stdout]);
      assertEquals(result.status === "ok" && result.value, whole.value);
      return;
    }
    bytes = await (await lease.session.checkpoint()).toBytes();
  }
});
