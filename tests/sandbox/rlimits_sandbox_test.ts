import { assertEquals } from "@std/assert";
import { rlimitScript } from "../../src/sandbox/process/command.ts";

const RLIMITS = { dataKib: 1_743_696, openFiles: 64, cpuSeconds: 604_800 };

Deno.test({
  name: "rlimitScript() is taken by a shell without limits, and the command meets them",
  ignore: Deno.build.os !== "linux",
}, async () => {
  const ask = "ulimit -S -t; ulimit -H -t; ulimit -n; ulimit -d; ulimit -c";
  const { stdout, stderr } = await new Deno.Command("/bin/sh", {
    args: ["-c", rlimitScript(RLIMITS), "sh", "/bin/sh", "-c", ask],
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assertEquals(text(stderr), "");
  assertEquals(text(stdout).trim().split("\n"), ["604800", "604805", "64", "1743696", "0"]);
});
