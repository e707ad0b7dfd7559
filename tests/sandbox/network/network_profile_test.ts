import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseProfile } from "../../../mod/sandbox.ts";
import { checkExec } from "../../../src/sandbox/contract/exec_fields.ts";
import { WorkerSandbox } from "../../../src/sandbox/in_worker/worker_sandbox.ts";

function parse(network?: object) {
  return parseProfile(JSON.stringify({ network }), { source: "mine" });
}

Deno.test("parseProfile() reads the hosts of a profile with the defaults of their limits", () => {
  assertEquals(parse().network, undefined);
  assertEquals(parse({ allow: ["api.example.com:443"] }).network, {
    allow: ["api.example.com:443"],
    maxBytes: 67_108_864,
    maxConnections: 64,
    timeoutMs: 10_000,
    match: { headers: [], query: true, body: true },
  });
});

Deno.test("parseProfile() refuses hosts and limits that a network cannot have", () => {
  const allow = ["api.example.com:443"];
  for (
    const [network, fault] of [
      [{}, "network.allow must be a list of hosts"],
      [{ allow: [] }, "network.allow must list a host"],
      [{ allow: ["10.0.0.1:80"] }, "network.allow[0] must be a host with a port"],
      [{ allow, methods: ["get"] }, "network.methods[0] must be a method of HTTP in capitals"],
      [{ allow, maxBytes: 0 }, "network.maxBytes must be an integer from 1"],
      [{ allow, maxConnections: 257 }, "network.maxConnections must be an integer from 1 to 256"],
      [{ allow, timeoutMs: 0 }, "network.timeoutMs must be an integer from 1"],
      [{ allow, record: "/a", replay: "/b" }, "network must have only one of 'record' and 'replay'"],
      [{ allow, record: "a.jsonl" }, "paths must be absolute"],
      [
        { allow, match: { headers: ["Accept"] } },
        "network.match.headers[0] must be the name of a header in lower",
      ],
    ] as const
  ) {
    assertStringIncludes(assertThrows(() => parse(network), SyntaxError).message, fault);
  }
});

Deno.test("docs/profiles.md: the profiles with a network are valid", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/profiles.md", import.meta.url));
  const [, part = ""] = page.split("\n## Network\n");
  const blocks = [...part.matchAll(/```jsonc\n([^]*?)```/g)].map(([, text = ""]) => text);
  const networks = blocks.map((text) => parseProfile(text, { source: "page", directory: "/mine" }).network);
  assertEquals(networks.map((network) => network?.methods), [["GET", "HEAD"], undefined]);
  assertEquals(networks[1]?.replay, "/mine/fixtures.jsonl");
});

Deno.test("what cannot go together with a network is refused by name", () => {
  const profile = parse({ allow: ["api.example.com:443"] });
  assertThrows(
    () => checkExec("1", { suspendAt: "tool" }, profile),
    TypeError,
    "Cannot exec with 'suspendAt' as profile 'mine' must have no 'network'",
  );
  checkExec("1", { suspendAt: "tool" }, parse());
  assertThrows(() => new WorkerSandbox({ profile, maxWorkers: 1 }), TypeError, "must have no 'network'");
});
