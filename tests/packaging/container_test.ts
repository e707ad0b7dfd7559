import { assert, assertEquals } from "@std/assert";
import { parse } from "yaml";
import { listSources, ROOT } from "../../packaging/sources.ts";

const read = (path: string) => Deno.readTextFile(`${ROOT}packaging/${path}`);

/** Returns the instructions of a Dockerfile, with continued lines joined and without comments. */
function instructionsOf(text: string): string[] {
  return text.replaceAll(/^#.*\n/gm, "").replaceAll("\\\n", " ").split("\n").filter((line) => line !== "");
}

/** Returns the values of a key of a systemd unit. */
function valuesOf(unit: string, key: string): string[] {
  return unit.split("\n").filter((line) => line.startsWith(`${key}=`)).map((line) =>
    line.slice(key.length + 1)
  );
}

Deno.test("the image of Docker gets the sources of packages and nothing else", async () => {
  const lines = (await read("docker/Dockerfile.dockerignore")).split("\n").filter((line) =>
    line && !line.startsWith("#")
  );
  const sources = new Set((await listSources()).map((path) => path.split("/")[0] ?? ""));
  assertEquals(lines[0], "*");
  assertEquals(
    lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1)).sort(),
    [
      ...sources,
    ].sort(),
  );
  const instructions = instructionsOf(await read("docker/Dockerfile"));
  const copied = instructions.filter((line) => line.startsWith("COPY") && !line.includes("--from="));
  assertEquals(new Set(copied), new Set(["COPY . /opt/paddock"]));
});

Deno.test("the image of Docker runs as another user than root, with pinned versions and a health check", async () => {
  const instructions = instructionsOf(await read("docker/Dockerfile"));
  for (const line of instructions.filter((line) => line.startsWith("FROM"))) {
    const [, image = ""] = line.split(" ");
    assert(image === "base" || /:(?:bin-)?\d+\.\d+/.test(image), line);
  }
  assertEquals(instructions.filter((line) => line.startsWith("USER")), ["USER 10001:10001"]);
  assert(instructions.some((line) => line.startsWith("HEALTHCHECK") && line.includes("/v1/health")));
  const entry = instructions.find((line) => line.startsWith("ENTRYPOINT"));
  assert(entry?.includes('"--cached-only", "--frozen"'), entry);
});

Deno.test("the service of Compose has a read-only root, no capabilities and a token in a file", async () => {
  const { services: { paddock }, secrets } = parse(await read("docker/compose.yaml"));
  assertEquals([paddock.read_only, paddock.cap_drop], [true, ["ALL"]]);
  assertEquals(paddock.security_opt, ["no-new-privileges:true"]);
  assertEquals(paddock.ports, ["127.0.0.1:8471:8471"]);
  assertEquals(paddock.secrets, Object.keys(secrets));
  const command = instructionsOf(await read("docker/Dockerfile")).find((line) => line.startsWith("CMD"));
  assert(command?.includes(`/run/secrets/${paddock.secrets[0]}`), command);
});

Deno.test("the unit of systemd is hardened, but for what V8 and the layers of a sandbox need", async () => {
  const unit = await read("systemd/paddock.service");
  const hardened = {
    NoNewPrivileges: "yes",
    CapabilityBoundingSet: "",
    ProtectSystem: "strict",
    ProtectHome: "yes",
    PrivateTmp: "yes",
    PrivateDevices: "yes",
    SystemCallArchitectures: "native",
    User: "paddock",
    Delegate: "memory",
    DelegateSubgroup: "host",
  };
  for (const [key, value] of Object.entries(hardened)) assertEquals(valuesOf(unit, key), [value], key);
  const harmful = [
    "MemoryDenyWriteExecute",
    "PrivateUsers",
    "ProcSubset",
    "ProtectControlGroups",
    "ProtectKernelTunables",
    "ProtectProc",
    "RestrictNamespaces",
  ];
  for (const key of harmful) assertEquals(valuesOf(unit, key), [], key);
  const [calls = ""] = valuesOf(unit, "SystemCallFilter");
  const needed = ["@system-service", "@mount", "@pkey", "seccomp", "landlock_restrict_self"];
  for (const call of needed) assert(calls.split(" ").includes(call), call);
  const [start = ""] = valuesOf(unit, "ExecStart");
  assert(start.includes("--cached-only --frozen") && start.includes("--token-file"), start);
});
