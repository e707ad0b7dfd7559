// Stands in for the supervisor: tries what a sandbox's process must and must not be able to do, prints what came.

function outcome(attempt) {
  try {
    attempt();
    return "ok";
  } catch (error) {
    return error.name;
  }
}

function largestMemory() {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
  while (outcome(() => memory.grow(16)) === "ok");
  while (outcome(() => memory.grow(1)) === "ok");
  return memory.buffer.byteLength;
}

const read = () => Deno.readTextFileSync(new URL(import.meta.url));
const before = {
  assets: outcome(read),
  outside: outcome(() => Deno.readTextFileSync("/etc/hostname")),
  write: outcome(() => Deno.writeTextFileSync("/tmp/x", "x")),
  env: outcome(() => Deno.env.get("HOME")),
  run: outcome(() => new Deno.Command("/bin/sh").outputSync()),
  storage: outcome(() => localStorage.setItem("a", "b")) === "ok" ? "ok" : "refused",
  eval: outcome(() => new Function("return 1")()),
  memoryBytes: largestMemory(),
};
await Deno.permissions.revoke({ name: "read" });
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify({ ...before, revoked: outcome(read) })));
