/** Unmodified HTTP libraries of PyPI against servers of this machine. Downloads their wheels. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { loadProfile, type NetworkSettings, Sandbox } from "../../../mod/sandbox.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../../cli/run_paddock.ts";
import { AUTHORITY, CERTIFICATE, KEY } from "./certificates.ts";

const LIBRARIES = ["requests", "httpx", "aiohttp", "websockets"];
const TIMEOUT_MS = 120_000;

const web = Deno.serve(
  { hostname: "127.0.0.1", port: 0, cert: CERTIFICATE, key: KEY, onListen() {} },
  answer,
);
const { port } = web.addr;

async function answer(request: Request): Promise<Response> {
  if (request.headers.get("upgrade") === "websocket") {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) => socket.send(data);
    return response;
  }
  const { pathname } = new URL(request.url);
  if (pathname === "/large") return new Response("x".repeat(2_000_000));
  if (pathname === "/away") return Response.redirect("https://evil.test/");
  return Response.json({ method: request.method, body: await request.text(), a: request.headers.get("x-a") });
}

const url = `https://api.test:${port}`;

const PROGRAMS: Readonly<Record<string, readonly [program: string, stdout: string]>> = {
  requests: [
    `import requests
with requests.Session() as session:
    for n in range(3): print(session.post("${url}/", data=b"b" * n, headers={"X-A": str(n)}).json())
    print(len(session.get("${url}/large").content))
for call in (lambda: requests.get("${url}/", verify=False), lambda: requests.get("${url}/away"), lambda: requests.get("${url}".replace("api", "other"))):
    try: print(call())
    except requests.exceptions.RequestException as error: print(type(error).__name__)`,
    `{'method': 'POST', 'body': '', 'a': '0'}
{'method': 'POST', 'body': 'b', 'a': '1'}
{'method': 'POST', 'body': 'bb', 'a': '2'}
2000000
SSLError
ConnectionError
SSLError
`,
  ],
  httpx: [
    `import asyncio, httpx
with httpx.Client() as client:
    for n in range(2): print(client.put("${url}/", content=b"c" * n).json()["body"], client.get("${url}/large").num_bytes_downloaded)
async def main():
    async with httpx.AsyncClient() as client:
        answers = await asyncio.gather(*(client.post("${url}/", json=n) for n in range(5)))
        print([answer.json()["body"] for answer in answers])
        try: await client.get("https://evil.test/")
        except httpx.ConnectError as error: print("refused")
await main()
try: httpx.get("${url}/", verify=False)
except httpx.ConnectError as error: print("certificates are always checked" in str(error))`,
    ` 2000000
c 2000000
['0', '1', '2', '3', '4']
refused
True
`,
  ],
  aiohttp: [
    `import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session:
        async def post(n):
            async with session.post("${url}/", json=n) as answer: return (await answer.json())["body"]
        print(await asyncio.gather(*(post(n) for n in range(5))))
        async with session.get("${url}/large") as answer: print(len(await answer.read()))
        async with session.ws_connect("${url}/") as socket:
            await socket.send_str("hi"); print((await socket.receive()).data)
        try: await session.get("https://evil.test/")
        except aiohttp.ClientConnectorError as error: print("refused")
await main()`,
    "['0', '1', '2', '3', '4']\n2000000\nhi\nrefused\n",
  ],
  websockets: [
    `import asyncio, websockets
from websockets.sync.client import connect
with connect("${url.replace("https", "wss")}/") as socket:
    for text in ("one", "x" * 100_000): socket.send(text); print(len(socket.recv()))
async def main():
    async with websockets.connect("${url.replace("https", "wss")}/") as socket:
        await socket.send("two"); print(await socket.recv())
await main()`,
    "3\n100000\ntwo\n",
  ],
};

await using folder = await TempFolder.of({ "net.jsonc": '{ "format": 1 }' });
const file = join(folder.path, "net.jsonc");
const added = await runPaddock(["--yes", "packages", "add", ...LIBRARIES, "--profile", file]);
if (added.code !== 0) throw new Error(added.stderr);
const network: NetworkSettings = {
  allow: [`api.test:${port}`, `other.test:${port}`],
  maxBytes: 1e8,
  maxConnections: 64,
  timeoutMs: 5_000,
  match: { headers: [], query: true, body: true },
};
const here = ["127.0.0.1"];
const sandbox = await Sandbox.start({
  profile: { ...await loadProfile(file), network },
  networkTrial: {
    names: { "api.test": here, "other.test": here },
    addresses: here,
    certificates: [AUTHORITY],
  },
});
const session = await sandbox.openSession();

Deno.test.sanitizer({ ops: false, resources: false });
Deno.test.afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  await web.shutdown();
});

for (const [name, [program, stdout]] of Object.entries(PROGRAMS)) {
  Deno.test(`${name} reaches a listed host by HTTPS, unmodified`, async () => {
    const result = await session.exec(program, { timeoutMs: TIMEOUT_MS });
    assertEquals(result.stdout, stdout, JSON.stringify(result));
  });
}
