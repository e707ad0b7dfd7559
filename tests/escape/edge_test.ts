import { assert, assertEquals } from "@std/assert";
import { DenoServe } from "../../bench/deno_serve.ts";
import { Outside } from "./outside.ts";
import { everyRoute, type Payload, pythonOf, readPayloads } from "./payloads.ts";

/** Payloads for a worker without a separate process: some for each protection and for each limited resource. */
const SAMPLE = [
  "A01.1",
  "A01.3",
  "A01.4",
  "A02.4",
  "A03.1",
  "A04.1",
  "A06.1",
  "A06.3",
  "A07.1",
  "A07.2",
  "A08.3",
  "A08.6",
  "A09.1",
  "A09.3",
  "A09.5",
  "A10.2",
  "A10.5",
  "B18.5",
  "B20.6",
  "B21.1",
  "C27.2",
  "E42.1",
  "E43.1",
  "E43.2",
  "E44.3",
  "E44.8",
  "E46.1",
  "E47.1",
  "E47.4",
  "E49.1",
  "E49.2",
  "E49.4",
  "E50.2",
  "E52.1",
  "E52.3",
  "E56.2",
];
/** Timeout of an attack that does not end. It is interrupted then, and killed a second later. */
const TIMEOUT_MS = 1_500;
/** Number of attacks between two honest programs, if the attacks end normally. */
const HONEST_EVERY = 8;

/** Families of attacks on native code, memory and JavaScript. */
const HARMFUL_FAMILIES: ReadonlySet<number> = new Set([8, 9, 10, 44, 47, 49]);

const HONEST = "def attempt():\n    return 'still here'";

const SERVER = `import { edgeApp } from "${new URL("../../src/server/edge.ts", import.meta.url)}";
export default edgeApp({ timeoutMs: ${TIMEOUT_MS} });`;

Deno.test("a program that is graded at the edge harms neither the host nor the server", async (t) => {
  await using outside = await Outside.create();
  const { directory, canary, environmentName } = outside.target;
  const secret = await Deno.readTextFile(canary);
  const module = `${directory}.ts`; // next to the folder whose contents are checked
  await Deno.writeTextFile(module, SERVER);
  await using _module = { [Symbol.asyncDispose]: () => Deno.remove(module) };
  await using server = await DenoServe.start(module, { env: { [environmentName]: secret } });
  await outside.settle();
  assertEquals(await graded(server, "def attempt():\n    return 'ready'", "ready"), 1);
  const threads = await threadsOf(server.pid);
  const checkHonest = async () => assertEquals(await graded(server, HONEST, "still here"), 1);
  for (const [index, payload] of (await sample(outside)).entries()) {
    await t.step(`${payload.id} ${payload.name}`, async () => {
      const passed = await graded(server, attemptOf(await pythonOf(payload)), secret);
      assert(passed < 1, "the secret came out");
      await outside.check([]);
      // An attack that can outlive its worker is followed by an honest program at once, so that a failure names it.
      if (canHarm(payload) || index % HONEST_EVERY === 0) await checkHonest();
    });
  }
  await t.step("a tool call above the maximum size", async () => {
    const program = `import os\ndef attempt():\n    call = b'C{"call":0,"name":"x","arguments":{"a":['\n` +
      `    os.write(3, call + b"{}," * 10_000_000 + b"{}]}}")\n    return ""`;
    assertEquals(await graded(server, program, secret), 0);
    await checkHonest();
  });
  await t.step("terminated workers leave no thread", async () => {
    while (await threadsOf(server.pid) > threads) await new Promise((resolve) => setTimeout(resolve, 100));
  });
  const log = await server.end();
  for (const word of [secret, "root:x:0:0", "panic"]) assert(!log.includes(word), log);
});

/** Returns the payloads of the sample, and one that contains all JavaScript payloads. */
async function sample(outside: Outside): Promise<Payload[]> {
  const payloads = await readPayloads(outside.target);
  const code = await everyRoute(payloads);
  const chosen = payloads.filter(({ id }) => SAMPLE.includes(id));
  assertEquals(chosen.length, SAMPLE.length);
  return [...chosen, { id: "js", family: 8, name: "every route to JavaScript", code }];
}

/** True if an attack ends its interpreter, exhausts a resource, or reaches for JavaScript or native code. */
function canHarm({ family, expect = ["error"] }: Payload): boolean {
  return HARMFUL_FAMILIES.has(family) || expect.some((status) => status !== "ok" && status !== "error");
}

/** Returns a program whose function attacks and returns what it found. */
function attemptOf(code: string): string {
  return `import contextlib, io

def attempt():
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            exec(${JSON.stringify(code)}, {"__name__": "__main__"})
        except Exception as error:
            print(repr(error), file=out)
    return out.getvalue()`;
}

/** Returns 1 if the program returns a string that contains a word, and 0 otherwise. */
async function graded(server: DenoServe, program: string, word: string): Promise<number> {
  const response = await server.grade({
    grader: "hidden_tests",
    completion: `\`\`\`python\n${program}\n\`\`\``,
    tests: [`found = attempt()\nassert isinstance(found, str) and ${JSON.stringify(word)} in found`],
  });
  const text = await response.text();
  assertEquals(response.status, 200, text);
  const { parts, isolation } = JSON.parse(text);
  assertEquals(isolation, "worker");
  return parts.tests_passed;
}

async function threadsOf(pid: number): Promise<number> {
  if (Deno.build.os !== "linux") return 0;
  return (await Array.fromAsync(Deno.readDir(`/proc/${pid}/task`))).length;
}
