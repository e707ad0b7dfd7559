import { assertEquals, assertStringIncludes } from "@std/assert";
import { loadProfile, type NetworkTrial, type Profile, Sandbox } from "../../../mod/sandbox.ts";
import { AUTHORITY, CERTIFICATE, KEY } from "./certificates.ts";

const TIMEOUT_MS = 60_000;
const LARGE_BYTES = 3_000_000;

const quiet = { hostname: "127.0.0.1", port: 0, onListen() {} } as const;
const web = Deno.serve(quiet, answer);
const secure = Deno.serve({ ...quiet, cert: CERTIFICATE, key: KEY }, answer);
const echo = Deno.listen({ hostname: "127.0.0.1", port: 0 });
serveEcho();
const [http, https, tcp] = [web.addr.port, secure.addr.port, echo.addr.port];

async function answer(request: Request): Promise<Response> {
  const { pathname, search, searchParams } = new URL(request.url);
  if (request.headers.get("upgrade") === "websocket") return answerSocket(request);
  if (pathname === "/large") return new Response("x".repeat(LARGE_BYTES));
  if (pathname === "/to") return Response.redirect(searchParams.get("url") ?? "");
  const body = await request.text();
  const { method, headers } = request;
  return Response.json({ method, path: pathname + search, host: headers.get("host"), body });
}

function answerSocket(request: Request): Response {
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(`echo ${data}`);
  return response;
}

/** A server that speaks first, and then returns what it gets. */
async function serveEcho(): Promise<void> {
  for await (const conn of echo) {
    await conn.write(new TextEncoder().encode("hello\n"));
    conn.readable.pipeTo(conn.writable).catch(() => {}); // the program may end the connection at any time
  }
}

const python = await loadProfile("python");
const profile: Profile = {
  ...python,
  network: {
    allow: [
      `api.test:${http}`,
      `api.test:${https}`,
      `*.wild.test:${https}`,
      `other.test:${https}`,
      `private.test:80`,
      `gone.test:80`,
      `tcp://echo.test:${tcp}`,
      "refused.test:1",
    ],
    maxBytes: 20_000_000,
    maxConnections: 4,
    timeoutMs: 5_000,
    match: { headers: [], query: true, body: true },
  },
};
const here = ["127.0.0.1"];
const TRIAL: NetworkTrial = {
  names: {
    "api.test": here,
    "a.wild.test": here,
    "other.test": here,
    "echo.test": here,
    "refused.test": here,
    "private.test": ["10.0.0.1", "::ffff:127.0.0.1", "169.254.169.254"],
  },
  addresses: here,
  certificates: [AUTHORITY],
};
const sandbox = await Sandbox.start({ profile, networkTrial: TRIAL });
const session = await sandbox.openSession();

Deno.test.sanitizer({ ops: false, resources: false });
Deno.test.afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  echo.close();
  await Promise.all([web.shutdown(), secure.shutdown()]);
});

/** Runs a program in a session without connections, and returns what it prints. */
async function runAlone(code: string): Promise<string> {
  await session.reset({ mode: "rewind" });
  return await run(code);
}

async function run(code: string): Promise<string> {
  const result = await session.exec(code, { timeoutMs: TIMEOUT_MS });
  return result.status === "ok" ? result.stdout : `${result.status}: ${JSON.stringify(result)}`;
}

/** Programs, and what each prints. */
const PROGRAMS: Readonly<Record<string, readonly [program: string, stdout: string]>> = {
  "urllib reaches a host that the profile lists": [
    `import json, urllib.request
request = urllib.request.Request("http://api.test:${http}/a?b=1", data=b"hello", headers={"X": "1"})
print(json.load(urllib.request.urlopen(request)))`,
    `{'method': 'POST', 'path': '/a?b=1', 'host': 'api.test:${http}', 'body': 'hello'}\n`,
  ],
  "urllib reaches a host by HTTPS, also one that a wildcard lists": [
    `import json, urllib.request
for name in ("api.test", "a.wild.test"):
    with urllib.request.urlopen(f"https://{name}:${https}/s", data=b"x") as answer:
        print(answer.status, json.load(answer)["body"])`,
    "200 x\n200 x\n",
  ],
  "a large answer arrives whole": [
    `import urllib.request
for url in ("http://api.test:${http}/large", "https://api.test:${https}/large"):
    print(len(urllib.request.urlopen(url).read()))`,
    `${LARGE_BYTES}\n${LARGE_BYTES}\n`,
  ],
  "a large request is sent whole, in requests that one connection carries": [
    `import http.client, json, ssl
connection = http.client.HTTPSConnection("api.test", ${https})
for size in (10, 1_000_000, 20):
    connection.request("PUT", "/", body=b"y" * size)
    print(len(json.load(connection.getresponse())["body"]))
print(connection.sock.getpeercert()["subjectAltName"], connection.sock.selected_alpn_protocol())
connection.close()`,
    "10\n1000000\n20\n(('DNS', 'api.test'),) http/1.1\n",
  ],
  "asyncio's streams reach a host with and without TLS, side by side": [
    `import asyncio, ssl
async def get(port, context):
    reader, writer = await asyncio.open_connection("api.test", port, ssl=context)
    writer.write(b"GET /p HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n")
    data = await reader.read()
    writer.close()
    await writer.wait_closed()
    return data.split(b"\\r\\n")[0]
async def main():
    return await asyncio.gather(get(${http}, None), get(${https}, ssl.create_default_context()))
print(await main())`,
    "[b'HTTP/1.1 200 OK', b'HTTP/1.1 200 OK']\n",
  ],
  "a server of another protocol speaks first, and returns what it gets until the end": [
    `import socket, threading
with socket.create_connection(("echo.test", ${tcp})) as s:
    file = s.makefile("rb")
    print(file.readline())
    data = bytes(range(256)) * 4000
    thread = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
    thread.start()
    print(file.read() == data, s.getpeername()[1] == ${tcp})
    thread.join()`,
    "b'hello\\n'\nTrue True\n",
  ],
  "sockets that do not wait are ready when poll says so": [
    `import errno, select, socket
s = socket.socket()
s.setblocking(False)
print(s.connect_ex(("echo.test", ${tcp})) == errno.EINPROGRESS)
print(select.select([], [s], [], 10)[1] == [s], s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
print(select.select([s], [], [], 10)[0] == [s], s.recv(100))
try: s.recv(1)
except BlockingIOError: print("again")
s.close()`,
    "True\nTrue 0\nTrue b'hello\\n'\nagain\n",
  ],
  "threads wait for answers side by side": [
    `import concurrent.futures, urllib.request
def get(n): return urllib.request.urlopen(f"https://api.test:${https}/{n}").status
with concurrent.futures.ThreadPoolExecutor(3) as pool: print(list(pool.map(get, range(6))))`,
    "[200, 200, 200, 200, 200, 200]\n",
  ],
  "what is not listed is refused, with the reason": [
    `import socket
def fails(call):
    try: print("no error:", call())
    except OSError as error: print(type(error).__name__, error)
fails(lambda: socket.create_connection(("evil.test", 443)))
fails(lambda: socket.create_connection(("api.test", 22)))
fails(lambda: socket.create_connection(("1.1.1.1", 443)))
fails(lambda: socket.create_connection(("private.test", 80)))
fails(lambda: socket.create_connection(("gone.test", 80)))
fails(lambda: socket.create_connection(("refused.test", 1)))
fails(lambda: socket.getaddrinfo("api.test", 80, socket.AF_INET6))
held = [socket.create_connection(("echo.test", ${tcp})) for _ in range(4)]
fails(lambda: socket.create_connection(("echo.test", ${tcp})))
for s in held: s.close()
print(socket.create_connection(("echo.test", ${tcp})).recv(5))`,
    `gaierror [Errno -2] Name or service not known: 'evil.test' is not in 'network' of the profile
PermissionError [Errno 13] 'api.test:22' is not in 'network.allow' of the profile
PermissionError [Errno 13] Permission denied
PermissionError [Errno 13] 'private.test' has no address of the public internet
OSError [Errno 113] 'gone.test' has no address
ConnectionRefusedError [Errno 111] Connection refused
gaierror [Errno -9] Address family for hostname not supported
OSError [Errno 24] more than 4 connections are open, the profile's 'network.maxConnections'
b'hello'
`,
  ],
  "certificates are checked for the listed name, and cannot be ignored": [
    `import http.client, socket, ssl, urllib.error, urllib.request
def fails(call):
    try: print("no error:", call())
    except (OSError, ValueError) as error: print(type(error).__name__, str(error)[:110])
def wrap(context, name, host="api.test"):
    return context.wrap_socket(socket.create_connection((host, ${https})), server_hostname=name)
context = ssl.create_default_context()
fails(lambda: wrap(context, "evil.test"))
fails(lambda: wrap(context, "other.test", "other.test"))
fails(lambda: wrap(context, None))
fails(lambda: wrap(ssl._create_unverified_context(), "api.test"))
server = socket.create_server(("127.0.0.1", 0))
fails(lambda: context.wrap_socket(socket.create_connection(server.getsockname()), server_hostname="api.test"))
fails(lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_socket(server, server_side=True))
try: urllib.request.urlopen("https://other.test:${https}/")
except urllib.error.URLError as error: print(type(error.reason).__name__)
print(wrap(context, "API.test.").version())`,
    `SSLCertVerificationError [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: the certificate is checked for 'api.test', the hos
SSLCertVerificationError [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: invalid peer certificate: certificate not valid fo
ValueError check_hostname requires server_hostname
SSLError [SSL] certificates are always checked in the sandbox: verify_mode must not be CERT_NONE
SSLError [SSL] TLS is only for hosts that 'network' of the profile lists
SSLError [SSL] the sandbox has no TLS for servers
SSLCertVerificationError
TLS
`,
  ],
  "redirects, other hosts in 'Host' and protocols that are not HTTP reach nothing": [
    `import http.client, socket, urllib.error, urllib.request
for url in ("http://169.254.169.254/latest/", "http://evil.test/", "http://private.test/", "http://2130706433/"):
    try: print(urllib.request.urlopen(f"http://api.test:${http}/to?url={url}").status)
    except urllib.error.URLError as error: print(type(error.reason).__name__)
def send(data):
    with socket.create_connection(("api.test", ${http})) as s:
        s.sendall(data)
        try: print(s.recv(100))
        except OSError as error: print(error)
send(b"GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n")
send(b"hello there\\n")`,
    `PermissionError
gaierror
PermissionError
ConnectionRefusedError
[Errno 13] a request to 'api.test' was refused: its header 'Host' must name 'api.test', the host of the connection
[Errno 13] a request to 'api.test' was refused: it is not HTTP/1.1: list the host with 'tcp://' for other protocols
`,
  ],
  "WebSocket passes after the server has accepted it": [
    `import base64, os, socket, ssl
with ssl.create_default_context().wrap_socket(socket.create_connection(("api.test", ${https})), server_hostname="api.test") as s:
    key = base64.b64encode(bytes(16)).decode()
    s.sendall(f"GET / HTTP/1.1\\r\\nHost: api.test:${https}\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: {key}\\r\\n\\r\\n".encode())
    head = b""
    while b"\\r\\n\\r\\n" not in head: head += s.recv(1)
    print(head.split(b"\\r\\n")[0])
    s.sendall(b"\\x81\\x82\\0\\0\\0\\0hi")
    print(s.recv(100))`,
    "b'HTTP/1.1 101 Switching Protocols'\nb'\\x81\\x07echo hi'\n",
  ],
};

for (const [name, [program, stdout]] of Object.entries(PROGRAMS)) {
  Deno.test(name, async () => assertEquals(await runAlone(program), stdout));
}

Deno.test("a denied attempt is counted, and a rewind ends all connections", async () => {
  const counted = await session.exec(`import socket
try: socket.create_connection(("evil.test", 80))
except OSError: pass
try: socket.create_connection(("api.test", 22))
except OSError: pass`);
  assertEquals(counted.denied, { network: 2 });
  await session.exec(
    `import socket; kept = [socket.create_connection(("echo.test", ${tcp})) for _ in range(4)]`,
  );
  await session.reset({ mode: "rewind" });
  const again =
    `import socket; print([socket.create_connection(("echo.test", ${tcp})).recv(5) for _ in range(4)])`;
  assertEquals(await run(again), "[b'hello', b'hello', b'hello', b'hello']\n");
});

Deno.test("a connection goes on in the next exec, and data that arrive between two are kept", async () => {
  await run(
    `import socket; s = socket.create_connection(("echo.test", ${tcp})); s.sendall(b"one"); f = s.makefile("rb")`,
  );
  assertEquals(
    await run("print(f.read(9)); s.sendall(b'two'); print(f.read(3))"),
    "b'hello\\none'\nb'two'\n",
  );
  await run("f.close(); s.close()");
});

Deno.test("servers that never end or never answer, and floods of connections, keep no other session waiting", async () => {
  const endless = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  (async () => {
    for await (const conn of endless) {
      new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) })
        .pipeTo(conn.writable).catch(() => {}); // the program ends the connection
    }
  })();
  const network = { ...profile.network, allow: [`tcp://echo.test:${endless.addr.port}`, `api.test:${http}`] };
  const options = { profile: { ...profile, network } as Profile, networkTrial: TRIAL };
  await using hostile = await Sandbox.start(options);
  await using hungry = await hostile.openSession();
  await using honest = await hostile.openSession();
  const held = await hungry.exec(
    `import socket
def refused(n):
    try: socket.create_connection(("echo.test", 1 + n % 5))
    except PermissionError: return True
held = [socket.create_connection(("echo.test", ${endless.addr.port})) for _ in range(4)]
print(held[0].recv(1000) == bytes(1000), sum(map(bool, map(refused, range(2000)))))`,
    { timeoutMs: TIMEOUT_MS },
  );
  assertEquals(held.stdout, "True 2000\n");
  const flooding = hungry.exec(
    `total = 0
while total < 10_000_000: total += len(held[0].recv(65536))
print(total >= 10_000_000)`,
    { timeoutMs: TIMEOUT_MS },
  );
  for (let i = 0; i < 5; i++) {
    const answer = await honest.exec(
      `import urllib.request; print(urllib.request.urlopen("http://api.test:${http}/").status)`,
      { timeoutMs: TIMEOUT_MS },
    );
    assertEquals(answer.stdout, "200\n");
  }
  assertEquals((await flooding).stdout, "True\n");
  endless.close();
});

Deno.test("the bytes of all connections are limited by the profile", async () => {
  const printed = await runAlone(`import urllib.request
try:
    for _ in range(10): urllib.request.urlopen("http://api.test:${http}/large").read()
except OSError as error: print(error)`);
  assertStringIncludes(printed, "[Errno 122] the connections carried more than 20000000 bytes");
});
