import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { loadProfile, type NetworkSettings, Sandbox, SandboxError } from "../../../mod/sandbox.ts";
import { AUTHORITY, CERTIFICATE, KEY } from "./certificates.ts";

const TIMEOUT_MS = 60_000;

const python = await loadProfile("python");

/** Servers whose answers differ each time. */
function serve() {
  let count = 0;
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const text = `${++count} ${request.method} ${pathname} ${await request.text()}`;
    if (pathname !== "/chunks") {
      return new Response(text, { status: 201, headers: { "X-Count": `${count}` } });
    }
    return new Response(ReadableStream.from([text, " and more"]).pipeThrough(new TextEncoderStream()));
  };
  const quiet = { hostname: "127.0.0.1", port: 0, onListen() {} } as const;
  const plain = Deno.serve(quiet, answer);
  const secure = Deno.serve({ ...quiet, cert: CERTIFICATE, key: KEY }, answer);
  return {
    http: plain.addr.port,
    https: secure.addr.port,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([plain.shutdown(), secure.shutdown()]);
    },
  };
}

function start(changes: Partial<NetworkSettings>): Promise<Sandbox> {
  const network: NetworkSettings = {
    allow: [],
    maxBytes: 1e7,
    maxConnections: 8,
    timeoutMs: 5_000,
    match: { headers: ["x-kind"], query: false, body: true },
    ...changes,
  };
  const trial = { names: { "api.test": ["127.0.0.1"] }, addresses: ["127.0.0.1"], certificates: [AUTHORITY] };
  return Sandbox.start({ profile: { ...python, network }, networkTrial: trial });
}

async function run(sandbox: Sandbox, code: string): Promise<string> {
  await using session = await sandbox.openSession();
  const result = await session.exec(code, { timeoutMs: TIMEOUT_MS });
  return result.status === "ok" ? result.stdout : JSON.stringify(result);
}

const program = (http: number, https: number) =>
  `import http.client, urllib.request
def get(url, method="GET", data=None, kind="a"):
    request = urllib.request.Request(url, data, {"X-Kind": kind, "Authorization": "Bearer of-a-user"}, method=method)
    with urllib.request.urlopen(request) as answer:
        print(answer.status, answer.headers["X-Count"], answer.headers["Content-Type"], answer.read())
for _ in range(2): get("http://api.test:${http}/same?time=1")
get("https://api.test:${https}/s")
get("https://api.test:${https}/s", "POST", b"one")
get("https://api.test:${https}/s", "POST", b"two")
get("http://api.test:${http}/same", kind="b")
get("http://api.test:${http}/chunks")
connection = http.client.HTTPSConnection("api.test", ${https})
for path in ("/1", "/2"):
    connection.request("HEAD", path)
    answer = connection.getresponse()
    print(answer.status, answer.headers["X-Count"], answer.headers["Content-Length"], answer.read())
connection.close()`;

Deno.test("a replayed program needs no network, and sees what the recorded one saw", async () => {
  const directory = await Deno.makeTempDir();
  const file = join(directory, "fixtures.jsonl");
  let recorded: string;
  let ports: { http: number; https: number };
  {
    await using servers = serve();
    const { http, https } = ports = servers;
    await using sandbox = await start({ allow: [`api.test:${http}`, `api.test:${https}`], record: file });
    recorded = await run(sandbox, program(http, https));
  }
  const { http, https } = ports;
  assertEquals(recorded.split("\n").length, 10, recorded);
  const text = await Deno.readTextFile(file);
  assertEquals(text.trimEnd().split("\n").length, 9);
  assertEquals(text.includes("of-a-user"), false);
  assertStringIncludes(text, '"headers":{"x-kind":"b"}');

  const allow = [`api.test:${http}`, `api.test:${https}`, "tcp://api.test:1"];
  await using sandbox = await start({ allow, replay: file });
  const again = program(http, https).replace("?time=1", "?time=2");
  assertEquals(await run(sandbox, again), recorded);
  assertEquals(await run(sandbox, again), recorded, "each session begins with the first response");
  const refused = await run(
    sandbox,
    `import socket, ssl, urllib.request
for url in ("http://api.test:${http}/other", "https://api.test:${https}/s"):
    try: urllib.request.urlopen(url)
    except OSError as error: print(error)
try: socket.create_connection(("api.test", 1))
except OSError as error: print(error)
try: ssl.create_default_context().wrap_socket(socket.create_connection(("api.test", ${https})), server_hostname="b.test")
except ssl.SSLError as error: print(type(error).__name__)`,
  );
  assertEquals(
    refused,
    `[Errno 13] the fixtures have no response to GET http://api.test:${http}/other
[Errno 13] the fixtures have no response to GET https://api.test:${https}/s
[Errno 13] 'api.test:1' is listed with 'tcp://', which cannot be recorded or replayed
SSLCertVerificationError
`,
  );
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a sandbox does not start with fixtures that cannot be read or written", async () => {
  const directory = await Deno.makeTempDir();
  const file = join(directory, "fixtures.jsonl");
  const allow = ["api.test:80"];
  await assertRejects(() => start({ allow, replay: file }), SandboxError, "the file cannot be read");
  await assertRejects(() => start({ allow, record: directory }), SandboxError, "the file cannot be written");
  await Deno.writeTextFile(file, '\n{"format":1}\n');
  await assertRejects(() => start({ allow, replay: file }), SandboxError, "fixtures.jsonl:2");
  await Deno.remove(directory, { recursive: true });
});
