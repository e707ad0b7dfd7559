import { assertEquals } from "@std/assert";
import { runReplBlock } from "../../../src/cli/repl/block.ts";
import { completeLine, setUpInterpreter } from "../../../src/cli/repl/interpreter.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { FakeSink } from "../fake_sink.ts";
import { runPaddock } from "../run_paddock.ts";

const { signal } = new AbortController();

Deno.test("paddock repl keeps the last value as _, and not None", async () => {
  const { code, stdout } = await runPaddock(["repl"], '5 + 1\n_ * 2\nNone\nprint("x")\n_\n');
  assertEquals([code, stdout], [0, "6\n12\nx\n12\n"]);
});

Deno.test("a prepared interpreter completes words, asks for input(), and is prepared again after a loss", async () => {
  const profile = { ...await loadProfile("python"), hostTools: true };
  await using sandbox = await Sandbox.start({ profile });
  await using session = await sandbox.openSession();
  assertEquals(/^3\.\d+\.\d+/.test(await setUpInterpreter(session, { hasInput: true, signal })), true);

  await session.exec(
    "apple_pie = 'x'\nclass Evil:\n  def __dir__(self): return ['a\\x1b[2J', 'fine']\nevil = Evil()",
  );
  assertEquals(await completeLine(session, "print(apple_"), [["apple_pie"], "apple_"]);
  assertEquals(await completeLine(session, "apple_pie.upp"), [["apple_pie.upper()"], "apple_pie.upp"]);
  assertEquals(await completeLine(session, "  "), [["    "], ""]);
  assertEquals(await completeLine(session, "'text'.upp"), [[], ""]);
  const [evil] = await completeLine(session, "evil.");
  assertEquals(evil.some((name) => name.includes("\x1b")), false);
  assertEquals((await session.exec("sorted(name for name in globals() if 'set_up' in name)")).status, "ok");

  const lines = ["Ada", undefined];
  const prompts: string[] = [];
  const onInput = (prompt: string) => {
    prompts.push(prompt);
    return Promise.resolve(lines.shift());
  };
  const sink = new FakeSink(true);
  const run = async (code: string) =>
    await runReplBlock(session, code, { stdout: sink, stderr: sink, signal, onInput });
  await run('name = input("Who? ")\nname');
  await run("input()");
  assertEquals(prompts, ["Who? ", ""]);
  assertEquals(sink.text.startsWith("'Ada'\n"), true);
  assertEquals(sink.text.trimEnd().endsWith("EOFError: EOF when reading a line"), true);

  await run("import os\nos._exit(3)");
  lines.push("Bob");
  await run("input()");
  await run("_ * 2");
  assertEquals(sink.text.endsWith("'Bob'\n'BobBob'\n"), true, sink.text);
});
