import { assertEquals } from "@std/assert";
import { runPaddock } from "./run_paddock.ts";

const TEXT_FILES: Readonly<Record<string, string>> = {
  "ok.py": "print(1)",
  "ok.jsonl": '{"id":"a","query":"1+1","answer":"2"}\n',
  "empty.jsonl": "",
  "blank.jsonl": "\n\n",
  "empty.csv": "query,answer\n",
  "array.jsonl": "[1]\n",
  "mcp.jsonc": '{"mcpServers":{}}',
  "no_servers.jsonc": "{}",
  "broken.jsonc": "{",
  "unknown_key.jsonc": '{"description":"x","memory":1}',
  "small_memory.jsonc": '{"description":"x","limits":{"memoryBytes":1}}',
  "grants.jsonc": '{"description":"x","permissions":{"net":true}}',
  "trajectory.jsonl": '{"task":{"id":"a"}}\n',
};

const WHOLE_1 = "It must be a whole number >= 1.";
const WHOLE_0 = "It must be a whole number >= 0.";
const TOKEN = "a token must have at least 16 visible ASCII characters";
const NO_FILE = "there is no such file";

/** Wrong command lines and a part of their messages. `@` stands for the folder of the files. */
const CASES: readonly [line: string, message: string][] = [
  // the command
  ["nope", "unknown command 'nope'"],
  ["exce -e 1", "unknown command 'exce': did you mean exec?"],
  ["--nope exec -e 1", "unknown option '--nope'"],
  ["view", "missing required argument 'file'"],
  ["packages nope", "unknown command 'nope'"],
  ["packages add", "missing required argument 'requirements'"],
  ["packages why", "missing required argument 'name'"],
  ["doctor extra", "too many arguments"],
  ["repl extra", "too many arguments"],
  ["completion", "missing required argument 'shell'"],
  ["completion tcsh", "Allowed choices are bash, zsh, fish."],
  ["cache nope", "unknown command 'nope'"],
  ["cache clear nope", "Allowed choices are images, packages, choices, verifier, history."],
  ["cache clear --unused-days x", `argument 'x' is invalid. ${WHOLE_0}`],
  ["init @/ok.py/x", "Cannot write a project into '@/ok.py/x'"],
  ["replay @/none:1", `Cannot read '@/none': ${NO_FILE}`],
  ["replay @/ok.jsonl:0", "must be >= 1: current value is 0"],
  // exec
  ["exec", "there must be one program, given as -e CODE, -m MODULE, FILE, - or a pipe: found none"],
  ["exec -e 1 @/ok.py", "there must be one program, given as -e CODE, -m MODULE, FILE, - or a pipe: found 2"],
  ["exec -e 1 -m json", "found 2"],
  ["exec --nope", "unknown option '--nope'"],
  ["exec -e", "option '-e, --eval <code>' argument missing"],
  ["exec @/none.py", `Cannot read '@/none.py': ${NO_FILE}`],
  ["exec @", "Cannot read '@': it is a directory"],
  ["exec @/binary.py", "as it must be UTF-8: found an invalid byte"],
  ["exec --timeout-ms 0 -e 1", `option '--timeout-ms <n>' argument '0' is invalid. ${WHOLE_1}`],
  ["exec --timeout-ms 1e3 -e 1", `argument '1e3' is invalid. ${WHOLE_1}`],
  ["exec --timeout-ms -5 -e 1", `argument '-5' is invalid. ${WHOLE_1}`],
  ["exec --timeout-ms 90000000 -e 1", "timeoutMs"],
  ["exec --memory-mb 1 -e 1", "Cannot limit memory to 1 MiB as --memory-mb must be from 64 to 2048"],
  ["exec --memory-mb 4096 -e 1", "Cannot limit memory to 4096 MiB as --memory-mb must be from 64 to 2048"],
  ["exec --memory-mb 1.5 -e 1", `argument '1.5' is invalid. ${WHOLE_1}`],
  ["exec --stdin @/none -e 1", `Cannot read '@/none': ${NO_FILE}`],
  ["exec --stdin - -", "Cannot read both the program and its input from stdin"],
  ["exec --json -i -e 1", "Cannot print JSON and start an interactive interpreter"],
  ["exec --file @/none -e 1", `Cannot read '@/none': ${NO_FILE}`],
  ["exec --file @/ok.py=../x -e 1", "../x"],
  ["exec --get x=@/no/y -e 1", `Cannot write '@/no/y' into '@/no': ${NO_FILE}`],
  ["exec --with-deps -e 1", "--with-deps needs a program file"],
  // profiles
  ["exec -p nope -e 1", "nope"],
  ["exec -p @/none.jsonc -e 1", "none.jsonc"],
  ["exec -p @/broken.jsonc -e 1", "Cannot read profile '@/broken.jsonc'"],
  ["exec -p @/unknown_key.jsonc -e 1", "memory"],
  ["exec -p @/small_memory.jsonc -e 1", "limits.memoryBytes"],
  ["exec -p @/grants.jsonc -e 1", "permissions.net"],
  ["session --seed x", `option '--seed <n>' argument 'x' is invalid. ${WHOLE_0}`],
  ["session -p nope", "nope"],
  ["repl -p nope", "nope"],
  // serve and mcp
  ["serve --token short", `${TOKEN}: one has 5`],
  ["serve --metrics-token short", `${TOKEN}: one has 5`],
  ["serve --token=", `${TOKEN}: one is empty`],
  ["serve --host 0.0.0.0", "Cannot serve at '0.0.0.0' as a non-loopback address needs a token"],
  ["serve --port 65536", "'port' must be at most 65535: current value is 65536"],
  ["serve --port -1", `argument '-1' is invalid. ${WHOLE_0}`],
  ["serve --port http", `argument 'http' is invalid. ${WHOLE_0}`],
  ["serve --max-sessions 0", `argument '0' is invalid. ${WHOLE_1}`],
  ["serve --require-layer nope", "argument 'nope' is invalid. Allowed choices are all, rlimits"],
  ["serve --openenv chat", "Cannot serve OpenEnv's chat env without a tokenizer: give --tokenizer DIR"],
  ["serve --tokenizer @", "give --openenv chat"],
  ["mcp -p nope", "nope"],
  // rollout
  ["rollout", "Cannot play env 'python' as it needs tasks: give --tasks FILE"],
  ["rollout --tasks @/none.jsonl", `Cannot read '@/none.jsonl': ${NO_FILE}`],
  [
    "rollout --tasks @/empty.jsonl",
    "Cannot play '@/empty.jsonl' as it must have at least one task: it has none",
  ],
  [
    "rollout --tasks @/blank.jsonl",
    "Cannot play '@/blank.jsonl' as it must have at least one task: it has none",
  ],
  ["rollout --tasks @/empty.csv", "Cannot play '@/empty.csv' as it must have at least one task: it has none"],
  ["rollout --tasks @/ok.jsonl --env rlm", "profile 'python' must have 'hostTools': give --profile tools"],
  ["rollout --tasks @/ok.jsonl --env nope", "Cannot find env 'nope': available are python, tools, chat"],
  ["rollout --tasks @/ok.jsonl --grader nope", "Cannot find grader 'nope': available are number_match"],
  ["rollout --tasks @/ok.jsonl --policy nope", "Cannot find policy 'nope': available are scripted"],
  ["rollout --tasks @/ok.jsonl --policy openai", "as it needs a URL: give --policy openai:URL"],
  [
    "rollout --tasks @/ok.jsonl --policy openai:localhost:8000",
    "its URL must begin with http:// or https://: current value is 'localhost:8000'; try --policy openai:http://localhost:8000",
  ],
  ["rollout --tasks @/ok.jsonl --policy openai:http://h", "as it needs a model name: give --model NAME"],
  ["rollout --tasks @/ok.jsonl --policy sglang:ftp://h", "must begin with http:// or https://"],
  ["rollout --tasks @/ok.jsonl --policy calculator:x", "takes no text after a colon: found 'x'"],
  ["rollout --tasks @/ok.jsonl --policy scripted:@/none", "@/none"],
  [
    "rollout --tasks @/ok.jsonl --grader judge",
    "Cannot use grader 'judge' as it needs a policy: give --judge POLICY",
  ],
  ["rollout --tasks @/ok.jsonl --calls nope", "Cannot find call style 'nope': available are tag"],
  [
    "rollout --tasks @/ok.jsonl --env tools",
    "Cannot play env 'tools' as it needs tools: give --tool FILE or --mcp FILE",
  ],
  ["rollout --tasks @/ok.jsonl --mcp @/no_servers.jsonc", "must have an object 'mcpServers': it has none"],
  ["rollout --tasks @/ok.jsonl --domain retail", "add --env tau-bench"],
  ["rollout --env tau-bench", "give"],
  ["rollout --env workspace", "Cannot play env 'workspace' as it needs a task: give --task DIR"],
  ["rollout --tasks @/ok.jsonl --resume", "give --out FILE or --train-out FILE"],
  [
    "rollout --tasks @/ok.jsonl --resume --force --out @/out",
    "option '--resume' cannot be used with option '--force'",
  ],
  ["rollout --tasks @/ok.jsonl --json --show", "option '--json' cannot be used with option '--show'"],
  ["rollout --tasks @/ok.jsonl --env chat --out @", "@"],
  ["rollout --tasks @/ok.jsonl --train-out @/t", "their tokens need a tokenizer: give --tokenizer DIR"],
  ["rollout --tasks @/ok.jsonl --tokenizer @", "tokenizer"],
  ["rollout --tasks @/ok.jsonl --samples 0", `argument '0' is invalid. ${WHOLE_1}`],
  ["rollout --tasks @/ok.jsonl --temperature -1", "It must be a number >= 0."],
  ["rollout --tasks @/ok.jsonl --reset cold", "Allowed choices are rewind, fresh."],
  // grade, view and check-tokens
  ["grade @/trajectory.jsonl", "as it needs a grader: give --grader NAME, one of number_match, gsm8k"],
  ["grade @/trajectory.jsonl --grader nope", "Cannot find grader 'nope': available are number_match"],
  ["grade @/none --grader math", `Cannot read '@/none': ${NO_FILE}`],
  ["grade @/empty.jsonl --grader math", "Cannot grade '@/empty.jsonl' as it must have at least one episode"],
  ["view @/none", `Cannot read '@/none': ${NO_FILE}`],
  ["view @", "Cannot read '@': it is a directory"],
  ["view @/array.jsonl", "@/array.jsonl"],
  ["view @/ok.jsonl --limit 0", `argument '0' is invalid. ${WHOLE_1}`],
  ["check-tokens --policy scripted", "required option '--tokenizer <dir>' not specified"],
  ["check-tokens --policy scripted --tokenizer @", "tokenizer"],
];

Deno.test("paddock explains wrong command lines in one line and exits with 2", async () => {
  const folder = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries(TEXT_FILES)) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    await Deno.writeFile(`${folder}/binary.py`, new Uint8Array([0xff, 0xfe]));
    const place = (text: string) => text.replaceAll("@", folder);
    const wrong: string[] = [];
    for (const [line, message] of CASES) {
      const { code, stdout, stderr } = await runPaddock(place(line).split(" "), "", {
        env: { PADDOCK_CACHE_DIR: `${folder}/cache` },
      });
      const lines = stderr.split("\n");
      const isOneLine = lines.length === 2 && lines[0]?.startsWith("error: ");
      if (code !== 2 || stdout !== "" || !isOneLine || !stderr.includes(place(message))) {
        wrong.push(`paddock ${line} → ${code} ${stderr}${stdout}`);
      }
    }
    assertEquals(wrong, []);
    assertEquals(CASES.length >= 78, true);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
