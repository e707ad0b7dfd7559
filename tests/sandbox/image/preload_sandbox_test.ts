import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { loadProfile, parseProfile, type Profile, SandboxError } from "../../../mod/sandbox.ts";
import { withSession } from "../shared_session.ts";
import { traceback, value } from "../started.ts";
import { TempFolder } from "../../temp_folder.ts";

const SOURCE = `
with open("/data/words.txt") as file:
    words = file.read().split()

def fail():
    raise ValueError("so it is")
`;

async function withData(test: (profile: Profile, file: string) => Promise<void>): Promise<void> {
  await using folder = await TempFolder.of({ "words.txt": "one two" });
  const profile = parseProfile(JSON.stringify({ mounts: { "/data": folder.path } }), { source: "preload" });
  const preload = { module: "shelf", source: SOURCE };
  await test({ ...profile, preload }, folder.file("words.txt").hostPath);
}

Deno.test("Profile.preload is imported with its state in every session and after a rewind", async () => {
  await withData(async (profile) => {
    await withSession(async (session) => {
      assertEquals(value(await session.exec("import shelf\nshelf.words")), "['one', 'two']");
      await session.exec("shelf.words.append('three')\nshelf.more = 1");
      assertEquals(value(await session.exec("len(shelf.words)")), "3");
      await session.reset({ mode: "rewind" });
      assertEquals(
        value(await session.exec("import shelf\n(shelf.words, hasattr(shelf, 'more'))")),
        "(['one', 'two'], False)",
      );
      assertStringIncludes(traceback(await session.exec("shelf.fail()")), 'File "<shelf>", line 6, in fail');
    }, { profile });
  });
});

Deno.test("Profile.preload runs again when a mounted file has changed", async () => {
  await withData(async (profile, file) => {
    const words = async () => {
      let found: string | undefined;
      await withSession(async (session) => {
        found = value(await session.exec("import shelf\nlen(shelf.words)"));
      }, { profile });
      return found;
    };
    await Deno.writeTextFile(file, "one two three");
    assertEquals(await words(), "3");
  });
});

Deno.test("Profile.preload has the permissions of a session, and its failure is reported", async () => {
  const profile = await loadProfile("python");
  const source = `
failures = []
for attempt in ("import js", "open('/etc/passwd')"):
    try:
        exec(attempt)
    except Exception as error:
        failures.append(type(error).__name__)
raise ValueError(f"no data after {failures}")`;
  const broken = { ...profile, preload: { module: "broken", source } };
  await assertRejects(
    () => withSession(() => Promise.resolve(), { profile: broken }),
    SandboxError,
    "ValueError: no data after ['ModuleNotFoundError', 'FileNotFoundError']",
  );
});
