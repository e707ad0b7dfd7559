import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

const PROGRAM = `import random, threading, time
order = []
def work(number):
    for step in range(20000): order.append(number)
threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
time.sleep(random.random())
print(time.time(), random.random(), sum(a != b for a, b in zip(order, order[1:])))`;
const REPLIES = [`\`\`\`python\n${PROGRAM}\n\`\`\``, "```python\nprint(time.time())\n```", "done"];

Deno.test("paddock replay --exact compares digests of rows that were played with --clock virtual", async () => {
  await using folder = await TempFolder.of({
    "tasks.jsonl": JSON.stringify({ id: "exact", query: "q", replies: REPLIES }),
  });
  const [tasks, out, real] = ["tasks.jsonl", "rows.jsonl", "real.jsonl"].map((name) =>
    `${folder.path}/${name}`
  ) as [
    string,
    string,
    string,
  ];
  const play = ["rollout", "--tasks", tasks, "--grader", "none", "--seed", "7"];
  assertEquals((await runPaddock([...play, "--clock", "virtual", "--out", out])).code, 0);
  assertEquals(await runPaddock(["replay", out, "--exact"]), {
    code: 0,
    stdout: "row 1, task exact: 2 execs exactly the same\n",
    stderr: "",
  });
  const row = await Deno.readTextFile(out);
  const [first = "", second = ""] = [...row.matchAll(/"digest":"([0-9a-f]{64})"/g)].map(([, digest]) =>
    digest
  );
  await Deno.writeTextFile(out, row.replace(second, first));
  const files = await runPaddock(["replay", out, "--exact"]);
  assertEquals(files.code, 1);
  assertStringIncludes(
    files.stdout,
    "1 exec exactly the same; turn 2, call 1 differs in files, or in what the model",
  );
  await Deno.writeTextFile(out, row.replace(second, first).replaceAll("17672", "17673"));
  const text = await runPaddock(["replay", out, "--exact"]);
  assertMatch(
    text.stdout,
    /turn 2, call 1 differs at byte \d+ of the results\n {2}recorded .*17673.*\n {2}replayed .*17672/,
  );
  assertEquals((await runPaddock([...play, "--out", real])).code, 0);
  const without = await runPaddock(["replay", real, "--exact"]);
  assertEquals(without.code, 2);
  assertStringIncludes(without.stderr, "play the episode with --clock virtual");
});
