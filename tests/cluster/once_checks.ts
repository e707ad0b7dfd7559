import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import * as z from "zod";
import { NatsPool } from "../../src/cluster/nats_pool.ts";
import { SandboxLostError } from "../../src/errors.ts";
import type { ExecOptions, ExecResult } from "../../src/sandbox/contract/exec.ts";
import { options, print, SLOTS, startNode, whenNodes } from "./cluster.ts";
import { NatsServer } from "./nats_server.ts";

/** Milliseconds within which a lost call must be reported. */
const REPORT_MS = 2_000;
/** Milliseconds that a node stands still: after 700 ms its caller sends a call again, and after 1.5 s the node is lost. */
const STOP_MS = 1_000;
const ROUNDS = 5;

async function runOnce(
  pool: NatsPool,
  code: string,
  { seed, ...options }: ExecOptions & { seed?: number } = {},
): Promise<ExecResult> {
  await using lease = await pool.acquire({ once: true, seed });
  return await lease.session.exec(code, options);
}

function valueOf(result: ExecResult): unknown {
  return result.status === "ok" ? result.value : result;
}

Deno.test("a lease for one exec sends the program with the request for a slot", options, async (t) => {
  await using nats = await NatsServer.start();
  await using _node = await startNode(nats);
  await using pool = await NatsPool.connect({ servers: nats.url });
  const whenFree = () => whenNodes(pool, (nodes) => nodes.some(({ free }) => free === SLOTS));
  await whenFree();
  await t.step("each program has a fresh namespace, and its seed", async () => {
    assertEquals(valueOf(await runOnce(pool, "x = 1; 'x' in globals()")), "True");
    assertEquals(valueOf(await runOnce(pool, "'x' in globals()")), "False");
    const draw = () => runOnce(pool, "__import__('random').random()", { seed: 7 }).then(valueOf);
    assertEquals(await draw(), await draw());
  });
  await t.step("output, host tools, inputs and files are those of other leases", async () => {
    const output: string[] = [];
    const called: unknown[] = [];
    const result = await runOnce(
      pool,
      "import paddock\nprint('a')\nopen('b.txt', 'w').write(open('a.txt').read() + '!')\npaddock.tools.double(n=n)",
      {
        inputs: { n: 21 },
        files: { "a.txt": "text" },
        fetchFiles: ["b.txt"],
        onOutput: (stream, text) => void output.push(stream === "stdout" ? text : ""),
        tools: [{
          name: "double",
          description: "doubles",
          parameters: z.object({ n: z.number() }),
          run: ({ n }) => {
            called.push(n);
            return 2 * (n as number);
          },
        }],
      },
    );
    assertEquals([valueOf(result), called, output.join("")], ["42", [21], "a\n"]);
    assertEquals(new TextDecoder().decode(result.files?.["b.txt"]), "text!");
  });
  await t.step("a program above the size of one message runs, too", async () => {
    const text = "x".repeat(1_500_000);
    assertEquals(valueOf(await runOnce(pool, `len('${text}')`)), "1500000");
    const files = { "big.bin": new Uint8Array(3_000_000) };
    assertEquals(valueOf(await runOnce(pool, "len(open('big.bin', 'rb').read())", { files })), "3000000");
  });
  await t.step("an aborted program is stopped, before and after its node is known", async () => {
    for (const ms of [0, 5, 300]) {
      const running = runOnce(pool, "while True: pass", {
        signal: AbortSignal.timeout(ms),
        timeoutMs: 20_000,
      });
      await assertRejects(() => running, DOMException);
      await whenFree();
    }
  });
  await t.step("the end of a lease stops its program", async () => {
    const lease = await pool.acquire({ once: true });
    const running = lease.session.exec("while True: pass", { timeoutMs: 20_000 });
    await delay(200);
    await lease[Symbol.asyncDispose]();
    await assertRejects(() => running);
    await whenFree();
  });
  await t.step("other calls lease a session first", async () => {
    await using lease = await pool.acquire({ once: true });
    await lease.session.writeFile("a.txt", "text");
    assertEquals(valueOf(await lease.session.exec("open('a.txt').read()")), "'text'");
  });
  await t.step("many programs at once have their own results, and leave no slot in use", async () => {
    const values = await Promise.all(
      Array.from({ length: 100 }, (_, at) => runOnce(pool, `${at} * 3`).then(valueOf)),
    );
    assertEquals(values, Array.from({ length: 100 }, (_, at) => `${at * 3}`));
    await whenFree();
  });
});

Deno.test(
  "a call runs once if its node stands still until the caller has sent it again",
  options,
  async (t) => {
    await using nats = await NatsServer.start();
    await using node = await startNode(nats);
    await using pool = await NatsPool.connect({ servers: nats.url });
    const whenFree = (execs: number) =>
      whenNodes(pool, (nodes) => nodes.some((node) => node.free === SLOTS && node.execs >= execs));
    await whenFree(0);
    const counts: number[] = [];
    const whileStopped = async <T>(call: () => Promise<T>): Promise<T> => {
      node.child.kill("SIGSTOP");
      const called = call();
      await delay(STOP_MS);
      node.child.kill("SIGCONT");
      return await called;
    };
    await t.step("a single program", async () => {
      for (let at = 1; at <= ROUNDS; at++) {
        assertEquals(valueOf(await whileStopped(() => runOnce(pool, `${at} * 2`))), `${2 * at}`);
        await whenFree(at);
        counts.push(pool.nodes.reduce((sum, { execs }) => sum + execs, 0));
      }
      assertEquals(counts, Array.from({ length: ROUNDS }, (_, at) => at + 1));
    });
    await t.step("a session", async () => {
      const lease = await whileStopped(() => pool.acquire());
      await whenNodes(
        pool,
        (nodes) => nodes.some(({ free, sessions }) => free === SLOTS - 1 && sessions === 1),
      );
      assertEquals(valueOf(await lease.session.exec("6 * 7")), "42");
      await lease[Symbol.asyncDispose]();
      await whenFree(ROUNDS + 1);
    });
  },
);

Deno.test(
  "kill -9 of a node: its single programs are reported, or run on another node",
  options,
  async () => {
    await using nats = await NatsServer.start();
    await using first = await startNode(nats);
    await using pool = await NatsPool.connect({ servers: nats.url });
    await whenNodes(pool, (nodes) => nodes.some(({ free }) => free === SLOTS));
    const endless = Array.from(
      { length: SLOTS },
      () =>
        assertRejects(
          () => runOnce(pool, "while True: pass", { timeoutMs: 20_000 }),
          SandboxLostError,
        ),
    );
    await whenNodes(pool, (nodes) => nodes.some(({ sessions }) => sessions === SLOTS));
    await delay(300);
    await using _second = await startNode(nats);
    const killedAt = performance.now();
    first.child.kill("SIGKILL");
    await Promise.all(endless);
    const reportedMs = performance.now() - killedAt;
    assert(reportedMs < REPORT_MS, `reported after ${reportedMs} ms`);
    const found = { right: 0, lost: 0, wrong: [] as unknown[] };
    await using third = await startNode(nats);
    await whenNodes(pool, (nodes) => nodes.length === 2 && nodes.every(({ free }) => free === SLOTS));
    let isOn = true;
    const work = Array.from({ length: 8 }, async (_, worker) => {
      for (let at = 0; isOn; at++) {
        try {
          const value = valueOf(await runOnce(pool, `${worker} * 10_000 + ${at}`));
          if (value === `${worker * 10_000 + at}`) found.right++;
          else found.wrong.push(value);
        } catch (error) {
          if (!(error instanceof SandboxLostError)) throw error;
          found.lost++;
        }
      }
    });
    await delay(2_000);
    third.child.kill("SIGKILL");
    await delay(4_000);
    isOn = false;
    await Promise.all(work);
    assertEquals(found.wrong, []);
    assert(found.lost <= SLOTS && found.right > 100, JSON.stringify(found));
    await print(
      `kill -9, single programs: reported after ${
        Math.round(reportedMs)
      } ms; under load ${found.right} right, ${found.lost} lost`,
    );
  },
);
