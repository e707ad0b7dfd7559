import { assertEquals, assertStringIncludes } from "@std/assert";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import type { Session } from "../../../src/sandbox/session.ts";
import { withSession } from "../shared_session.ts";
import { TempFolder } from "../../temp_folder.ts";

const folder = await TempFolder.of({ "one.txt": "first\n", "data/two.txt": "second\n" });
const mounts = ["one.txt", "data"].map((path) => ({
  guestPath: `/home/agent/bench/${path}`,
  hostPath: folder.file(path).hostPath,
}));
const profile = { ...await loadProfile("workspace"), mounts, home: "/home/agent" };

Deno.test.afterAll(() => folder[Symbol.asyncDispose]());

function withMounts(test: (session: Session) => Promise<void>): Promise<void> {
  return withSession(test, { profile });
}

Deno.test("Profile.mounts shows files at their guest paths, which no program can remove or change", async () => {
  await withMounts(async (session) => {
    await session.shell("cd /home/agent/bench && echo mine > own.txt");
    for (
      const line of [
        "open(path, 'w')",
        "open(path, 'a')",
        "os.truncate(path, 0)",
        "os.unlink(path)",
        "os.rename(path, path + '2')",
        "os.rename('/home/agent/bench/own.txt', path)",
        "os.chmod(path, 0o666)",
        "os.utime(path, (1, 1))",
      ]
    ) {
      const result = await session.exec(
        `import os\nfor path in ['/home/agent/bench/one.txt', '/home/agent/bench/data/two.txt']:\n` +
          `  try:\n    ${line}\n    print('done')\n  except OSError as error:\n    print('refused')`,
      );
      assertEquals([line, result.stdout], [line, "refused\nrefused\n"]);
    }
    for (
      const line of [
        "echo x > one.txt",
        "echo x >> data/two.txt",
        "rm -f one.txt",
        "rm -rf data",
        "mv one.txt three.txt",
        "cp own.txt one.txt",
        "sed -i s/f/g/ one.txt",
        "ln -sf own.txt one.txt",
        "truncate -s 0 one.txt",
        "python -c \"open('one.txt', 'w')\"",
        "rm -rf ../bench /home",
      ]
    ) {
      const { stateKept } = await session.shell(line);
      assertEquals([line, stateKept], [line, true]);
      const { stdout } = await session.shell(
        "cat /home/agent/bench/one.txt /home/agent/bench/data/two.txt",
      );
      assertEquals([line, stdout], [line, "first\nsecond\n"]);
    }
    const { stdout } = await session.shell(
      "cd /home/agent/bench && realpath one.txt && test -f one.txt",
    );
    assertEquals(stdout, "/home/agent/bench/one.txt\n");
  });
});

Deno.test("Session.reset() keeps mounted files in place after programs have moved their folders", async () => {
  await withMounts(async (session) => {
    for (const line of ["rm -rf /home/agent/bench", "mv /home/agent/bench /home/agent/elsewhere", "true"]) {
      await session.shell(line);
      await session.reset({ mode: "rewind" });
      const { stdout } = await session.shell("pwd; cat bench/one.txt bench/data/two.txt; ls");
      assertEquals([line, stdout], [line, "/home/agent\nfirst\nsecond\nbench\n"]);
    }
  });
});

Deno.test("Profile.home is the directory where sessions start, write and read files", async () => {
  await withMounts(async (session) => {
    await session.writeFile("bench/in.txt", "put");
    const { stdout } = await session.shell("pwd; echo ~; cat bench/in.txt; echo got > bench/out.txt");
    assertEquals(stdout, "/home/agent\n/home/agent\nput");
    assertEquals(new TextDecoder().decode(await session.readFile("bench/out.txt")), "got\n");
    const result = await session.exec("import os\nos.getcwd()");
    assertStringIncludes(result.status === "ok" ? result.value ?? "" : "", "/home/agent");
  });
});
