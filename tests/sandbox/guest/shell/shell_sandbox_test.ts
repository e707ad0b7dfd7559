import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Session, ShellOptions, ShellResult } from "../../../../mod/sandbox.ts";
import { withSession } from "../../shared_session.ts";
import { limited, stoppedAfterOutput, value } from "../../started.ts";
import { REPLACED_COMMANDS } from "../../../../src/sandbox/guest/shell/replaced_commands.ts";
import { differingCommands } from "./compare_recorded.ts";
import commands from "./commands.json" with { type: "json" };
import type { RecordedCommand } from "./record.ts";

/** A grace time of 10 s, so that even on a busy machine only a program that ignores interrupts loses its state. */
const profile = await limited("workspace", { graceMs: 10_000 });
const HOME = "/home/pyodide";

function shellTest(name: string, test: (session: Session) => Promise<void>): void {
  Deno.test(name, () => withSession(test, { profile }));
}

/** Runs a command that must succeed, and returns its stdout. */
async function printed(session: Session, command: string): Promise<string> {
  const result = await session.shell(command);
  assertEquals(result.status, "ok", JSON.stringify(result));
  return result.stdout;
}

function exitCode(result: ShellResult): number {
  if (!("exitCode" in result)) throw new Error(`ended as '${result.status}'`);
  return result.exitCode;
}

shellTest("Session.shell() keeps directory, variables, functions and exit code", async (session) => {
  const first = await session.shell("cd /tmp; x=5; a=(1 2); hi() { echo hi $1; }; export Y=1; false");
  assertEquals([first.status, exitCode(first), first.cwd], ["exited", 1, "/tmp"]);
  assertEquals(await printed(session, "echo $?; echo $x ${a[1]}; hi you; pwd"), "1\n5 2\nhi you\n/tmp\n");
  assertEquals(await printed(session, "bash -c 'echo [$x] [$Y]'"), "[] [1]\n");
  assertEquals(await printed(session, "set -o pipefail; shopt -s nullglob"), "");
  assertEquals(exitCode(await session.shell("false | true")), 1);
  assertEquals(await printed(session, "set +o pipefail; echo *.none"), "\n");
});

shellTest("Session.shell() keeps its state after exit and after a syntax error", async (session) => {
  assertEquals(exitCode(await session.shell("x=1; exit 7")), 7);
  assertEquals(exitCode(await session.shell("if true; then")), 2);
  assertEquals(await printed(session, "echo $x"), "1\n");
});

shellTest("Session.shell() ends Python programs as `python` does", async (session) => {
  await session.exec("import atexit; _ = atexit.register(print, 'of the session')");
  await session.writeFile(
    "ends.py",
    "\ufeffimport atexit\nclass A:\n    def __del__(self): print('del', __name__)\na = A()\ndef g():\n" +
      "    try: yield\n    finally: print('closed')\nit = g(); next(it)\natexit.register(print, 'exit')\nprint('end')\n",
  );
  const output = "end\nexit\ndel __main__\nclosed\n";
  for (
    const command of ["python ends.py", 'python -c "$(cat ends.py)"', "python < ends.py", "python -m ends"]
  ) {
    assertEquals(await printed(session, command), output, command);
  }
  const hooked = await session.shell(
    "python -c 'import sys; sys.excepthook = lambda *a: print(a[0].__name__); 1/0'",
  );
  assertEquals([hooked.stdout, hooked.stderr, exitCode(hooked)], ["ZeroDivisionError\n", "", 1]);
});

shellTest("Session.shell() and Session.exec() share their files", async (session) => {
  await session.shell("mkdir -p src; echo 'print(2)' > src/a.py; ln -s src/a.py l; chmod 600 src/a.py");
  assertEquals(
    value(await session.exec("import os; open('l').read(), os.stat('src/a.py').st_mode & 0o777")),
    `('print(2)\\n', ${0o600})`,
  );
  await session.exec("open('b.bin', 'wb').write(bytes(range(256)))");
  assertEquals(await printed(session, "wc -c < b.bin; cp b.bin c.bin; rm b.bin"), "256\n");
  assertEquals(value(await session.exec("open('c.bin', 'rb').read() == bytes(range(256))")), "True");
  await session.writeFile("d.txt", "from the host");
  assertEquals(await printed(session, "cat d.txt"), "from the host");
});

shellTest("Session.shell() passes stdin to the command and its output to onOutput", async (session) => {
  const output: string[] = [];
  const result = await session.shell("cat; echo err >&2", {
    stdin: "grüße",
    onOutput: (stream, text) => output.push(`${stream}: ${text}`),
  });
  assertEquals([result.stdout, result.stderr], ["grüße", "err\n"]);
  assertEquals(output, ["stdout: grüße", "stderr: err\n"]);
});

/** Runs a command and returns the pieces of its output. */
async function outputPieces(
  session: Session,
  command: string,
  options: ShellOptions = {},
): Promise<string[]> {
  const output: string[] = [];
  await session.shell(command, { ...options, onOutput: (_, text) => output.push(text) });
  return output;
}

shellTest("Session.shell() passes output to onOutput while the command runs", async (session) => {
  await session.shell(
    "cat > p.py << 'END'\nimport os, time\nprint('one')\nwhile True: time.sleep(0.01)\nEND",
  );
  const endless = [
    "echo one; while :; do :; done",
    "echo one; sleep 1000",
    "python p.py",
    "python p.py 2>&1",
    "echo three | cat p.py - > /dev/null; f() { python p.py; }; f",
    "cat p.py | python p.py < /dev/null",
    "chmod +x s.sh; ./s.sh",
    "if true; then { (python p.py); }; fi",
  ];
  await session.shell("printf '#!/bin/bash\npython p.py\n' > s.sh");
  for (const command of endless) {
    const control = new AbortController();
    const output: string[] = [];
    const onOutput = (_: string, text: string) => {
      output.push(text);
      if (output.join("").includes("one\n")) control.abort(new Error("stop"));
    };
    await assertRejects(() => session.shell(command, { onOutput, signal: control.signal }), Error, "stop");
  }
});

shellTest(
  "Session.shell() passes both streams to onOutput in the order of the writes",
  async (session) => {
    const output: string[] = [];
    const onOutput = (stream: string, text: string) => void output.push(`${stream}: ${text}`);
    await session.shell(
      "echo a; ls none; echo b; f() { echo c; echo d >&2; echo e; }; f; if true; then cd none; echo g; fi",
      {
        onOutput,
      },
    );
    const none = "No such file or directory\n";
    const order = [
      "stdout: a\n",
      `stderr: ls: cannot access 'none': ${none}`,
      "stdout: b\nc\n",
      "stderr: d\n",
      "stdout: e\n",
      `stderr: bash: line 1: cd: none: ${none}`,
      "stdout: g\n",
    ];
    assertEquals(output, order);
  },
);

shellTest(
  "Session.shell() does not pass on output that a pipe, substitution or file takes",
  async (session) => {
    const commands = [
      "python -c 'print(1)' | tr 1 2",
      "x=$(python -c 'print(2)'; echo); echo $x",
      "python -c 'print(2)' > f; cat f",
      "f() { python -c 'print(2)'; } > f; f; cat f",
      "{ python -c 'print(2)'; } > f; cat f",
      "exec > f; python -c 'print(2)'; cat f >&2",
      "cat <(python -c 'print(2)')",
    ];
    for (const command of commands) {
      assertEquals((await outputPieces(session, command)).join(""), "2\n", command);
    }
    assertEquals(await printed(session, "cat <(echo a) <(echo b)"), "a\nb\n");
  },
);

shellTest(
  "Session.shell() splits a command's name into words when it comes from a variable",
  async (session) => {
    assertEquals(
      await printed(session, "run='echo a  b'; $run c; $(echo echo d) e; set -u; $run"),
      "a b c\nd e\na b\n",
    );
    assertEquals(
      await printed(session, "empty=; $empty echo f; p=/usr/bin; $p/echo g; f() { $1 h; }; f echo"),
      "f\ng\nh\n",
    );
    assertEquals(exitCode(await session.shell("run='no such'; \"$run\"")), 127);
  },
);

shellTest("Session.shell() ends a command that is silent for longer than 'silenceMs'", async (session) => {
  const silent = await session.shell("echo a; sleep 1000", { silenceMs: 300 });
  assertEquals([silent.status, silent.stdout, silent.stateKept], ["timeout", "a\n", true]);
  assertEquals("deadline" in silent && silent.deadline, "silence");
  assertEquals("error" in silent && silent.error.message, "the command wrote nothing for 300 ms");
  const late = await session.shell("echo a; sleep 1000", { timeoutMs: 300, silenceMs: 100_000 });
  assertEquals("deadline" in late && late.deadline, "run");
  const slow = "for i in 1 2 3 4; do sleep 1; echo $i; done; python -c 'print(5)'";
  assertEquals((await session.shell(slow, { silenceMs: 3_500, timeoutMs: 100_000 })).status, "ok");
  await assertRejects(() => session.shell("ls", { silenceMs: -1 }), RangeError, "'silenceMs'");
});

shellTest("Session.shell() runs python as a separate program", async (session) => {
  await session.exec("import sys; secret = 1; kept = sys.argv");
  await session.shell(
    "mkdir p; echo 'x = 1' > p/lib.py; echo 'import lib, sys; print(lib.x, sys.argv)' > p/a.py",
  );
  assertEquals(await printed(session, "python p/a.py b 'c d'"), "1 ['p/a.py', 'b', 'c d']\n");
  assertEquals(
    await printed(session, "echo 'x = 2' > p/lib.py; cd p; python3 -m a"),
    "2 ['/home/pyodide/p/a.py']\n",
  );
  assertEquals(
    await printed(session, "A=1 python -c 'import os; print(os.environ[\"A\"], os.getcwd())'"),
    `1 ${HOME}/p\n`,
  );
  const zone = "python -c 'import time; print(time.localtime(0).tm_hour, *time.tzname)'";
  assertEquals(await printed(session, `TZ=America/New_York ${zone}; ${zone}`), "19 EST EDT\n0 UTC UTC\n");
  assertEquals(
    await printed(session, "echo 'print(input())' > i.py; echo in | python i.py | tr a-z A-Z"),
    "IN\n",
  );
  assertEquals(await printed(session, "echo '{\"a\":1}' | python -m json.tool --compact"), '{"a":1}\n');
  assertEquals(exitCode(await session.shell("python -c 'print(secret)'")), 1);
  assertEquals(
    value(await session.exec("import os; secret, sys.argv == kept, os.getcwd(), 'lib' in sys.modules")),
    `(1, True, '${HOME}', False)`,
  );
});

shellTest("Session.shell() reports errors of python as python does", async (session) => {
  const raised = await session.shell("python -c 'def f():\n  1/0\nf()'");
  assertEquals(exitCode(raised), 1);
  assertEquals(
    raised.stderr,
    'Traceback (most recent call last):\n  File "<string>", line 3, in <module>\n    f()\n    ~^^\n' +
      '  File "<string>", line 2, in f\n    1/0\n    ~^~\nZeroDivisionError: division by zero\n',
  );
  assertEquals(exitCode(await session.shell("python nothing.py")), 2);
  assertEquals(exitCode(await session.shell("python -c 'import sys; sys.exit(300)'")), 300 & 0xff);
  assertEquals(exitCode(await session.shell("python -q9")), 2);
  const syntax = await session.shell("echo 'x = (' > s.py; python s.py");
  assertStringIncludes(syntax.stderr, "SyntaxError: '(' was never closed");
});

const ENDLESS = [
  ["a loop", "echo start; while true; do :; done"],
  ["a loop in a function in a subshell", "f() { while :; do x=1; done; }; echo start; (f)"],
  ["a loop in a pipeline", "echo start; while :; do :; done | cat"],
  ["sleep", "echo start; sleep 1000; echo never"],
  ["Python", "echo start; python -c 'while True: pass'; echo never"],
  ["awk", "echo start; awk 'BEGIN { while (1) x++ }'"],
  ["sed", "echo start; echo a | sed ':a; s/a/a/; ta'"],
] as const;

shellTest(
  "Session.shell() stops a command that does not end, returns its output and keeps the shell's state",
  async (session) => {
    for (const [name, command] of ENDLESS) {
      const { result } = await stoppedAfterOutput((timeoutMs) =>
        session.shell(`kept=${name.length}; ${command}`, { timeoutMs })
      );
      assertEquals([result.status, result.stateKept, result.stdout], ["timeout", true, "start\n"], name);
      assertEquals(result.stderr.replace(/Traceback[^]*KeyboardInterrupt\n/, ""), "", name);
      assertEquals(await printed(session, "echo $kept"), `${name.length}\n`, name);
    }
  },
);

shellTest("Session.shell() stops a command when its signal is aborted", async (session) => {
  const control = new AbortController();
  const running = session.shell("echo a; sleep 1000", { signal: control.signal });
  control.abort(new Error("enough"));
  await assertRejects(() => running, Error, "enough");
  assertEquals(await printed(session, "echo still"), "still\n");
});

shellTest("Session.reset() by 'rewind' restores the shell", async (session) => {
  await session.shell("cd /tmp; x=1; f() { echo f; }; touch left; echo changed > ~/g; set -e; rm -r /home");
  await session.reset({ mode: "rewind" });
  const result = await session.shell('echo "[$x]" $-; pwd; ls -a /tmp; ls -a ~; type f');
  assertEquals(result.stdout.replace(/\] .*/, "]"), `[]\n${HOME}\n.\n..\n.\n..\n`);
  assertEquals(exitCode(result), 1);
});

shellTest(
  "Session.shell() starts a new shell after a crash and sets 'restarted' on its result",
  async (session) => {
    await session.shell("x=1");
    const lost = await session.shell("python -c 'import os; os.abort()'");
    assertEquals([lost.status, lost.stateKept], ["crashed", false]);
    const next = await session.shell("echo [$x]");
    assertEquals([next.stdout, next.restarted], ["[]\n", true]);
  },
);

shellTest("Session.shell() keeps traps for later commands, except that of EXIT", async (session) => {
  const command = "trap 'echo bye' EXIT; trap 'echo failed $?' ERR; trap 'echo usr1' USR1; set -E";
  assertEquals(await printed(session, command), "bye\n");
  assertEquals(
    (await session.shell("f() { return 3; }; f; kill -USR1 $$; false")).stdout,
    "failed 3\nusr1\nfailed 1\n",
  );
  assertEquals(
    await printed(session, "trap -p"),
    "trap -- 'echo usr1' SIGUSR1\ntrap -- 'echo failed $?' ERR\n",
  );
  assertEquals(await printed(session, "trap - ERR USR1; false || echo quiet"), "quiet\n");
});

shellTest(
  "Session.shell() ends by a signal that it sends itself, and goes on with the next command",
  async (session) => {
    for (const [signal, code] of [["TERM", 143], ["KILL", 137], ["INT", 130]] as const) {
      const result = await session.shell(`x=${signal}; echo start; kill -${signal} $$; echo never`);
      assertEquals([result.stdout, exitCode(result)], ["start\n", code]);
      assertEquals(await printed(session, "echo $x"), `${signal}\n`);
    }
  },
);

shellTest("Session.shell() ends jobs at its timeout, and goes on with the next command", async (session) => {
  const stopped = await session.shell("x=6; (sleep 1000; echo never) & echo started; wait", {
    timeoutMs: 300,
  });
  assertEquals([stopped.status, stopped.stateKept, stopped.stdout], ["timeout", true, "started\n"]);
  assertEquals(await printed(session, "echo $x; jobs; wait; sleep 0.01 & wait $!; echo $?"), "6\n0\n");
});

shellTest("Session.shell() runs Python programs of jobs one at a time", async (session) => {
  const loop = "for at in range(3): print(at, flush=True)";
  const output = await printed(session, `for i in 1 2; do python -c '${loop}' & done; wait; echo end`);
  assertEquals(output, "0\n1\n2\n0\n1\n2\nend\n");
});

shellTest("Session.shell() refuses a job beside 32 others", async (session) => {
  const result = await session.shell("for i in {1..33}; do sleep 1000 & done; kill $(jobs -p); wait; jobs");
  assertEquals(result.stdout, "");
  assertStringIncludes(result.stderr, "the sandbox runs at most 32 jobs at once");
});

shellTest("Session.shell() passes exported functions to shells that programs start", async (session) => {
  const program =
    "import subprocess; subprocess.run(['bash', '-c', 'greet you; greet() { echo no; }; greet'])";
  await session.writeFile("run.py", program);
  const command = 'greet() { echo "hello $1"; }; export -f greet; python run.py; greet me';
  assertEquals(await printed(session, command), "hello you\nno\nhello me\n");
});

shellTest("Session.shell() refuses by name what a shell in the sandbox cannot do", async (session) => {
  for (
    const [line, stderr, code] of [
      ["mapfile -t -C f -c 2 a", "bash: line 1: mapfile: the option -C is not available in the sandbox\n", 1],
      ["mapfile -u 3 a", "bash: line 1: mapfile: the option -u is not available in the sandbox\n", 1],
      ["fg", "bash: line 1: fg: no job control\n", 1],
      [
        "ulimit -v 1000",
        "bash: line 1: ulimit: virtual memory: cannot modify limit: the sandbox has fixed limits\n",
        1,
      ],
      ["shopt -s extdebug", "bash: line 1: shopt: extdebug: is not available in the sandbox\n", 1],
      ["kill -STOP $$", "bash: line 1: kill: a shell cannot be stopped in the sandbox\n", 1],
      ["kill -- -1", "bash: line 1: kill: (-1) - Operation not permitted\n", 1],
      ["true & kill $!", "bash: line 1: kill: (1000) - No such process\n", 1],
      [
        "sleep 9 & kill -STOP $! || { kill $!; false; }",
        "bash: line 1: kill: a job cannot be stopped in the sandbox\n",
        1,
      ],
      ["(kill $$)", "bash: line 1: kill: (1) - a subshell cannot signal its shell in the sandbox\n", 1],
    ] as const
  ) {
    const result = await session.shell(line);
    assertEquals([line, result.stderr, exitCode(result)], [line, stderr, code]);
  }
  for (const waiting of ["read x <&${COPROC[0]}", "wait", "wait $COPROC_PID"]) {
    const coprocess = await session.shell(`coproc cat; ${waiting}`);
    assertStringIncludes(coprocess.stderr, "both would wait for ever");
  }
});

shellTest("Session.shell() runs each command whose code is left out of the engine", async (session) => {
  for (const name of REPLACED_COMMANDS) {
    const { stdout, stderr } = await session.shell(`${name} --paddock < /dev/null`);
    const program = name === "gunzip" || name === "zcat" ? "gzip" : name;
    assert(stderr.includes(program) || stdout !== "", `${name}: ${stderr}`);
  }
});

shellTest("Session.shell() throws on invalid arguments", async (session) => {
  await assertRejects(() => session.shell(1 as never), TypeError, "must be a string");
  await assertRejects(() => session.shell("ls", { timeoutMs: 0 }), RangeError, "'timeoutMs'");
  assert((await session.shell("")).status === "ok");
});

shellTest("Session.shell() reports a redirection that fails and runs the next command", async (session) => {
  for (
    const [line, stderr] of [
      ["echo x > /lib/x", "bash: line 1: /lib/x: Read-only file system\n"],
      ["touch f; echo x > f/g", "bash: line 1: f/g: Not a directory\n"],
      ["touch r; chmod 444 r; echo x >> r", "bash: line 1: r: Permission denied\n"],
      ["{ echo x; echo y; } > /lib/x", "bash: line 1: /lib/x: Read-only file system\n"],
      ["cat <<E > /lib/x\nx\nE", "bash: line 1: /lib/x: Read-only file system\n"],
    ] as const
  ) {
    const result = await session.shell(`${line}\necho $?`);
    assertEquals([line, result.stdout, result.stderr], [line, "1\n", stderr]);
  }
});

shellTest("Session.shell() refuses by name what its commands cannot do", async (session) => {
  await session.shell("echo 1 > f; echo 2 > g; mkdir d");
  for (
    const [line, stderr] of [
      ["cp -b f g", "cp: the option -b is not available in the sandbox\n"],
      ["mv --backup f g", "mv: the option --backup is not available in the sandbox\n"],
      ["cp -l f h", "cp: the option -l is not available in the sandbox\n"],
      ["ln f h", "ln: failed to create hard link 'h' => 'f': Operation not permitted\n"],
      ["touch -h f", "touch: the option -h is not available in the sandbox\n"],
      ["du --time", "du: the option --time is not available in the sandbox\n"],
      ["sed --debug p f", "sed: the option --debug is not available in the sandbox\n"],
      ["tree -C", "tree: the option -C is not available in the sandbox\n"],
      ["column -J f", "column: the option -J is not available in the sandbox\n"],
      ["cp -r d d/e", "cp: cannot copy a directory, 'd', into itself, 'd/e'\n"],
      ["rm -rf .", "rm: refusing to remove '.' or '..' directory: skipping '.'\n"],
      ["patch -l f", "patch: the option -l is not available in the sandbox\n"],
      [
        "printf '*** f\\t1\\n--- g\\t2\\n' | patch",
        "patch: only unified diffs can be applied in the sandbox\n",
      ],
      ["diff f g | patch f", "patch: only unified diffs can be applied in the sandbox\n"],
      ["echo GIT binary patch | patch", "patch: binary diffs cannot be applied in the sandbox\n"],
      ["printf %d x", "0bash: line 1: printf: x: invalid number\n"],
    ] as const
  ) {
    const result = await session.shell(line);
    assertEquals([line, result.stdout + result.stderr, exitCode(result)], [line, stderr, 1]);
  }
  assertEquals(await printed(session, "cat f g; ls"), "1\n2\nd\nf\ng\n");
});

const rows: readonly RecordedCommand[] = commands;
const compared = rows.filter(({ skip }) => skip === undefined);

Deno.test("Session.shell() matches bash 5.2 and coreutils in at least 900 commands", async () => {
  assert(compared.length >= 900, `only ${compared.length} commands are compared`);
  await withSession(async (session) => {
    assertEquals(await differingCommands(session, compared), []);
  }, { profile });
});

Deno.test("each skipped command has a reason", () => {
  assert(rows.every(({ skip }) => skip === undefined || skip.length > 0));
});
