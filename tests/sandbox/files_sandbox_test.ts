import { assert, assertEquals, assertRejects } from "@std/assert";
import { withSession } from "./shared_session.ts";
import { limited, value } from "./started.ts";

const bytes = new Uint8Array([0, 255, 128, 10, 13]);

Deno.test("Session writes and reads files", async (t) => {
  await withSession(async (session) => {
    await t.step("by writeFile() and readFile()", async () => {
      await session.writeFile("a/b/c.bin", bytes);
      assertEquals(value(await session.exec("open('a/b/c.bin', 'rb').read()")), "b'\\x00\\xff\\x80\\n\\r'");
      assertEquals(await session.readFile("a/b/c.bin"), bytes);
    });
    await t.step("as text", async () => {
      await session.writeFile("t.txt", "zażółć 🐎");
      assertEquals(value(await session.exec("open('t.txt').read()")), "'zażółć 🐎'");
    });
    await t.step("with an exec", async () => {
      const result = await session.exec("open('out', 'wb').write(open('in', 'rb').read()[::-1])", {
        files: { "in": bytes, "also/empty": "" },
        fetchFiles: ["out", "also/empty", "missing", "also"],
      });
      assertEquals(result.files, { "out": bytes.slice().reverse(), "also/empty": new Uint8Array(0) });
    });
    await t.step("with an exec that fails", async () => {
      const result = await session.exec("open('half', 'w').write('half')\n1/0", { fetchFiles: ["half"] });
      assertEquals([result.status, new TextDecoder().decode(result.files?.half)], ["error", "half"]);
    });
    await t.step("that are large", async () => {
      const large = new Uint8Array(20_000_000).map((_, at) => at % 251);
      await session.writeFile("large", large);
      assertEquals(value(await session.exec("import os\nos.path.getsize('large')")), "20000000");
      assertEquals((await session.readFile("large")).length, large.length);
    });
    await t.step("with names that differ by case and form", async () => {
      for (const name of ["A", "a", "é", "e\u0301"]) await session.writeFile(`names/${name}`, name);
      assertEquals(new TextDecoder().decode(await session.readFile("names/e\u0301")), "e\u0301");
      assertEquals(value(await session.exec("len(os.listdir('names'))")), "4");
    });
  });
});

Deno.test("Session refuses paths outside the working directory", async (t) => {
  const paths = [
    "../x",
    "a/../../x",
    "/etc/passwd",
    "~/x",
    "~root/x",
    "C:\\x",
    "C:/x",
    "a\\b",
    "a\0b",
    "",
    ".",
    "./",
    "a/..",
    "x".repeat(5_000),
  ];
  await withSession(async (session) => {
    for (const path of paths) {
      await t.step(JSON.stringify(path.slice(0, 20)), async () => {
        const shown = JSON.stringify(path.length > 80 ? `${path.slice(0, 80)}…` : path);
        const message =
          `Cannot use path as it must be relative and stay under the working directory: current value is ${shown}`;
        await assertRejects(() => session.writeFile(path, "x"), TypeError, message);
        await assertRejects(() => session.readFile(path), TypeError, message);
        await assertRejects(() => session.exec("1", { files: { [path]: "x" } }), TypeError, message);
        await assertRejects(() => session.exec("1", { fetchFiles: [path] }), TypeError, message);
      });
    }
  });
});

Deno.test("Session does not follow links of the guest", async () => {
  await withSession(async (session) => {
    value(
      await session.exec(
        "import os\nos.symlink('/lib/python314.zip', 'zip')\nos.symlink('/tmp', 'folder')\nos.symlink('self', 'self')\nopen('/tmp/x', 'w').write('x') and None",
      ),
    );
    for (const path of ["zip", "folder/x", "self"]) {
      await assertRejects(() => session.readFile(path), Error, "is a symbolic link");
      await assertRejects(() => session.writeFile(path, "x"), Error, "is a symbolic link");
    }
    assertEquals((await session.exec("1", { fetchFiles: ["zip", "folder/x"] })).files, {});
    assertEquals(value(await session.exec("open('/tmp/x').read()")), "'x'");
  });
});

Deno.test("Session.readFile() names a file that does not exist", async () => {
  await withSession(async (session) => {
    await assertRejects(() => session.readFile("nothing"), Error);
    await session.exec("import os\nos.mkdir('d')");
    await assertRejects(() => session.readFile("d"), Error, "'d' is not a file");
    assertEquals(value(await session.exec("1")), "1");
  });
});

Deno.test("Session enforces the limit of file bytes", async () => {
  await withSession(async (session) => {
    await assertRejects(() => session.writeFile("big", new Uint8Array(2_000_000)), Error);
    const full = await session.exec("open('big', 'wb').write(bytes(2_000_000))");
    assert(full.status === "error" && full.error.type === "OSError", JSON.stringify(full));
    assertEquals(value(await session.exec("open('small', 'wb').write(bytes(450_000))")), "450000");
    await session.exec("import os\nos.remove('big')");
    assertEquals(
      value(
        await session.exec(
          "for i in range(20):\n    open('again', 'wb').write(bytes(400_000))\nos.path.getsize('again')",
        ),
      ),
      "400000",
    );
    await session.reset({ mode: "rewind" });
    assertEquals(value(await session.exec("open('after', 'wb').write(bytes(900_000))")), "900000");
  }, { profile: await limited("python", { fileBytes: 1_000_000 }) });
});

Deno.test("Session.exec() returns files up to 64 MiB, each once", async () => {
  await withSession(async (session) => {
    const names = Array.from({ length: 40 }, (_, index) => `${"./".repeat(index % 20)}a`);
    const { files = {} } = await session.exec("open('a', 'wb').write(bytes(6_000_000))", {
      fetchFiles: names,
    });
    assertEquals(Object.keys(files), names.slice(0, 11));
  });
});
