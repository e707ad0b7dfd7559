import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { delegatedGroup, MemoryGroup } from "../../../src/sandbox/process/memory_cgroup.ts";

const UID = 1000;

/** Creates a folder like that of the kernel, with the group of a service that belongs to user 1000 if possible. */
async function createGroups(controllers: string) {
  const folder = await Deno.makeTempDir();
  const service = `${folder}/system.slice/paddock.service`;
  await Deno.mkdir(`${service}/host`, { recursive: true });
  if (Deno.uid() === 0) await Deno.chown(service, UID, null);
  await Deno.writeTextFile(`${service}/cgroup.controllers`, `${controllers}\n`);
  const own = `${folder}/own`;
  await Deno.writeTextFile(own, "9:cpu:/x\n0::/system.slice/paddock.service/host\n");
  const uid = Deno.uid() === 0 ? UID : Deno.uid();
  return {
    service,
    source: { root: folder, own, uid },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

async function groupName(service: string): Promise<string | undefined> {
  const entries = await Array.fromAsync(Deno.readDir(service));
  return entries.map(({ name }) => name).find((name) => name.startsWith("paddock-"));
}

Deno.test("delegatedGroup() returns the group above that of the process", async () => {
  await using groups = await createGroups("cpu memory pids");
  assertEquals(delegatedGroup(groups.source), groups.service);
});

Deno.test("delegatedGroup() rejects groups that were not delegated to the user", async (t) => {
  await using groups = await createGroups("cpu pids");
  const { source } = groups;
  await t.step("root's", () => {
    assertThrows(() => delegatedGroup({ ...source, uid: 0 }), Error, "was not delegated to user 0");
  });
  await t.step("another user's", () => {
    assertThrows(() => delegatedGroup({ ...source, uid: 4321 }), Error, "was not delegated to user 4321");
  });
  await t.step("one without the controller", () => {
    assertThrows(() => delegatedGroup(source), Error, "has no controller 'memory': it has 'cpu pids'");
  });
  await t.step("the root group", async () => {
    await Deno.writeTextFile(source.own, "0::/\n");
    assertThrows(() => delegatedGroup(source), Error, "this process is in no group of its own");
  });
});

Deno.test("MemoryGroup limits the memory of the command that enters it", async () => {
  await using groups = await createGroups("memory");
  const group = MemoryGroup.create(groups.service, 1_000_000);
  const name = await groupName(groups.service);
  const directory = `${groups.service}/${name}`;
  const read = (file: string) => Deno.readTextFile(`${directory}/${file}`);
  const { program, args } = group.enter({ program: "/bin/sh", args: ["-c", "echo $$ $1", "sh", "a b"] });
  const { stdout } = await new Deno.Command(program, { args }).output();
  const printed = new TextDecoder().decode(stdout);
  assertMatch(printed, /^\d+ a b\n$/);
  assertEquals(await read("cgroup.procs"), `${printed.split(" ")[0]}\n`);
  assertEquals([await read("memory.max"), await read("memory.oom.group")], ["1000000", "1"]);
  assertEquals(await Deno.readTextFile(`${groups.service}/cgroup.subtree_control`), "+memory");
});

Deno.test("MemoryGroup.wasExceeded is true after the kernel killed the group", async () => {
  await using groups = await createGroups("memory");
  const group = MemoryGroup.create(groups.service, 1_000_000);
  const name = await groupName(groups.service);
  const events = `${groups.service}/${name}/memory.events`;
  assertEquals(group.wasExceeded, false);
  await Deno.writeTextFile(events, "low 0\noom 0\noom_kill 0\n");
  assertEquals(group.wasExceeded, false);
  await Deno.writeTextFile(events, "low 0\noom 1\noom_kill 3\n");
  assertEquals(group.wasExceeded, true);
});
