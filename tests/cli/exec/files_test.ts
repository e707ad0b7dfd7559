import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { UnwrittenError, UsageError } from "../../../src/cli/cli_errors.ts";
import {
  checkOutputFiles,
  parseInputFile,
  parseOutputFile,
  readInputFiles,
  saveOutputFiles,
  writeInputFiles,
} from "../../../src/cli/exec/files.ts";
import { type Io, withIo } from "../../../src/cli/io.ts";
import { GuestFileError } from "../../../src/errors.ts";
import type { PythonSession } from "../../../src/sandbox/contract/pool.ts";
import { FakePool } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { FakeSink } from "../fake_sink.ts";

const LIMITS = { fileBytes: 1000 };
const kept = { stateKept: true };

async function withSession(work: (session: PythonSession, stderr: FakeSink) => Promise<void>): Promise<void> {
  const stderr = new FakeSink();
  await using lease = await new FakePool().acquire();
  await withIo({ stderr } as unknown as Io, () => work(lease.session, stderr));
}

Deno.test("parseInputFile() splits at the last '=' and takes the name from the path", () => {
  assertEquals(parseInputFile("a/data.csv"), [{ path: "a/data.csv", name: "data.csv" }]);
  assertEquals(parseInputFile("a=1/data.csv=in/x.csv", [{ path: "p", name: "n" }]), [
    { path: "p", name: "n" },
    { path: "a=1/data.csv", name: "in/x.csv" },
  ]);
  for (const value of ["", "=", "a=", "=b"]) assertThrows(() => parseInputFile(value), InvalidArgumentError);
});

Deno.test("parseOutputFile() splits at the first '=' and takes the path from the name", () => {
  assertEquals(parseOutputFile("out/plot.png"), [{ path: "plot.png", name: "out/plot.png" }]);
  assertEquals(parseOutputFile("plot.png=a=1/b.png"), [{ path: "a=1/b.png", name: "plot.png" }]);
  for (const value of ["", "a=", "=b"]) assertThrows(() => parseOutputFile(value), InvalidArgumentError);
});

Deno.test("readInputFiles() reads files, and refuses wrong ones before anything starts", async () => {
  await using folder = await TempFolder.of({ a: "text", "sub/b": new Uint8Array(600) });
  const [a, b] = [join(folder.path, "a"), join(folder.path, "sub/b")];
  assertEquals(await readInputFiles([{ path: a, name: "x/y" }], LIMITS), [
    { name: "x/y", contents: new TextEncoder().encode("text") },
  ]);
  const cases: [{ path: string; name: string }[], string][] = [
    [[{ path: join(folder.path, "none"), name: "a" }], "there is no such file"],
    [[{ path: join(folder.path, "sub"), name: "a" }], "it is a directory"],
    [[{ path: "-", name: "a" }], "--file needs a path"],
    [[{ path: a, name: "../a" }], "must be relative and stay under the working directory"],
    [[{ path: a, name: "/etc/a" }], "must be relative and stay under the working directory"],
    [[{ path: a, name: "~/a" }], "must be relative and stay under the working directory"],
    [[{ path: a, name: "n" }, { path: b, name: "./n" }], "two of --file have the name 'n'"],
    [[{ path: b, name: "n" }, { path: b, name: "m" }], "must have at most 400 bytes"],
  ];
  for (const [copies, message] of cases) {
    await assertRejects(() => readInputFiles(copies, LIMITS), UsageError, message);
  }
});

Deno.test("checkOutputFiles() refuses paths that cannot be written", async () => {
  await using folder = await TempFolder.of({ file: "", "sub/x": "" });
  const at = (name: string) => join(folder.path, name);
  await checkOutputFiles([{ name: "a", path: at("file") }, { name: "a", path: at("new") }]);
  const cases: [{ path: string; name: string }[], string][] = [
    [[{ name: "a", path: at("sub") }], "it is a directory"],
    [[{ name: "a", path: at("none/a") }], "there is no such file"],
    [[{ name: "a", path: at("file/a") }], "is no directory"],
    [[{ name: "../a", path: at("a") }], "must be relative and stay under the working directory"],
    [[{ name: "a", path: at("a") }, { name: "b", path: at("a") }], "two files of --get have this path"],
  ];
  for (const [copies, message] of cases) {
    await assertRejects(() => checkOutputFiles(copies), UsageError, message);
  }
  assertEquals((await Array.fromAsync(Deno.readDir(folder.path))).length, 2);
});

Deno.test("saveOutputFiles() writes the files that exist and reports the others", () =>
  withSession(async (session, stderr) => {
    await using folder = await TempFolder.of();
    const [a, b] = [join(folder.path, "a"), join(folder.path, "b")];
    await writeInputFiles(session, [{ name: "x", contents: new Uint8Array([0, 255]) }]);
    assertEquals(await saveOutputFiles(session, [{ name: "x", path: a }], kept), true);
    const copies = [{ name: "none\u001b[2J", path: b }, { name: "x", path: a }];
    assertEquals(await saveOutputFiles(session, copies, kept), false);
    assertEquals(stderr.text, "error: Cannot read 'none\\x1b[2J' as it was never written\n");
    assertEquals(await Deno.readFile(a), new Uint8Array([0, 255]));
    assertEquals((await Array.fromAsync(Deno.readDir(folder.path))).map(({ name }) => name), ["a"]);
    assertEquals(await saveOutputFiles(session, [{ name: "x", path: b }], { stateKept: false }), false);
    assertEquals(stderr.text.includes("Cannot read 'x' as the interpreter has ended"), true);
    await assertRejects(
      () => saveOutputFiles(session, [{ name: "x", path: join(folder.path, "none/a") }], kept),
      UnwrittenError,
      "there is no such file",
    );
  }));

Deno.test("writeInputFiles() reports a file that the session cannot hold as wrong usage", () =>
  withSession(async (session) => {
    session.writeFile = () =>
      Promise.reject(
        new GuestFileError("Cannot write 'x' as there is no space", { code: "file_unwritable" }),
      );
    const write = () => writeInputFiles(session, [{ name: "x", contents: new Uint8Array() }]);
    await assertRejects(write, UsageError, "Cannot write 'x' as there is no space");
  }));
