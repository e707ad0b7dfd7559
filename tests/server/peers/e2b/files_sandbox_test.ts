import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Served } from "../../served.ts";
import { withPython } from "../../with_python.ts";

/** Sends a request to a sandbox, with a body as it is. */
async function send(server: Served, path: string, init: RequestInit & { id: string }): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("e2b-sandbox-id", init.id);
  return await server.app.request(path, { ...init, headers });
}

/** Calls a method of envd as JSON. */
// deno-lint-ignore no-explicit-any
async function call(server: Served, id: string, method: string, body: object): Promise<any> {
  const headers = { "content-type": "application/json", "connect-protocol-version": "1" };
  const path = `/filesystem.Filesystem/${method}`;
  const response = await send(server, path, { id, method: "POST", headers, body: JSON.stringify(body) });
  return await response.json();
}

async function withSandbox(test: (server: Served, id: string) => Promise<void>): Promise<void> {
  await withPython(async (server) => {
    const { body } = await server.send("POST", "/sandboxes", { timeout: 60 });
    await test(server, body.sandboxID);
  });
}

async function write(server: Served, id: string, path: string, text: string): Promise<Response> {
  const headers = { "content-type": "application/octet-stream" };
  return await send(server, `/files?path=${path}`, { id, method: "POST", headers, body: text });
}

Deno.test("/files writes and reads files of a sandbox, as a form, as they are and compressed", async () => {
  await withSandbox(async (server, id) => {
    const one = await write(server, id, "a/b.txt", '["1"');
    assertEquals(await one.json(), [{ name: "b.txt", path: "/home/user/a/b.txt", type: "file" }]);
    assertEquals(await (await send(server, "/files?path=/home/user/a/b.txt", { id })).text(), '["1"');
    const form = new FormData();
    form.append("file", new Blob(["one"]), "/tmp/one.txt");
    form.append("file", new Blob(["[".repeat(200)]), "two.txt");
    const headers = { "x-metadata-author": "ada" };
    const two = await send(server, "/files", { id, method: "POST", headers, body: form });
    assertEquals((await two.json()).map(({ path, metadata }: Record<string, unknown>) => [path, metadata]), [
      ["/tmp/one.txt", { author: "ada" }],
      ["/home/user/two.txt", { author: "ada" }],
    ]);
    const field = new FormData();
    field.append("file", "text\r\nü");
    await send(server, "/files?path=field", { id, method: "POST", body: field });
    assertEquals(await (await send(server, "/files?path=field", { id })).text(), "text\r\nü");
    assertEquals((await send(server, "/files", { id, method: "POST", body: field })).status, 400);
    const boundary = { "content-type": "multipart/form-data; boundary=b" };
    const start = new TextEncoder().encode('--b\r\ncontent-disposition: form-data; name="file"\r\n\r\n');
    const binary = new Blob([start, Uint8Array.of(0xff, 0xfe), "\r\n--b--\r\n"]);
    const lossy = await send(server, "/files?path=field", {
      id,
      method: "POST",
      headers: boundary,
      body: await binary.arrayBuffer(),
    });
    assertEquals(lossy.status, 400);
    const packed = await new Response(
      new Blob(["packed"]).stream().pipeThrough(new CompressionStream("gzip")),
    )
      .bytes();
    const gzip = { "content-encoding": "gzip", "content-type": "application/octet-stream" };
    await send(server, "/files?path=c", { id, method: "POST", headers: gzip, body: packed });
    assertEquals(await (await send(server, "/files?path=c", { id })).text(), "packed");
    const read = await send(server, "/files?path=c", { id, headers: { "accept-encoding": "gzip" } });
    assertEquals(read.headers.get("content-encoding"), "gzip");
    const { body } = await server.send("POST", "/execute", { code: "open('c').read()" }, {
      "e2b-sandbox-id": id,
    });
    assertStringIncludes(body, '"text":"packed"');
  });
});

Deno.test("/files refuses signatures, requests without a sandbox, missing files, folders and bombs", async () => {
  await withSandbox(async (server, id) => {
    const status = async (path: string, init: object = {}) => {
      const response = await send(server, path, { id, ...init });
      const { code, message } = await response.json();
      assertEquals(code, response.status);
      return [code, message];
    };
    assertEquals((await status("/files?path=a&signature=v1_x"))[0], 401);
    assertEquals(await status("/files?path=a"), [404, "path '/home/user/a' does not exist"]);
    assertEquals(await status("/files?path=/tmp"), [400, "path '/tmp' is a directory"]);
    assertEquals((await server.app.request("/files?path=a")).status, 400);
    assertEquals((await status("/files", { method: "POST", body: "x" }))[0], 400);
    const zeros = new Blob([new Uint8Array(40 * 1024 * 1024)]).stream();
    const bomb = await new Response(zeros.pipeThrough(new CompressionStream("gzip"))).bytes();
    const headers = { "content-encoding": "gzip" };
    assertEquals((await status("/files?path=b", { method: "POST", headers, body: bomb }))[0], 413);
    const broken = { method: "POST", headers, body: "no gzip" };
    assertEquals((await status("/files?path=b", broken))[0], 400);
    const meta = { method: "POST", headers: { "x-metadata-a": "x".repeat(5000) }, body: "x" };
    assertEquals((await status("/files?path=b", meta))[0], 400);
  });
});

Deno.test("envd's filesystem lists, makes, moves, describes and removes entries", async () => {
  await withSandbox(async (server, id) => {
    assertEquals((await call(server, id, "MakeDir", { path: "d/e" })).entry.path, "/home/user/d/e");
    assertEquals((await call(server, id, "MakeDir", { path: "d" })).code, "already_exists");
    await write(server, id, "d/f.txt", "hello");
    const { entries } = await call(server, id, "ListDir", { path: "d", depth: 2 });
    assertEquals(entries.map(({ name, type }: Record<string, string>) => [name, type]), [
      ["e", "FILE_TYPE_DIRECTORY"],
      ["f.txt", "FILE_TYPE_FILE"],
    ]);
    const { entry: { modifiedTime, ...entry } } = await call(server, id, "Stat", {
      path: "/home/user/d/f.txt",
    });
    assert(!Number.isNaN(Date.parse(modifiedTime)));
    assertEquals(entry, {
      name: "f.txt",
      type: "FILE_TYPE_FILE",
      path: "/home/user/d/f.txt",
      size: "5",
      mode: 0o644,
      permissions: "-rw-r--r--",
      owner: "user",
      group: "user",
    });
    const moved = await call(server, id, "Move", { source: "d/f.txt", destination: "new/g.txt" });
    assertEquals(moved.entry.path, "/home/user/new/g.txt");
    assertEquals((await call(server, id, "Stat", { path: "d/f.txt" })).code, "not_found");
    assertEquals((await call(server, id, "ListDir", { path: "new/g.txt" })).code, "invalid_argument");
    assertEquals(await call(server, id, "Remove", { path: "d" }), {});
    assertEquals(await call(server, id, "Remove", { path: "d" }), {});
    assertEquals((await call(server, id, "Stat", { path: "x".repeat(5000) })).code, "invalid_argument");
    assertEquals((await call(server, id, "Stat", { path: "a\0b" })).code, "invalid_argument");
  });
});

Deno.test("watchers report what programs and requests change, and their number is bounded", async () => {
  await withSandbox(async (server, id) => {
    await call(server, id, "MakeDir", { path: "w/in" });
    await write(server, id, "w/old.txt", "1");
    const { watcherId } = await call(server, id, "CreateWatcher", {
      path: "w",
      recursive: true,
      includeEntry: true,
    });
    const code = "import os; open('w/in/new.txt', 'w').write('2'); os.remove('w/old.txt')";
    await server.send("POST", "/execute", { code }, { "e2b-sandbox-id": id });
    const { events } = await call(server, id, "GetWatcherEvents", { watcherId });
    assertEquals(
      events.map((
        { name, type, entry }: Record<string, Record<string, string>>,
      ) => [name, type, entry?.path]),
      [
        ["old.txt", "EVENT_TYPE_REMOVE", undefined],
        ["in/new.txt", "EVENT_TYPE_CREATE", "/home/user/w/in/new.txt"],
        ["in/new.txt", "EVENT_TYPE_CHMOD", "/home/user/w/in/new.txt"],
        ["in/new.txt", "EVENT_TYPE_WRITE", "/home/user/w/in/new.txt"],
      ],
    );
    assertEquals(await call(server, id, "GetWatcherEvents", { watcherId }), {});
    await call(server, id, "RemoveWatcher", { watcherId });
    assertEquals((await call(server, id, "GetWatcherEvents", { watcherId })).code, "not_found");
    for (let n = 0; n < 16; n++) await call(server, id, "CreateWatcher", { path: "w" });
    assertEquals((await call(server, id, "CreateWatcher", { path: "w" })).code, "resource_exhausted");
    assertEquals((await call(server, id, "CreateWatcher", { path: "missing" })).code, "resource_exhausted");
  });
});

Deno.test("two sandboxes have separate variables and files", async () => {
  await withPython(async (server) => {
    const ids: string[] = [];
    for (const name of ["a", "b"]) {
      ids.push(
        (await server.send("POST", "/sandboxes", { timeout: 60, envVars: { NAME: name } })).body.sandboxID,
      );
    }
    const run = (id: string, code: string) =>
      server.send("POST", "/execute", { code }, { "e2b-sandbox-id": id });
    await Promise.all(ids.map((id) => run(id, "import os; x = os.environ['NAME']; open('f', 'w').write(x)")));
    const texts = await Promise.all(ids.map(async (id) => [
      JSON.parse((await run(id, "x")).body.split("\n")[1]).text,
      await (await send(server, "/files?path=f", { id })).text(),
    ]));
    assertEquals(texts, [["a", "a"], ["b", "b"]]);
  });
});

Deno.test("messages of envd are bounded in bytes and depth, and unknown methods are refused", async () => {
  await withSandbox(async (server, id) => {
    const headers = { "content-type": "application/proto" };
    const large = new Uint8Array(5 * 1024 * 1024);
    const path = "/filesystem.Filesystem/Stat";
    const response = await send(server, path, { id, method: "POST", headers, body: large });
    assertEquals((await response.json()).code, "resource_exhausted");
    const deep = `${"[".repeat(100)}${"]".repeat(100)}`;
    for (const type of ["application/json", "application/connect+json"]) {
      const body = type.includes("+") ? `\0\0\0\0${String.fromCharCode(deep.length / 2)}${deep}` : deep;
      const refused = await send(server, path, {
        id,
        method: "POST",
        headers: { "content-type": type },
        body,
      });
      assertEquals(refused.status, 400, type);
    }
    const unknown = await send(server, "/filesystem.Filesystem/Format", { id, method: "POST", headers });
    assertEquals(unknown.status, 404);
    const gone = await send(server, path, { id: "0".repeat(48), method: "POST", headers });
    assertEquals((await gone.json()).code, 502);
  });
});
