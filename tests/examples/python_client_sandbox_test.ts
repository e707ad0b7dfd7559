import { assertEquals } from "@std/assert";
import { Serving } from "../../bench/serving.ts";
import { PYTHON } from "./installed.ts";

const CLIENT = decodeURIComponent(new URL("../../packaging/python/", import.meta.url).pathname);
/** Programs, with the last line of their output. */
const CHECKS = [
  ["client_checks.py", "a response must be an object\n"],
  ["client_tools_checks.py", "tools are checked\n"],
] as const;

Deno.test({
  name: `paddock.Client of Python drives a real server${PYTHON.note}`,
  ignore: PYTHON.missing,
  async fn() {
    const token = crypto.randomUUID();
    const serving = await Serving.start("--max-sessions", "3", "--queue", "0", "--token", token);
    const decoder = new TextDecoder();
    const ends = [];
    for (const [file, last] of CHECKS) {
      const { success, stdout, stderr } = await new Deno.Command("python3", {
        args: ["-B", "-W", "error", decodeURIComponent(new URL(file, import.meta.url).pathname)],
        env: { PADDOCK_URL: serving.url, PADDOCK_TOKEN: token, PYTHONPATH: CLIENT },
      }).output();
      const isComplete = decoder.decode(stdout).endsWith(last);
      ends.push({ file, success, isComplete, stderr: decoder.decode(stderr) });
    }
    const { log } = await serving.end("SIGTERM");
    assertEquals(ends, CHECKS.map(([file]) => ({ file, success: true, isComplete: true, stderr: "" })));
    assertEquals(log, "");
  },
});
