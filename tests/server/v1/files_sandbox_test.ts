import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { PaddockClient } from "../../../mod/client.ts";
import { GuestFileError } from "../../../src/errors.ts";
import type { Served } from "../served.ts";
import { withPython } from "../with_python.ts";

interface Files {
  exec(code: string): Promise<string>;
  list(path: string): Promise<{ status: number; body: Listing }>;
  remove(path: string, recursive?: boolean): Promise<{ status: number; message: string; reason: string }>;
  mkdir(path: string): Promise<{ status: number; message: string; reason: string }>;
}
// deno-lint-ignore no-explicit-any -- compared with whole bodies
type Listing = any;

async function withFiles(test: (files: Files, server: Served) => Promise<void>): Promise<void> {
  await withPython(async (server) => {
    const { body: { id } } = await server.send("POST", "/v1/sessions", {});
    const path = `/v1/sessions/${id}`;
    const query = (values: Record<string, string>) => `${path}/files?${new URLSearchParams(values)}`;
    const outcome = ({ status, body }: { status: number; body: Listing }) => {
      const { message = "", reason = "" } = body.error ?? {};
      return { status, message, reason };
    };
    await test({
      exec: async (code) => {
        const { body } = await server.send("POST", `${path}/exec`, { code });
        assertEquals(body.status, "ok", JSON.stringify(body));
        return body.value;
      },
      list: async (path) => await server.send("GET", query({ path })),
      remove: async (path, recursive) =>
        outcome(await server.send("DELETE", query({ path, ...(recursive && { recursive: "true" }) }))),
      mkdir: async (folder) => outcome(await server.send("POST", `${path}/directories`, { path: folder })),
    }, server);
  });
}

Deno.test("folders of a session are made, listed with sizes, types and times, and removed", async () => {
  await withFiles(async ({ exec, list, remove, mkdir }) => {
    assertEquals((await mkdir("data/raw")).status, 204);
    assertEquals((await mkdir("data/raw/")).status, 204);
    await exec(`import os
open("data/b.txt", "w").write("hello")
open("data/é\\n'\\".txt", "w").close()
os.symlink("/lib", "data/link")
os.utime("data/b.txt", (0, 1_700_000_000))`);
    const { status, body } = await list("data");
    assertEquals([status, body.total, body.truncated], [200, 4, undefined]);
    assertEquals(
      body.files.map(({ path, bytes, type }: Listing) => [path, bytes, type]),
      [["data/b.txt", 5, "file"], ["data/link", 0, "link"], ["data/raw", 0, "directory"], [
        `data/é\n'".txt`,
        0,
        "file",
      ]],
    );
    assertEquals(body.files[0].modifiedAt, "2023-11-14T22:13:20.000Z");
    assertEquals((await list(".")).body.files.map(({ path }: Listing) => path), ["data"]);
    assertEquals((await list("data/raw")).body.files, []);
    assertEquals((await remove("data/b.txt")).status, 204);
    assertEquals((await remove("data/raw")).status, 204);
    const full = await remove("data");
    assertEquals([full.status, full.reason], [422, "file_unwritable"]);
    assertStringIncludes(full.message, "recursive=true");
    assertEquals((await remove("data", true)).status, 204);
    assertEquals(await exec(`(os.listdir("."), os.path.exists("/lib/python3.14"))`), "([], True)");
  });
});

Deno.test("paths that leave the working directory are refused, also through links", async () => {
  await withFiles(async ({ exec, list, remove, mkdir }) => {
    await exec(`import os
os.symlink("/tmp", "out")
os.symlink("..", "up")
os.makedirs("/tmp/victim", exist_ok=True)`);
    for (const path of ["..", "../x", "/tmp", "a/../../x", "~/x", "C:/x", "a\\b", "a\0b", "x".repeat(1025)]) {
      assertEquals((await list(path)).status, 422, path);
      assertEquals((await remove(path, true)).status, 422, path);
      assertEquals((await mkdir(path)).status, 422, path);
    }
    for (const path of [".", "./", "", "//"]) assertEquals((await remove(path, true)).status, 422, path);
    for (const path of ["out", "out/victim", "up", "up/pyodide"]) {
      assertEquals((await list(path)).status, 404, path);
    }
    assertEquals((await remove("out/victim", true)).status, 404);
    assertEquals((await mkdir("out/new")).status, 422);
    assertEquals((await remove("out", true)).status, 204);
    assertEquals(await exec(`(os.listdir("/tmp") == ["victim"], os.listdir("."))`), "(True, ['up'])");
  });
});

Deno.test("missing files and files in place of folders are refused with the reason", async () => {
  await withFiles(async ({ exec, list, remove, mkdir }) => {
    await exec(`open("file", "w").close()`);
    const missing = await list("nothing");
    assertEquals([missing.status, missing.body.error.reason], [404, "file_not_found"]);
    assertEquals((await remove("nothing")).reason, "file_not_found");
    assertEquals((await list("file")).body.error.reason, "file_unreadable");
    assertEquals((await mkdir("file")).reason, "file_unwritable");
    assertEquals((await mkdir("file/inner")).reason, "file_unwritable");
    assertEquals((await list("\ud800")).status, 404);
  });
});

Deno.test("a list leaves no names in the session, and the next result still states a restart", async () => {
  await withFiles(async ({ exec, list }, server) => {
    const before = await exec("sorted(globals())");
    await list(".");
    assertEquals(await exec("sorted(globals())"), before);
    const [session] = server.sessions.directory.list("");
    await session?.exec("import os; os._exit(1)");
    assertEquals((await list(".")).status, 200);
    assertEquals((await session?.exec("1"))?.restarted, true);
    assertEquals((await session?.exec("1"))?.restarted, undefined);
  });
});

Deno.test("a list of 100,000 files has the first 10,000 and says so", async () => {
  await withFiles(async ({ exec, list, remove }) => {
    const count = Number(
      await exec(`import os
os.mkdir("many")
made = 0
try:
    for made in range(1, 100_001):
        open(f"many/{made:06}", "w").close()
except OSError:
    pass
len(os.listdir("many"))`),
    );
    assert(count > 10_000, `${count}`); // the profile's limit of files applies
    const { status, body } = await list("many");
    assertEquals([status, body.files.length, body.total, body.truncated], [200, 10_000, count, true]);
    assertEquals([body.files[0].path, body.files.at(-1).path], ["many/000001", "many/010000"]);
    assertEquals((await remove("many", true)).status, 204);
    assertEquals((await list(".")).body.files, []);
  });
});

Deno.test("a lease of PaddockClient lists, makes and removes files, and throws the errors of a local session", async () => {
  await withPython(async (server) => {
    await using client = new PaddockClient({
      url: "http://a",
      fetch: (request) => server.app.fetch(request),
    });
    await using lease = await client.acquire({ ttlSeconds: 60, limits: { memoryBytes: 128 * 1024 * 1024 } });
    await lease.makeDirectory("d/inner");
    await lease.session.writeFile("d/a.txt", "hello");
    const entries = await lease.listFiles("d");
    assertEquals(entries.map(({ path, bytes, type }) => [path, bytes, type]), [
      ["d/a.txt", 5, "file"],
      ["d/inner", 0, "directory"],
    ]);
    assertEquals((await lease.listFiles()).map(({ path }) => path), ["d/a.txt"]);
    await assertRejects(() => lease.remove("d"), GuestFileError, "not empty");
    await assertRejects(() => lease.remove("../d"), TypeError, "under the working directory");
    await lease.remove("d", { recursive: true });
    assertEquals(await lease.listFiles("."), []);
    assertEquals((await lease.session.exec("x = bytearray(200_000_000)")).status, "memory");
  });
});

Deno.test("files are written and read at absolute paths of the session, as its programs could", async () => {
  await withFiles(async ({ exec, list }, server) => {
    const [session] = server.sessions.directory.list("");
    const path = `/v1/sessions/${session?.id}`;
    const write = async (file: string, text: string) =>
      await server.send("POST", `${path}/files`, { files: { [file]: btoa(text) } });
    const read = async (file: string) => {
      const response = await server.app.request(`${path}/file?${new URLSearchParams({ path: file })}`);
      const text = await response.text();
      return response.ok ? text : JSON.parse(text).error.reason ?? response.status;
    };
    assertEquals((await write("/tmp/a/b.txt", "outside")).status, 200);
    assertEquals((await write("/home/pyodide/in.txt", "inside")).status, 200);
    assertEquals(await exec(`(open("/tmp/a/b.txt").read(), open("in.txt").read())`), "('outside', 'inside')");
    assertEquals(await exec(`import os; oct(os.stat("in.txt").st_mode)`), "'0o100644'");
    await exec(`import os
os.symlink("/tmp/a", "link"), os.symlink("loop", "loop"), os.chmod("/tmp/a/b.txt", 0o640)
open("secret", "w").write("x"), os.chmod("secret", 0o222)`);
    assertEquals(await read("/tmp/a/b.txt"), "outside");
    assertEquals(await read("/home/pyodide/link/../a/b.txt"), "outside");
    assertEquals((await write("/home/pyodide/link/b.txt", "changed")).status, 200);
    assertEquals(await read("/tmp/a/b.txt"), "changed");
    assertEquals(await exec(`oct(os.stat("/tmp/a/b.txt").st_mode)`), "'0o100640'");
    for (
      const [file, reason] of Object.entries({
        "/tmp/none": "file_not_found",
        "/etc/shadow": "file_not_found",
        [Deno.execPath()]: "file_not_found",
        "/tmp/a/b.txt/c": "file_unreadable",
        "/tmp": "file_is_directory",
        "/": "file_is_directory",
        "/home/pyodide/secret": "file_forbidden",
        "/home/pyodide/loop": "file_unreadable",
        "/dev/stdin": "file_unreadable",
        "/dev/paddock": "file_unreadable",
        "/tmp/\0": 422,
        [`/${"x".repeat(1024)}`]: 422,
      })
    ) assertEquals(await read(file), reason, file);
    await exec(`os.chmod("in.txt", 0o444)`);
    for (
      const [file, reason] of Object.entries({
        "/tmp": "file_is_directory",
        "/tmp/new/": "file_is_directory",
        "/home/pyodide/in.txt": "file_forbidden",
        "/tmp/a/b.txt/c": "file_unwritable",
        "/dev/paddock": "file_unwritable",
      })
    ) assertEquals((await write(file, "x")).body.error.reason, reason, file);
    assertEquals((await list(".")).body.total, 4); // no copy is left
    assertEquals(await read("/home/pyodide/in.txt"), "inside");
  });
});

Deno.test("a session that answers wrongly about an absolute path gives an error, and no file of the host", async () => {
  await withFiles(async ({ exec }, server) => {
    const [session] = server.sessions.directory.list("");
    for (
      const answer of [
        `{"at": "../../etc/passwd", "isCopy": false}`,
        `{"at": "/etc/passwd", "isCopy": false}`,
        `{"at": "missing", "isCopy": true}`,
        `{"at": 1}`,
        `[]`,
        `x`,
      ]
    ) {
      await exec(`import json; json.dumps = lambda _: ${JSON.stringify(answer)}`);
      const { status, body } = await server.send("GET", `/v1/sessions/${session?.id}/file?path=/tmp/x`);
      assert([404, 409, 422].includes(status), `${answer}: ${status} ${JSON.stringify(body)}`);
    }
  });
});

Deno.test("a request for an absolute path that is aborted leaves no copy", async () => {
  await withFiles(async ({ exec, list }, server) => {
    const [session] = server.sessions.directory.list("");
    assert(session);
    await exec(`open("/tmp/x", "w").write("x")`);
    for (
      const work of [
        (signal: AbortSignal) => session.files.read("/tmp/x", signal),
        (signal: AbortSignal) => session.files.write("/tmp/x", new Uint8Array(1), signal),
      ]
    ) {
      const busy = session.exec("import time; time.sleep(1)");
      const abort = new AbortController();
      const waiting = assertRejects(() => work(abort.signal));
      abort.abort();
      await Promise.all([busy, waiting]);
    }
    assertEquals((await list(".")).body.files, []);
    assertEquals(await exec(`open("/tmp/x").read()`), "'x'");
  });
});
