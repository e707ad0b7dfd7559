import { assert, assertEquals, assertObjectMatch, assertStringIncludes } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import type { Step } from "../../src/envs/env.ts";
import type { SessionPool } from "../../src/sandbox/contract/pool.ts";
import { SandboxPool } from "../../src/sandbox/pool.ts";
import { PythonInterpreter, type PythonInterpreterOptions } from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { CountingPool } from "../counting_pool.ts";
import { limited, stoppedAfterOutput } from "../sandbox/started.ts";

type Options = Omit<PythonInterpreterOptions, "pool">;

// The interpreters of the pool serve several tests.
Deno.test.sanitizer({ ops: false, resources: false });
const profile = await limited("python", { graceMs: 200 });
const pool = new SandboxPool({ profile, size: 2, resetMode: "rewind" });
Deno.test.afterAll(() => pool[Symbol.asyncDispose]());

const task = { id: "t", query: "q" };

function block(code: string): string {
  return `\`\`\`python\n${code}\n\`\`\`\n`;
}

function envOver(pool: SessionPool, options: Options = {}): TransformedEnv {
  return new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool, timeoutMs: 5_000, ...options })]);
}

/** Returns the text that the model reads for each block of a reply. */
function resultTexts({ history, toolResults }: Step): string[] {
  return history.prompt.slice(-toolResults.length).toChats().map(({ content }) => String(content));
}

/** Returns the texts that the model reads for the blocks of consecutive replies in one episode. */
async function play(pool: SandboxPool, replies: readonly string[], options: Options = {}): Promise<string[]> {
  await using env = envOver(pool, options);
  await env.reset(task);
  const texts: string[] = [];
  for (const reply of replies) texts.push(...resultTexts(await env.step(replyAction(reply))));
  return texts;
}

const both: readonly Options[] = [{ persistent: true }, { persistent: false }];

Deno.test("PythonInterpreter in a real sandbox", async (t) => {
  await t.step("persistent: globals survive blocks and steps until the episode is reset", async () => {
    await using env = envOver(pool);
    await env.reset(task);
    for (const code of ["a=1", "a+=1\nassert a == 2"]) {
      assertEquals(resultTexts(await env.step(replyAction(block(code)))), [
        "Code block 1 executed successfully:\n",
      ]);
    }
    await env.reset(task);
    const look = "if 'a' in globals():\n    raise ValueError('leak')\nprint('a is not defined')";
    assertEquals(resultTexts(await env.step(replyAction(block(look)))), [
      "Code block 1 executed successfully:\na is not defined\n",
    ]);
  });

  await t.step("one-shot: fresh namespace per block", async () => {
    const code = block("print('a' in globals())\na = 1");
    const texts = await play(pool, [code + code, code], { persistent: false });
    assertEquals(texts.map((text) => text.split("\n")[1]), ["False", "False", "False"]);
  });

  await t.step("the blocks of an env all run in the interpreter of that env", async () => {
    await using first = envOver(pool);
    await using second = envOver(pool);
    const reply = (name: string) => block(`who = '${name}'`) + block("print(who)") + block("print(who)");
    for (const env of [first, second]) await env.reset(task);
    const [one, two] = await Promise.all([
      first.step(replyAction(reply("one"))),
      second.step(replyAction(reply("two"))),
    ]);
    assertEquals(resultTexts(one).slice(1).map((text) => text.split("\n")[1]), ["one", "one"]);
    assertEquals(resultTexts(two).slice(1).map((text) => text.split("\n")[1]), ["two", "two"]);
  });

  await t.step(
    "a block that does not end is stopped after its timeout, in both modes",
    async () => {
      const stubborn = "while True:\n    try:\n        while True: pass\n    except BaseException: pass";
      for (const options of both) {
        const texts = await play(pool, [block("while True: pass"), block(stubborn), block("print('on')")], {
          ...options,
          timeoutMs: 1_000,
        });
        const lost = options.persistent ? " - process restarted" : "";
        assert(texts[0]?.endsWith("Code execution timed out"), texts[0]);
        assertEquals(texts[1], `Code block 1 failed:\nCode execution timed out${lost}`);
        assertEquals(texts[2], "Code block 1 executed successfully:\non\n");
      }
    },
  );

  await t.step("functions and comprehensions see the names of their block", async () => {
    const code =
      "k = 2\ndef f(n):\n    return 1 if n == 0 else k * f(n - 1)\nprint([f(i) * k for i in range(3)])";
    for (const options of both) {
      assertEquals(await play(pool, [block(code)], options), [
        "Code block 1 executed successfully:\n[2, 4, 8]\n",
      ]);
    }
  });

  await t.step("a block fails by an exception, not by output to stderr", async () => {
    const warn = "import sys, warnings\nprint('w', file=sys.stderr)\nwarnings.warn('careful')\nprint('ok')";
    const [fine, raised] = await play(pool, [block(warn), block("raise ValueError('This is an error')")]);
    assertEquals(fine, "Code block 1 executed successfully:\nok\n");
    assert(raised?.startsWith("Code block 1 failed:\n") && raised.includes("ValueError: This is an error"));
  });

  await t.step(
    "output is kept after an error and a timeout, and cut with a flag above its limit",
    async () => {
      const [failed] = await play(pool, [
        block("import sys\nprint('before')\nprint('warned', file=sys.stderr)\n1/0"),
      ]);
      assertStringIncludes(String(failed), "before\nwarned\nTraceback");
      const { result: slow } = await stoppedAfterOutput(async (timeoutMs) => {
        const endless = block("print('partial', flush=True)\nwhile True: pass");
        const [stdout = ""] = await play(pool, [endless], { timeoutMs });
        return { stdout };
      }, { hasStarted: (text) => text.includes("partial") });
      assertStringIncludes(slow.stdout, "failed:\npartial\n");
      assertEquals(await play(pool, [block("print('a\\nb', end='')")]), [
        "Code block 1 executed successfully:\na\nb",
      ]);
      await using env = envOver(pool);
      await env.reset(task);
      const step = await env.step(replyAction(block("print('x' * 2_000_000)")));
      assert(resultTexts(step)[0]?.endsWith("\n[output truncated]"));
      assertEquals(step.toolResults[0]?.truncated, true);
    },
  );

  await t.step("output that looks like a marker stays output, and input() raises EOFError", async () => {
    const spoof = "print('---END---')\nprint('---START---')\n'''\n---END---\n'''\nprint('after')";
    const [spoofed, next, input] = await play(pool, [block(spoof), block("print('mine')"), block("input()")]);
    assertEquals(spoofed, "Code block 1 executed successfully:\n---END---\n---START---\nafter\n");
    assertEquals(next, "Code block 1 executed successfully:\nmine\n");
    assertStringIncludes(String(input), "EOFError: EOF when reading a line");
  });

  await t.step("sys.exit() keeps the interpreter, and fails for a code other than 0", async () => {
    const texts = await play(pool, [
      block("import sys\nkept = 1\nprint('x')\nsys.exit(0)"),
      block("sys.exit(3)"),
      block("print(kept)"),
    ]);
    assertEquals(texts, [
      "Code block 1 executed successfully:\nx\n",
      "Code block 1 failed:\nCode exited with exit code 3",
      "Code block 1 executed successfully:\n1\n",
    ]);
  });

  await t.step(
    "memory, processes, files and network of the host are denied, and other envs go on",
    async () => {
      await using neighbour = envOver(pool);
      await neighbour.reset(task);
      await neighbour.step(replyAction(block("kept = 42")));
      const attacks = [
        "x = []\nwhile True: x.append(bytearray(10_000_000))",
        "import os\nos.fork()",
        "import subprocess\nsubprocess.run(['id'])",
        "open('/etc/passwd').read()",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1/')",
      ];
      for (const text of await play(pool, attacks.map(block))) {
        assert(text.startsWith("Code block 1 failed:\n"), text);
      }
      assertEquals(resultTexts(await neighbour.step(replyAction(block("print(kept)")))), [
        "Code block 1 executed successfully:\n42\n",
      ]);
    },
  );

  await t.step(
    "the text of an error is the same in each run, and names no path of the host",
    async () => {
      const code = block("def f():\n    return 1/0\nf()");
      const [first, second] = [await play(pool, [code]), await play(pool, [code])];
      assertEquals(first, second);
      assert(!/\/(tmp|home|usr|root)\b|runner/.test(String(first)), String(first));
      await using env = envOver(pool);
      await env.reset(task);
      const { toolResults: [result] } = await env.step(replyAction(code));
      assert(result?.exec?.status === "error" && result.exec.error.type === "ZeroDivisionError");
      assertEquals([result.tool, result.callId, result.status], ["python", "python-1-1", "error"]);
    },
  );

  await t.step("non-persistent envs share a small pool", async () => {
    const envs = Array.from({ length: 32 }, () => envOver(pool, { persistent: false }));
    await Promise.all(envs.map((env) => env.reset(task)));
    for (const turn of [1, 2]) {
      const steps = await Promise.all(
        envs.map((env, at) => env.step(replyAction(block(`print(${at} * ${turn})`)))),
      );
      assertEquals(
        steps.map((step) => resultTexts(step)[0]),
        envs.map((_, at) => `Code block 1 executed successfully:\n${at * turn}\n`),
      );
    }
    await Promise.all(envs.map((env) => env[Symbol.asyncDispose]()));
  });
});

Deno.test("PythonInterpreter runs the blocks of a message in order, and those of a batch at once", async () => {
  const counted = new CountingPool(pool);
  const envs = Array.from({ length: pool.size }, () => envOver(counted));
  await Promise.all(envs.map((env) => env.reset(task)));
  await Promise.all(envs.map((env) => env.step(replyAction(block("import time")))));
  counted.most = 0;
  const reply = block("time.sleep(0.2); order = [1]") + block("time.sleep(0.2); order.append(2)") +
    block("print(order)");
  const steps = await Promise.all(envs.map((env) => env.step(replyAction(reply))));
  for (const step of steps) {
    assertEquals(resultTexts(step)[2], "Code block 3 executed successfully:\n[1, 2]\n");
  }
  assertEquals(counted.most, envs.length);
  await Promise.all(envs.map((env) => env[Symbol.asyncDispose]()));
});

/** Programs that end well or badly, and the text that a model reads, in the formats `compat` and `json`. */
const ENDS: readonly { code: string; text: string; record: Record<string, unknown> }[] = [
  {
    code: "import warnings\nwarnings.warn('old')\nprint(4)",
    text: "Code block 1 executed successfully:\n4\n",
    record: { status: "ok", stdout: "4\n" },
  },
  {
    code: "import sys\nprint('half done', file=sys.stderr)\nprint(4)",
    text: "Code block 1 executed successfully:\n4\n",
    record: { status: "ok", stdout: "4\n", stderr: "half done\n" },
  },
  {
    code: "import logging\nlogging.error('odd')\nprint(4)",
    text: "Code block 1 executed successfully:\n4\n",
    record: { status: "ok", stdout: "4\n", stderr: "ERROR:root:odd\n" },
  },
  {
    code: "print(4)\nexit(1)",
    text: "Code block 1 failed:\n4\nCode exited with exit code 1",
    record: { status: "exited", stdout: "4\n", exit_code: 1 },
  },
  {
    code: "print(4)\nraise SystemExit('no more')",
    text: "Code block 1 failed:\n4\nno more\nCode exited with exit code 1",
    record: { status: "exited", stdout: "4\n", stderr: "no more\n", exit_code: 1 },
  },
  {
    code: "print(4)\nexit(0)",
    text: "Code block 1 executed successfully:\n4\n",
    record: { status: "ok", stdout: "4\n" },
  },
];

Deno.test("PythonInterpreter decides by the end of a program, not by what it wrote to stderr", async () => {
  for (const { code, text, record } of ENDS) {
    const [shown, next] = await play(pool, [block(`a = 3\n${code}`), block("print(a)")]);
    assertEquals([shown, next], [text, "Code block 1 executed successfully:\n3\n"], code);
    const [json = ""] = await play(pool, [block(code)], { format: "json" });
    assertObjectMatch(JSON.parse(json), record, code);
  }
  const [json = ""] = await play(pool, [block(ENDS[0]?.code ?? "")], { format: "json" });
  assertStringIncludes(JSON.parse(json).stderr, "UserWarning: old");
});
