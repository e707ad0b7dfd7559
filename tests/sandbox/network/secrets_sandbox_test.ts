import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import {
  loadProfile,
  type NetworkSettings,
  Sandbox,
  SandboxError,
  SecretValues,
} from "../../../mod/sandbox.ts";
import { AUTHORITY, CERTIFICATE, KEY } from "./certificates.ts";

const TIMEOUT_MS = 60_000;
const VALUE = "real-key-of-a-user/1+2";

const seen: string[] = [];
const quiet = { hostname: "127.0.0.1", port: 0, onListen() {} } as const;
const web = Deno.serve(quiet, answer);
const secure = Deno.serve({ ...quiet, cert: CERTIFICATE, key: KEY }, answer);
const [http, https] = [web.addr.port, secure.addr.port];

/** Echoes what a request has, in several forms. */
async function answer(request: Request): Promise<Response> {
  const { search } = new URL(request.url);
  const text = `${request.headers.get("authorization")} ${search} ${await request.text()}`;
  seen.push(text);
  const body = new Blob([`${text} ${btoa(text)}`]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(body, { headers: { "content-encoding": "gzip", "x-echo": text } });
}

const network: NetworkSettings = {
  allow: [`api.test:${https}`, `api.test:${http}`, `a.wild.test:${https}`],
  maxBytes: 1e7,
  maxConnections: 8,
  timeoutMs: 5_000,
  match: { headers: ["authorization"], query: true, body: true },
  secrets: { API_KEY: { env: "REAL_KEY", hosts: ["api.test"], in: ["header:authorization", "query"] } },
};

async function start(changes: Partial<NetworkSettings>, values?: Record<string, string>): Promise<Sandbox> {
  const profile = await loadProfile("tools");
  const here = ["127.0.0.1"];
  return await Sandbox.start({
    profile: {
      ...profile,
      shell: true,
      network: { ...network, ...changes },
      ...(values && { secretValues: new SecretValues(values) }),
    },
    networkTrial: {
      names: { "api.test": here, "a.wild.test": here },
      addresses: here,
      certificates: [AUTHORITY],
    },
  });
}

Deno.test.sanitizer({ ops: false, resources: false });
Deno.test.afterAll(async () => {
  await Promise.all([web.shutdown(), secure.shutdown()]);
});

const PROGRAM = `import os, urllib.request
def get(url, key):
    request = urllib.request.Request(url, b"body " + key.encode(), {"Authorization": "Bearer " + key})
    with urllib.request.urlopen(request) as answer: print(answer.headers["X-Echo"], answer.headers["Content-Encoding"], answer.read())
key = os.environ["API_KEY"]
get("https://api.test:${https}/?key=" + key, key)`;

Deno.test("a program uses a secret that it never sees, and no file has it", async () => {
  const directory = await Deno.makeTempDir();
  const record = join(directory, "fixtures.jsonl");
  await using sandbox = await start({ record }, { REAL_KEY: VALUE });
  await using session = await sandbox.openSession();
  const result = await session.exec(PROGRAM, { timeoutMs: TIMEOUT_MS });
  const percent = encodeURIComponent(VALUE);
  assertEquals(seen.splice(0), [`Bearer ${VALUE} ?key=${percent} body paddock-secret-API_KEY`]);
  const text = JSON.stringify(result) + await Deno.readTextFile(record);
  for (const form of [VALUE, percent, btoa(VALUE).slice(4, -4)]) {
    assertEquals(text.includes(form), false, text);
  }
  assertStringIncludes(
    result.stdout,
    "Bearer paddock-secret-API_KEY ?key=paddock-secret-API_KEY body paddock-secret-API_KEY None b'Bearer paddock-",
  );
  const elsewhere = await session.exec(
    `for url in ("http://api.test:${http}/", "https://a.wild.test:${https}/"): get(url, key)`,
    { timeoutMs: TIMEOUT_MS },
  );
  assertEquals([elsewhere.status, seen.some((each) => each.includes(VALUE)), seen.length], ["ok", false, 2]);
  const shown = await session.shell("echo $API_KEY; python3 -c 'import os; print(os.environ[\"API_KEY\"])'");
  assertEquals(shown.stdout, "paddock-secret-API_KEY\npaddock-secret-API_KEY\n");
  seen.length = 0;

  await using again = await start({ replay: record });
  await using replayed = await again.openSession();
  assertEquals((await replayed.exec(PROGRAM, { timeoutMs: TIMEOUT_MS })).stdout, result.stdout);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a sandbox does not start without the values of its secrets, and profiles do not show them", async () => {
  const fault = "Cannot use secret 'API_KEY' as 'REAL_KEY' must be set";
  await assertRejects(() => start({}), SandboxError, fault);
  await assertRejects(() => start({}, { REAL_KEY: "short" }), SandboxError, fault);
  await assertRejects(() => start({}, { REAL_KEY: "with a blank" }), SandboxError, fault);
  const values = new SecretValues({ REAL_KEY: VALUE });
  assertEquals(JSON.stringify({ values }), "{}");
  assertEquals(Deno.inspect({ values }).includes(VALUE), false);
});
