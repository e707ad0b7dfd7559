import { assertEquals } from "@std/assert";
import { findBlockedProgram, programsOf } from "../../../src/envs/workspace/blocklist.ts";
import { classifyCommand, isTrainingCommand } from "../../../src/envs/workspace/episode.ts";

const CASES: readonly [string, readonly string[]][] = [
  ["", []],
  ["ls -l", ["ls"]],
  ["a; b && c || d | e & f\ng", ["a", "b", "c", "d", "e", "f", "g"]],
  ["X=1 Y+=2 run git", ["run"]],
  ["X=1", []],
  ["if git; then vi; else cat; fi", ["git", "vi", "cat", "fi"]],
  ["for i in git vim; do echo $i; done", ["for", "echo", "done"]],
  ["! git", ["git"]],
  ["{ git; }", ["git", "}"]],
  ["(git)", ["git"]],
  ["echo $(git log) `vi`", ["echo", "git", "vi"]],
  ["echo \"$(git)\" 'git; vi' # git; vi", ["echo"]],
  ["'git' log; gi\\t; \"git\"", ["git", "git", "git"]],
  ["sudo -u me git; env -i A=1 vim; xargs -n 2 git; timeout 5 vi", [
    "sudo",
    "me",
    "env",
    "vim",
    "xargs",
    "git",
    "timeout",
    "vi",
  ]],
  ["> git echo; cat < vim 2>&1; a >out b", ["echo", "cat", "a"]],
  ["cat <<E <<-'F' | sort\ngit\nE\nvi\n\tF\nnano", ["cat", "sort", "nano"]],
  ["cat <<E\nnever ends; git", ["cat"]],
  ["cat <<< git; vi", ["cat", "vi"]],
  ["echo 'not closed; git", ["echo", "git"]],
  ["/usr/bin/git", ["/usr/bin/git"]],
];

Deno.test("programsOf() finds the programs of a command line, and nothing else", async (t) => {
  for (const [command, words] of CASES) {
    await t.step(command, () => assertEquals(programsOf(command), words));
  }
});

Deno.test("programsOf() terminates on any text", () => {
  const signs = "a '\"\\`$()<>|&;#\n{}=!\0é𝒳";
  const characters = [...signs];
  let seed = 1;
  for (let round = 0; round < 2_000; round++) {
    const text = Array.from({ length: 20 }, () => {
      seed = (seed * 48_271) % 0x7fffffff;
      return characters[seed % characters.length];
    }).join("");
    assertEquals(Array.isArray(programsOf(text)), true, text);
  }
});

Deno.test("findBlockedProgram() finds blocked programs anywhere, and standalone ones only alone", () => {
  const lists = { blocklist: ["vim", "git"], blocklistStandalone: ["python", "bash"] };
  for (const command of ["git", "git log", "ls; git log", "/usr/bin/vim x", "cat x | vim -"]) {
    assertEquals([command, findBlockedProgram(command, lists) !== undefined], [command, true]);
  }
  for (const command of [" python ", "bash\n"]) {
    assertEquals(findBlockedProgram(command, lists), command.trim());
  }
  for (
    const command of ["python a.py", "bash -c ls", "echo git", "vimdiff a", "ls .git", "cat > a <<E\ngit\nE"]
  ) {
    assertEquals([command, findBlockedProgram(command, lists)], [command, undefined]);
  }
});

Deno.test("classifyCommand() classifies the actions that need no shell", () => {
  const tools = { endNames: { edit: "end_of_edit", insert: "end_of_insert" } };
  const kinds: readonly [string, string][] = [
    [" skip\n", "skip"],
    ["exit_forfeit", "forfeit"],
    ["exit_cost", "exit"],
    ["exit_cost now", "run"],
    ["exit_other", "run"],
    ["edit 1:2\nx", "open-ended"],
    ["edit 1:2", "open-ended"],
    ["edit 1:2\nx\nend_of_edit", "run"],
    ["edit 1:2\nx\nend_of_edit\n", "run"],
    ["edit 1:2\nx end_of_edit", "open-ended"],
    ["edit 1:2 << 'E'\nx\nE", "run"],
    ["insert 0\nimport os\nrm -r spans", "open-ended"],
    ["insert 3", "open-ended"],
    ["insert 3\nx\nend_of_edit", "open-ended"],
    ["insert 3\nx\nend_of_insert", "run"],
    ["insert 3 < part.py", "run"],
    ["insert here\nx", "run"],
    ["insert 1:2\nx", "run"],
    ["edit 1\nx", "run"],
    ["edit", "run"],
    ["edited 1:2", "run"],
  ];
  for (const [action, kind] of kinds) {
    assertEquals([action, classifyCommand(action, tools).kind], [action, kind]);
  }
  assertEquals(classifyCommand("insert 3", { endNames: {} }).kind, "run", "an insert of somebody else's");
});

Deno.test("isTrainingCommand() is true for commands with a training program", () => {
  for (const command of ["python a.py", "ls; python3 -c 1", "torchrun x"]) {
    assertEquals(isTrainingCommand(command), true);
  }
  for (const command of ["ls", "cat pythonic.txt", "pythons"]) {
    assertEquals(isTrainingCommand(command), false);
  }
});
