import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { SandboxError } from "../../../src/errors.ts";
import type { Grants } from "../../../src/sandbox/process/grants.ts";
import { detectLayers } from "../../../src/sandbox/process/layers.ts";
import { type ToolFile, toolFile, type ToolFileOptions } from "../../../src/tools/file/tool_file.ts";
import { childrenOf } from "../../../bench/processes.ts";
import { TempFolder } from "../../temp_folder.ts";
import { answersTo, stepWithTools } from "../play_tools.ts";
import { join } from "node:path";

const detected = await detectLayers();

function start(name: string, options: ToolFileOptions = {}): Promise<ToolFile> {
  return toolFile(new URL(`./files/${name}.ts`, import.meta.url), { detected, ...options });
}

/** Returns a folder with copies of the files, whose path the command lines of their processes have. */
async function copyFiles(): Promise<TempFolder> {
  const read = async (
    name: string,
  ) => [name, await Deno.readTextFile(new URL(`./files/${name}`, import.meta.url))];
  return await TempFolder.of(Object.fromEntries(await Promise.all(["search.ts", "hostile.ts"].map(read))));
}

/** Runs code in the hostile file and returns the text of its result. */
async function runHostile(tool: ToolFile, code: string, timeoutMs = 5_000): Promise<string> {
  const call = `<tool>hostile\n${JSON.stringify({ code })}</tool>`;
  const [text] = await answersTo(call, [tool], { timeoutMs });
  return String(text).split("\n").slice(1).join("\n");
}

Deno.test("toolFile() runs a file as a tool and keeps its prints out of results", async () => {
  await using search = await start("search");
  assertEquals([search.name, search.description], ["search", "Searches a list of words."]);
  assertEquals(
    await answersTo('<tool>search\n{"query":"box"}</tool><tool>search\n{"query":1}</tool>', [search]),
    [
      'Tool search executed successfully:\n{"found":["box","sandbox"]}',
      'Tool search failed:\nTool arguments are not valid: query: Instance type "number" is invalid. Expected "string"',
    ],
  );
});

Deno.test("toolFile() refuses files that are not tools and unknown permissions", async () => {
  await assertRejects(() => start("no_function"), SandboxError, "the file must export 'run'");
  await assertRejects(() => start("not_there"), SandboxError, "not_there.ts': Module not found");
  const wrong = (permissions: unknown) => start("search", { permissions: permissions as Grants });
  await assertRejects(() => wrong({ run: true }), TypeError, "Cannot grant 'run'");
  await assertRejects(() => wrong({ ffi: ["x"] }), TypeError, "Cannot grant 'ffi'");
  await assertRejects(() => wrong({ reed: true }), TypeError, "Cannot grant 'reed'");
  await assertRejects(() => wrong({ read: 1 }), TypeError, "current value is 1");
  await assertRejects(() => wrong({ read: ["a,b"] }), TypeError, "must have no comma");
  await assertRejects(() => start("search", { name: "a b" }), TypeError, "current value is 'a b'");
  await assertRejects(() => start("search", { timeoutMs: -1 }), RangeError, "current value is -1");
});

Deno.test("toolFile() denies everything that is not granted", async (t) => {
  const escapes: Readonly<Record<string, string>> = {
    "reading a file": "return await Deno.readTextFile('/etc/passwd')",
    "reading a file as Node": "return (await import('node:fs')).readFileSync('/etc/passwd', 'utf8')",
    "reading its own code": "return await Deno.readTextFile(new URL(import.meta.url))",
    "writing a file": "await Deno.writeTextFile('/paddock-escape', 'x')",
    "the environment": "return Deno.env.toObject()",
    "the network": "return await (await fetch('http://127.0.0.1:1/')).text()",
    "a socket": "return await Deno.connect({ port: 1 })",
    "a program": "return await new Deno.Command('id').output()",
    "a program as Node": "return (await import('node:child_process')).execSync('id').toString()",
    "a remote import": "return Object.keys(await import('https://127.0.0.1:1/x.js'))",
    "a local import": "return await import('file:///etc/hostname', { with: { type: 'text' } })",
    "a package": "return Object.keys(await import('npm:zod@4.6.7'))",
    "native code": "return Deno.dlopen('libc.so.6', {})",
    "the host's name": "return Deno.hostname()",
    "a worker with more":
      "new Worker('data:,0', { type: 'module', deno: { permissions: 'inherit' } }); localStorage.setItem('a', 'b')",
    "asking for more": "return (await Deno.permissions.request({ name: 'read' })).state === 'granted' || x",
  };
  await using hostile = await start("hostile", { env: { SECRET: "1" } });
  for (const [what, code] of Object.entries(escapes)) {
    await t.step(what, async () => {
      const text = await runHostile(hostile, code);
      assert(text.startsWith("Tool execution failed: "), text);
    });
  }
});

Deno.test("toolFile() grants exactly the named permissions", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/notes.txt`, "a note");
    await using reader = await start("hostile", {
      permissions: { read: [folder], env: ["COLOR"] },
      env: { COLOR: "red", OTHER: "blue" },
    });
    assertEquals(await runHostile(reader, `return Deno.readTextFile('${folder}/notes.txt')`), "a note");
    assertEquals(await runHostile(reader, "return Deno.env.get('COLOR')"), "red");
    assertStringIncludes(await runHostile(reader, "return Deno.env.get('OTHER')"), "Tool execution failed");
    assertStringIncludes(
      await runHostile(reader, "return Deno.readTextFile('/etc/passwd')"),
      "Tool execution failed",
    );
    await using writer = await start("hostile", { permissions: { write: [folder] } });
    assertEquals(
      await runHostile(writer, `await Deno.writeTextFile('${folder}/out.txt', 'x'.repeat(5000))`),
      "null",
    );
    assertEquals((await Deno.readTextFile(`${folder}/out.txt`)).length, 5000);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("toolFile() survives forged frames and floods on its pipe", async (t) => {
  await using hostile = await start("hostile");
  const write = "const { writeSync } = await import('node:fs'); const put = (b) => writeSync(1, b);";
  const frame = "const frame = (kind, slot, text) => { const p = new TextEncoder().encode(text);" +
    "const b = new Uint8Array(8 + p.length); const v = new DataView(b.buffer);" +
    "v.setUint32(0, p.length, true); v.setUint16(4, slot, true); v.setUint8(6, kind); b.set(p, 8); return b; };";
  const attacks: Readonly<Record<string, string>> = {
    "plain text": "put(new TextEncoder().encode('hello, I am no frame'))",
    "a frame of 4 GB": "put(new Uint8Array([255, 255, 255, 255, 0, 0, 0, 0]))",
    "a result without a call": "put(frame(37, 999, '{\"value\":1}'))",
    "a result that is not JSON": "for (let i = 1; i < 50; i++) put(frame(37, i, '{'))",
    "an acknowledgement of nothing": "put(frame(38, 1, 'null'))",
    "frames of the sandbox": "put(frame(36, 0, '{}'))",
    "metadata of the wrong type": "put(frame(33, 0, '[1]'))",
  };
  for (const [what, attack] of Object.entries(attacks)) {
    await t.step(what, async () => {
      const text = await runHostile(hostile, `${write} ${frame} ${attack}; await wait()`);
      assertStringIncludes(text, "Tool execution failed: the tool's process is gone: ");
      assertEquals(await runHostile(hostile, "return 'alive'"), "alive");
    });
  }
  await t.step("prints and Deno.stdout", async () => {
    const text = await runHostile(
      hostile,
      "console.log('x'); await Deno.stdout.write(new Uint8Array(9)); return 1",
    );
    assertEquals(text, "1");
  });
});

Deno.test("toolFile() ends a call that hangs or never resolves, and runs the next one", async () => {
  await using hostile = await start("hostile");
  assertEquals(await runHostile(hostile, "globalThis.kept = 1; return calls"), "1");
  for (const code of ["while (true);", "await wait()"]) {
    assertEquals(await runHostile(hostile, code, 100), "Tool execution timed out after 0.1 seconds");
    assertEquals(await runHostile(hostile, "return [calls, globalThis.kept ?? null]"), "[1,null]");
  }
});

Deno.test("toolFile() lets other calls of a process end when one is cancelled", async () => {
  await using hostile = await start("hostile");
  const deaf = "<tool>hostile\n" + JSON.stringify({ code: "await wait()" }) + "</tool>";
  const first = stepWithTools(deaf, [hostile], { timeoutMs: 50 });
  const second = runHostile(hostile, "return await new Promise((done) => setTimeout(done, 400, 'kept'))");
  assertEquals((await first).toolResults[0]?.status, "timeout");
  assertEquals(await second, "kept");
});

Deno.test("toolFile() reports a crash and starts a new process for the next call", async () => {
  await using hostile = await start("hostile", { memoryBytes: 32 * 1024 * 1024 });
  assertEquals(
    await runHostile(hostile, "Deno.exit(3)"),
    "Tool execution failed: the tool's process is gone: the process ended with code 3",
  );
  assertEquals(
    await runHostile(hostile, "setTimeout(() => { throw new Error('boom') }); await wait()"),
    "Tool execution failed: the tool's process is gone: Uncaught Error: boom",
  );
  const memory = await runHostile(
    hostile,
    "const all = []; while (true) all.push(new Array(1e6).fill(calls))",
  );
  assertStringIncludes(memory, "the tool's process is gone: the process ");
  assertEquals(await runHostile(hostile, "return 'alive'"), "alive");
});

Deno.test("toolFile() leaves no process and no file behind when it is disposed", async () => {
  await using folder = await copyFiles(); // tests of other files have processes of tools, too
  const own = (name: string) => toolFile(join(folder.path, `${name}.ts`), { detected });
  const tools = await Promise.all([own("search"), own("search"), own("hostile")]);
  assertEquals((await childrenOf(Deno.pid, folder.path)).length, 3);
  const hang = runHostile(tools[2], "while (true);");
  await Promise.all(tools.map((tool) => tool[Symbol.asyncDispose]()));
  assertStringIncludes(await hang, "Tool execution failed: ");
  assertEquals(await childrenOf(Deno.pid, folder.path), []);
  assertStringIncludes(await runHostile(tools[2], "return 1"), "it is disposed");
  await tools[0]?.[Symbol.asyncDispose]();
});

Deno.test("toolFile() ends with its host, even when the host is killed", async () => {
  const code = `
    import { toolFile } from ${
    JSON.stringify(new URL("../../../src/tools/file/tool_file.ts", import.meta.url))
  };
    const tool = await toolFile(new URL("./files/hostile.ts", ${JSON.stringify(import.meta.url)}));
    tool.run({ code: "while (true);" }, { signal: new AbortController().signal, callId: "c", state: {} });
    await Deno.stdout.write(new TextEncoder().encode("up"));
    setInterval(() => {}, 1000);`;
  const main = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(main, code);
  const config = decodeURIComponent(new URL("../../../deno.json", import.meta.url).pathname);
  await using host = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--config", config, main],
    stdout: "piped",
    stdin: "null",
  }).spawn();
  const reader = host.stdout.getReader();
  await reader.read();
  const [child = 0] = await childrenOf(host.pid, "paddock-tool-");
  assert(child > 0);
  const folder = /[^\0]*paddock-tool-\w+/.exec(await Deno.readTextFile(`/proc/${child}/cmdline`))?.[0] ?? "";
  host.kill("SIGKILL");
  await host.status;
  while (await exists(`/proc/${child}/cmdline`)) await new Promise((resolve) => setTimeout(resolve, 10));
  await reader.cancel();
  await Deno.remove(main);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("toolFile() fetches packages before the start when the permission import is granted", async () => {
  await assertRejects(() => start("packaged"), SandboxError, "Cannot start tool file");
  let packaged: ToolFile;
  try {
    packaged = await start("packaged", { permissions: { import: true } });
  } catch (error) {
    // Without a network, or without the package, the start must fail with this error only.
    assertStringIncludes(String(error), "Cannot fetch");
    return;
  }
  await using tool = packaged;
  assertEquals(await answersTo('<tool>packaged\n{"n":21}</tool>', [tool]), [
    "Tool packaged executed successfully:\n42",
  ]);
});

async function exists(path: string): Promise<boolean> {
  return (await Deno.readTextFile(path).catch(() => "")) !== "";
}
