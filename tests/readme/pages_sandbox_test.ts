import { assertEquals, assertStringIncludes } from "@std/assert";
import { Serving } from "../../bench/serving.ts";
import { readLines } from "../../src/read_lines.ts";
import { DENO_VERSION } from "../../src/version.ts";
import { CURL, PYTHON } from "../examples/installed.ts";
import { Clone } from "./clone.ts";
import { block, SERVED } from "./pages.ts";

const posix = Deno.build.os !== "windows";

/** Starts a server with a command of a page on a free port. */
async function serveAs(clone: Clone, command: string): Promise<Serving> {
  return await Serving.over(clone.start("sh", "-c", `exec ${command.replace("--port 8471", "--port 0")}`));
}

Deno.test({
  name: `docs/trainers.md, Before you begin: the package answers as written${PYTHON.note}`,
  ignore: !posix || PYTHON.missing,
  async fn() {
    await using clone = await Clone.create();
    const server = block("Before you begin", "sh", "paddock serve");
    for (const section of ["A server", "Agents"]) assertEquals(block(section, "sh", "paddock serve"), server);
    await using serving = await serveAs(clone, server);
    const [build, install, use = ""] = block("Before you begin", "sh", "pip").trimEnd().split("\n");
    assertEquals(block("PyPI", "sh").split("\n").slice(0, 2), [build, install]);
    const program = use.replaceAll(SERVED, new URL(serving.url).host);
    assertEquals(await clone.run("sh", "-euc", program), "42\n");
  },
});

Deno.test({
  name: `docs/checkpoints.md: curl and the Python client run as written${CURL.note}${PYTHON.note}`,
  ignore: !posix || CURL.missing || PYTHON.missing,
  async fn() {
    await using clone = await Clone.create();
    await using serving = await serveAs(clone, block("A server", "sh", "paddock serve"));
    const at = (text: string) => text.replaceAll(SERVED, new URL(serving.url).host);
    const kept = await clone.run("sh", "-euc", at(block("Over HTTP", "sh")));
    const [, restored = ""] = /.*"id":"([^"]+)"/s.exec(kept) ?? [];
    const exec = `curl -s ${serving.url}/v1/sessions/${restored}/exec -H 'content-type: application/json'`;
    assertStringIncludes(await clone.run("sh", "-euc", `${exec} -d '{"code": "x + 1"}'`), '"value":"42"');
    const python = await clone.write("program.py", at(block("Clients", "python")));
    assertEquals(await clone.run("python3", python), "");
  },
});

Deno.test({
  name: "docs/checkpoints.md, On the command line: each line has a response without an error",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const child = clone.start("npx", "-y", `deno@${DENO_VERSION}`, "task", "paddock", "session");
    const lines = readLines(child.stdout, { maxBytes: 1_000_000 });
    const writer = child.stdin.getWriter();
    let checkpoint = "";
    for (
      const line of ['{"id":0,"code":"x = 1"}', ...block("On the command line", "json").trim().split("\n")]
    ) {
      await writer.write(new TextEncoder().encode(`${line.replace("9f86…", checkpoint)}\n`));
      const { value } = await lines.next();
      const response = JSON.parse(value?.text ?? "");
      assertEquals(response.error, undefined, `${line}: ${value?.text}`);
      checkpoint = response.checkpoint ?? checkpoint;
    }
    await writer.close();
    await lines.return(undefined);
    await child.stderr.cancel();
    assertEquals((await child.status).code, 0);
  },
});

Deno.test({
  name: `docs/e2b.md: a sandbox is opened with the command and the variables as written${CURL.note}`,
  ignore: !posix || CURL.missing,
  async fn() {
    await using clone = await Clone.create();
    await using serving = await serveAs(clone, block("E2B", "sh", "paddock serve"));
    const variables = block("E2B", "sh", "export").replaceAll(`http://${SERVED}`, serving.url);
    const open = `curl -s "$E2B_API_URL/sandboxes" -H "X-API-Key: $E2B_API_KEY" -d '{"templateID": "base"}'`;
    const json = "-H 'content-type: application/json'";
    assertStringIncludes(await clone.run("sh", "-euc", `${variables}${open} ${json}`), '"sandboxID":');
  },
});

Deno.test({
  name: "docs/mlgym.md: the evaluation without pandas scores a table",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    await clone.write("titanic/task.yaml", block("An evaluation without pandas", "yaml"));
    await clone.write("titanic/score.py", block("An evaluation without pandas", "python"));
    await clone.write("titanic/train.csv", "PassengerId,Sex,Survived\n1,male,0\n2,female,1\n");
    await clone.write("titanic/test.csv", "PassengerId,Sex\n3,male\n4,female\n5,female\n6,male\n");
    const truth = "PassengerId,Survived\n3,0\n4,1\n5,0\n6,0\n";
    await clone.write("titanic/ground_truth.csv", truth);
    const submission = truth.replace("5,0", "5,1").replaceAll("\n", "\\n");
    const replies = [`printf '${submission}' > submission.csv; ls`, "validate", "submit"];
    const script = { id: "titanic", replies: replies.map((reply) => `I do this.\n\`\`\`\n${reply}\n\`\`\``) };
    await clone.write("replies.jsonl", JSON.stringify(script));
    const flags = ["--task", "titanic", "--policy", "scripted:replies.jsonl", "--show"];
    const command = [
      "-y",
      `deno@${DENO_VERSION}`,
      "task",
      "paddock",
      "rollout",
      "--env",
      "workspace",
      ...flags,
    ];
    const shown = await clone.run("npx", ...command);
    assertStringIncludes(shown, "Evaluation Score: {'Accuracy': 0.75}");
    assertStringIncludes(shown, "submission.csv\n  test.csv\n  train.csv\n"); // without the answers
  },
});

Deno.test({
  name: "docs/cli.md, From scripts: the server without npx stops at the signal of a script, with exit code 0",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const script = block("From scripts", "sh").replace("/path/to/paddock/", "$ROOT/").replace(
      "--port 8471",
      "--port 0",
    );
    const child = clone.start("sh", "-c", `${script}\nread -r _; kill $!; wait $!`);
    const lines = readLines(child.stderr, { maxBytes: 1_000_000 });
    for (let served = false; !served;) {
      const { done, value } = await lines.next();
      if (done) throw new Error("the server ended before it served");
      served = "text" in value && value.text.startsWith("Serving at");
    }
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode("\n"));
    await writer.close();
    await child.stdout.cancel();
    while (!(await lines.next()).done); // until it has ended
    assertEquals((await child.status).code, 0);
  },
});

Deno.test({
  name: "docs/cli.md, Completion: the scripts are written",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const command = block("Completion", "sh");
    const folders = [...command.matchAll(/> (~.*)\/[^/]+$/gm)].map(([, folder]) => folder);
    assertEquals(folders.length, 3);
    const setUp = [
      `export HOME="$PWD"; mkdir -p ${folders.join(" ")}`,
      'paddock() { "$DENO" run -A --quiet "$ROOT/src/cli.ts" "$@"; }',
      "",
    ].join("\n");
    const show = "cat ~/.zfunc/_paddock";
    assertStringIncludes(await clone.run("sh", "-euc", `${setUp}${command}${show}`), "#compdef paddock");
  },
});
