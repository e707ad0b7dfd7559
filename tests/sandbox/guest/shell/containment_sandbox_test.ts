import { assert, assertEquals } from "@std/assert";
import type { Session } from "../../../../mod/sandbox.ts";
import { withSession } from "../../shared_session.ts";
import { limited, stoppedAfterOutput, value } from "../../started.ts";

/** Less space for files, so that few fill it. */
const profile = await limited("workspace", { fileBytes: 8 * 1024 * 1024 });

function containmentTest(name: string, test: (session: Session) => Promise<void>): void {
  Deno.test(`the shell contains ${name}`, () =>
    withSession(async (session) => {
      await test(session);
      assertEquals((await session.shell("echo usable")).stdout, "usable\n");
      assertEquals(value(await session.exec("6 * 7")), "42");
    }, { profile }));
}

containmentTest("a fork bomb", async (session) => {
  const result = await session.shell(":() { : | : & }; :", { timeoutMs: 500 });
  assert(result.status !== "ok", result.status);
  assert(result.stateKept);
});

containmentTest("functions, substitutions and scripts that recurse without end", async (session) => {
  await session.shell("echo 'bash s.sh' > s.sh");
  for (
    const command of [
      "f() { f; }; f",
      "f() { echo $(f); }; f",
      "bash s.sh",
      "eval \"$(printf '(%.0s' {1..5000})\"",
      `find . ${"\\( ".repeat(20_000)} -name s.sh ${"\\) ".repeat(20_000)}`,
    ]
  ) {
    const result = await session.shell(command, { timeoutMs: 5_000 });
    assert(result.status !== "ok" || result.stdout.length < 1_000, command);
    assert(result.stateKept, command);
  }
});

containmentTest("endless output", async (session) => {
  const endless = await session.shell("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", {
    timeoutMs: 300,
  });
  assertEquals(endless.status, "timeout");
  for (
    const command of ["yes", "cat /dev/zero", "cat /dev/zero | tr '\\0' x | tee f", "cat /dev/urandom > r"]
  ) {
    const result = await session.shell(command, { timeoutMs: 5_000 });
    assert(result.stdout.length <= profile.limits.outputBytes, command);
  }
  const flood = await session.shell("python -c 'while 1: print(\"x\" * 100_000)'");
  assert(["output", "timeout", "exited"].includes(flood.status), flood.status);
  assert(flood.stdout.length <= profile.limits.outputBytes);
});

containmentTest("bombs of commands that Python starts", async (session) => {
  const nested = "import subprocess, sys\\nsys.exit(subprocess.call('python3 nested.py', shell=True))\\n";
  await session.shell(`printf "${nested}" > nested.py`);
  const bombs = [
    "subprocess.call('python3 nested.py', shell=True)",
    "subprocess.call('f() { f; }; f', shell=True, stderr=subprocess.DEVNULL)",
    "os.system('python3 nested.py | python3 nested.py')",
  ];
  for (const bomb of bombs) {
    const result = await session.exec(`import os, subprocess\n${bomb}`, { timeoutMs: 3_000 });
    assert(["ok", "timeout"].includes(result.status), `${bomb}: ${JSON.stringify(result)}`);
    assert(result.status !== "ok" || result.value !== "0", bomb);
    assert(result.stateKept, bomb);
  }
  const many = await session.exec(
    `
import subprocess
children = []
try:
    while True: children.append(subprocess.Popen("while :; do :; done", shell=True))
except BlockingIOError: pass
for child in children: child.kill()
len(children), {child.wait() for child in children}`,
    { timeoutMs: 20_000 },
  );
  assertEquals(value(many), "(128, {-9})");
});

containmentTest("commands of Python that do not end or write without end", async (session) => {
  const commands = [
    ["sleep 1000", "", "timeout"],
    ["while :; do :; done", "", "timeout"],
    ["awk 'BEGIN { while (1) x++ }'", "", "timeout"],
    ["yes xxxxxxxxxxxxxxxxxxxx | cat; while :; do yes; done", "", "timeout output"],
    ["while :; do yes; done", "stdout=subprocess.PIPE", "timeout memory error"],
    ["while :; do yes; done > big.txt; rm big.txt", "", "timeout ok"],
  ];
  for (const [command, options, statuses] of commands) {
    const code = `import subprocess; subprocess.run(${JSON.stringify(command)}, shell=True, ${options})`;
    const result = await session.exec(code, { timeoutMs: 1_000 });
    assert(
      statuses?.split(" ").includes(result.status),
      `${command}: ${JSON.stringify(result).slice(0, 500)}`,
    );
    assert(result.stdout.length <= profile.limits.outputBytes, command);
    await session.reset({ mode: "rewind" });
  }
});

containmentTest("forged requests about commands over the bridge", async (session) => {
  const code = String.raw`
import os, struct, subprocess, threading
def send(data):
    try: os.write(3, data)
    except OSError: pass
def take():
    size = struct.unpack("<I", os.read(3, 4))[0]
    return os.read(3, size) if size else b""
for letter in b"?XKRNEY":
    for size in (0, 1, 3, 4, 8, 9, 15, 16, 17, 4096, 1 << 20):
        for fill in (0, 1, 127, 255):
            send(bytes([letter]) + bytes([fill]) * size)
            if letter in b"NE": take()
for count in (0, 1, 2, 3, 2**31, 2**32 - 1):
    for text in (b"", b"ls", b"ls\0/", b"ls\0/\0", b"ls\0/nowhere\0__proto__=x\0=\0constructor", b"[" * 10**5, b"(" * 10**6 + b"\0/", b"\xff\0" * 10**5):
        for size in (0, len(text), 2**32 - 1): send(b"X" + struct.pack("<III", 1000 + count % 7, count, size) + text)
for number in range(100):
    text = b"while :; do python3 -c 1; done\0/"
    send(b"X" + struct.pack("<III", number, 0, len(text)) + text)
child = subprocess.Popen("while :; do python3 -c 1; done", shell=True)
for program in range(50):
    for number in range(50): send(b"R" + struct.pack("<IIiI", number, program, 0, 2**32 - 1) + b"x")
try: child.wait(0.5)
except subprocess.TimeoutExpired: pass
for fd in (1 << 30 | 1 << 28, 1 << 30 | 1 << 28 | 5, 1 << 30 | 7 << 26): 
    for call in (os.fsync, os.fdatasync):
        try: call(fd)
        except OSError: pass
`;
  const result = await session.exec(code, { timeoutMs: 10_000 });
  assert(["ok", "error", "timeout"].includes(result.status), JSON.stringify(result));
  await session.reset({ mode: "rewind" });
});

containmentTest("a string that doubles without end", async (session) => {
  const result = await session.shell("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", { timeoutMs: 5_000 });
  assert(result.status !== "ok");
  assert(result.stateKept);
});

containmentTest("huge brace expansions, arrays and globs", async (session) => {
  for (
    const command of [
      "echo {1..100000000} | wc -c",
      "a=({1..9999}{1..9999}); echo ${#a[@]}",
      "echo /*/*/*/*/*/*/*/* | wc -c",
    ]
  ) {
    const result = await session.shell(command, { timeoutMs: 5_000 });
    assert(result.stdout.length < 1_000, command);
  }
});

containmentTest("a million files", async (session) => {
  const result = await session.shell(
    "for ((i = 0; i < 1000000; i++)); do : > f$i || break; done 2> /dev/null; echo over",
    {
      timeoutMs: 20_000,
    },
  );
  assert(["ok", "timeout"].includes(result.status), result.status);
  const full = await session.shell('python -c \'for i in range(10**6): open(f"g{i}", "w")\'', {
    timeoutMs: 20_000,
  });
  assert(full.status !== "ok");
  assertEquals((await session.shell("rm -f f* g*")).stateKept, true);
});

containmentTest("a full disk", async (session) => {
  const result = await session.shell(
    "head -c 1000000 /dev/zero > a; echo $?; while cat a a > b; do mv b a; done; echo full",
    {
      timeoutMs: 20_000,
    },
  );
  assert(["ok", "exited", "timeout"].includes(result.status), result.status);
  const { stdout } = await session.shell("wc -c < a");
  assert(Number(stdout) <= profile.limits.fileBytes);
});

containmentTest("the removal of all files", async (session) => {
  await session.shell(
    "echo mine > f; rm -rf / /* ~ /dev/null /usr/bin /lib; mv /dev/null x; chmod -R 000 /dev /usr; ln -sf /etc /dev/null",
  );
  assertEquals((await session.shell("echo a | tr a b; ls /dev/null")).stdout, "b\n/dev/null\n");
  await session.reset({ mode: "rewind" });
  assertEquals((await session.shell("pwd; ls -a")).stdout, "/home/pyodide\n.\n..\n");
});

containmentTest("links and paths to files of the host", async (session) => {
  const host = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(host, "of the host");
    const up = "../".repeat(40);
    const result = await session.shell(
      `cat ${host} ${up}${host}; ln -s / root; cat root${host} root/proc/self/environ /proc/1/cmdline; ` +
        `ln -s ${host} l; echo x > l; cat /etc/passwd; cd ${up}; ls etc root; source ${host}; bash ${host}`,
    );
    assertEquals(result.stdout, "");
    assertEquals(await Deno.readTextFile(host), "of the host");
  } finally {
    await Deno.remove(host);
  }
});

containmentTest("links to themselves", async (session) => {
  const result = await session.shell(
    "ln -s a b; ln -s b a; cat a; cd a; ls -R .; mkdir d; ln -s .. d/up; find -L d; cp -r d d/x",
  );
  assert(result.stateKept, result.status);
});

containmentTest("commands that access the network or the host", async (session) => {
  for (
    const command of [
      "curl http://127.0.0.1:1",
      "wget x",
      "sudo ls",
      "node -e 1",
      "js-exec 'Deno'",
      "kill -9 2",
      "exec 3<>/dev/tcp/127.0.0.1/80; cat <&3",
    ]
  ) {
    const result = await session.shell(command, { timeoutMs: 5_000 });
    assert(result.stdout === "" && result.stderr !== "", `${command}: ${JSON.stringify(result)}`);
  }
});

Deno.test("Session.shell() kills a program that ignores interrupts and sets 'restarted' on the next result", async () => {
  await withSession(async (session) => {
    const program =
      "print(1, flush=True)\nwhile True:\n try:\n  while True: pass\n except BaseException: pass";
    const { result: killed } = await stoppedAfterOutput((timeoutMs) =>
      session.shell(`python -c '${program}'`, { timeoutMs })
    );
    assertEquals([killed.status, killed.stateKept], ["timeout", false]);
    assertEquals((await session.shell("true")).restarted, true);
  }, { profile });
});
