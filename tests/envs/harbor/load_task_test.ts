import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { findHarborTasks, loadHarborTask } from "../../../src/envs/harbor/config/load_task.ts";
import type { HarborTask } from "../../../src/envs/harbor/task.ts";
import { TempFolder } from "../../temp_folder.ts";
import { makeTasks, writeTasks } from "./made_tasks.ts";

/** Loads a task with these files in place of those of a plain task. */
async function load(files: Readonly<Record<string, string>>): Promise<HarborTask> {
  await using folder = await TempFolder.of({
    "task.toml": "",
    "instruction.md": "Write /app/a.txt.",
    "environment/Dockerfile": "FROM python:3.14-slim\nWORKDIR /app\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt",
    "solution/solve.sh": "echo one > /app/a.txt",
    ...files,
  });
  return await loadHarborTask(folder.path);
}

const dockerfile = async (...lines: readonly string[]) =>
  await load({
    "environment/Dockerfile": ["FROM ubuntu:24.04", ...lines].join("\n"),
    "environment/in/a b.txt": "a",
  });

const REFUSED: readonly [name: string, files: Readonly<Record<string, string>>, fault: string][] = [
  ["steps", { "task.toml": '[[steps]]\nname = "one"' }, "the task has steps"],
  ["windows", { "task.toml": '[environment]\nos = "windows"' }, "the task is for windows"],
  ["a GPU", { "task.toml": "[environment]\ngpus = 1" }, "the task needs a GPU"],
  [
    "hosts",
    { "task.toml": '[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.example"]' },
    "a.example",
  ],
  ["another user", { "task.toml": '[agent]\nuser = "app"' }, "the user 'app' is not root"],
  [
    "a variable of the host",
    { "task.toml": '[verifier.env]\nKEY = "${MY_KEY}"' },
    "'MY_KEY' of your machine",
  ],
  [
    "a wrong type",
    { "task.toml": '[verifier]\ntimeout_sec = "long"' },
    "'verifier.timeout_sec' of task.toml",
  ],
  ["a text that is no TOML", { "task.toml": "a = = b" }, "task.toml is no TOML"],
  ["Compose", { "environment/docker-compose.yaml": "services: {}" }, "of Docker Compose"],
  ["another image", { "environment/Dockerfile": "FROM node:22" }, "the image 'node:22'"],
  ["two stages", { "environment/Dockerfile": "FROM python:3.14\nFROM debian" }, "several stages"],
  ["a system package", { "environment/Dockerfile": "FROM debian\nRUN apt-get install -y gcc" }, "'gcc'"],
  [
    "a download",
    { "environment/Dockerfile": "FROM debian\nRUN curl -O https://a.example/b" },
    "no network for 'curl",
  ],
  [
    "a clone",
    { "environment/Dockerfile": "FROM debian\nRUN git clone https://a.example/b" },
    "no network for 'git",
  ],
  ["a package of an address", {
    "environment/Dockerfile": "FROM debian\nRUN pip install git+https://a.example/b",
  }, "git+"],
  ["a file that is missing", { "environment/Dockerfile": "FROM debian\nCOPY none.txt /app/" }, "'none.txt'"],
  ["an entry point", { "environment/Dockerfile": 'FROM debian\nENTRYPOINT ["sh"]' }, "ENTRYPOINT"],
  ["a reward that nothing writes", { "tests/test.sh": "true" }, "no file of tests/ names reward.txt"],
];

Deno.test("loadHarborTask() has a fault for what the sandbox cannot do", async () => {
  for (const [name, files, fault] of REFUSED) {
    const { faults } = await load(files);
    assertStringIncludes(faults.join("\n"), fault, name);
  }
});

Deno.test("loadHarborTask() has no fault for a plain task, and Harbor's defaults", async () => {
  const { faults, agentTimeoutMs, verifier, notes, carried } = await load({});
  assertEquals(faults, []);
  assertEquals(agentTimeoutMs, undefined);
  assertEquals([verifier.timeoutMs, verifier.isSeparate, verifier.rewardFiles], [600_000, false, [
    "reward.txt",
  ]]);
  assertEquals(notes, ["the sandbox has no network"]);
  assertEquals(carried.roots, ["/app", "/logs/artifacts"]);
});

Deno.test("loadHarborTask() reads known installs of Dockerfiles and scripts as packages", async () => {
  const { faults, requirements } = await load({
    "environment/requirements.txt": "rich>=13 # colours\n\nattrs\n",
    "environment/Dockerfile": "FROM python:3.12\nWORKDIR /app\nCOPY requirements.txt .\n" +
      "RUN pip install --no-cache-dir -r requirements.txt 'pyyaml==6.0.2' && uv pip install --system six\n",
    "tests/test.sh": "curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh\n" +
      "uvx --with pytest==8.4.1 --with a,b pytest /tests\necho 1 > /logs/verifier/reward.txt",
  });
  assertEquals(faults, []);
  assertEquals(requirements, ["rich>=13", "attrs", "pyyaml==6.0.2", "six", "pytest==8.4.1", "a", "b"]);
});

Deno.test("loadHarborTask() places the files of COPY as Docker does", async () => {
  const paths = async (...lines: readonly string[]) => {
    const { image } = await dockerfile(...lines);
    return image.steps.flatMap((step) => step.kind === "files" ? step.files.map(({ path }) => path) : []);
  };
  assertEquals(await paths('COPY ["in/a b.txt", "/app"]'), ["/app"]);
  assertEquals(await paths("WORKDIR /app", 'COPY ["in/a b.txt", "/app"]'), ["/app/a b.txt"]);
  assertEquals(await paths("COPY in /data"), ["/data/a b.txt"]);
  assertEquals(await paths("COPY in/*.txt ./out/"), ["/out/a b.txt"]);
  assertEquals(await paths("ENV TO=/srv", "COPY . $TO/"), ["/srv/Dockerfile", "/srv/in/a b.txt"]);
});

Deno.test("loadHarborTask() carries paths that the instruction names, and no folders of the system", async () => {
  const { carried } = await load({
    "instruction.md": "Write /output/a.csv and /etc/tide.conf, see https://a.example/app/b and src/c.py.",
    "tests/test.sh": "#!/usr/bin/env bash\ncat /srv/x /usr/bin/y /tests/z > /logs/verifier/reward.txt",
  });
  assertEquals(carried.roots, ["/app", "/etc/tide.conf", "/logs/artifacts", "/output/a.csv", "/srv/x"]);
  assertEquals(carried.named, ["/output/a.csv", "/etc/tide.conf"]);
});

Deno.test("loadHarborTask() reads sixty made tasks without a fault", async () => {
  await using folder = await writeTasks(makeTasks());
  const folders = await findHarborTasks(folder.path);
  assertEquals(folders.length, 60);
  for (const path of folders) assertEquals((await loadHarborTask(path)).faults, [], path);
});

Deno.test("findHarborTasks() refuses a folder without tasks", async () => {
  await using folder = await TempFolder.of({ "a/b.txt": "" });
  await assertRejects(() => findHarborTasks(folder.path), Deno.errors.NotFound, "must have a task.toml");
  await assertRejects(() => findHarborTasks(join(folder.path, "none")), Deno.errors.NotFound);
});
