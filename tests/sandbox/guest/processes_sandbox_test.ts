import { assertEquals, assertStringIncludes } from "@std/assert";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

const TIMEOUT_MS = 120_000;

/** Programs, and what CPython 3.14 on Linux prints for each. */
const PROGRAMS: Record<string, [program: string, stdout: string]> = {
  "subprocess.run() runs Python programs": [
    String.raw`import os, subprocess, sys
py = sys.executable
def show(r): print(r.returncode, repr(r.stdout), repr(r.stderr))
show(subprocess.run([py, "-c", "import sys; print('hi'); print('err', file=sys.stderr); sys.exit(3)"], capture_output=True, text=True))
show(subprocess.run([py, "-"], input=b"import os; print(os.getcwd(), os.environ.get('X'))", capture_output=True, cwd="/tmp", env={"X": "1"}))
show(subprocess.run([py, "-m", "json.tool"], input='{"a": 1}', capture_output=True, text=True))
with open("prog.py", "w") as f: f.write("import sys\nprint(__name__, sys.argv)\nfor line in sys.stdin: print(line.strip()[::-1])\nsys.exit('end')\n")
show(subprocess.run([py, "prog.py", "x"], input="ab\ncd\n", capture_output=True, text=True))
print(subprocess.check_output([py, "-c", "print(1)"]), subprocess.call([py, "-c", "import os; os._exit(9)"]))
try: subprocess.check_call([py, "-c", "raise SystemExit(4)"])
except subprocess.CalledProcessError as e: print(e.returncode)
try: subprocess.run([py, "-c", "print('a', flush=True)\nwhile True: pass"], capture_output=True, timeout=1)
except subprocess.TimeoutExpired as e: print(e.timeout, e.stdout)
for args, cwd in ((["ls_", "-l"], None), ([py, "-c", ""], "/nowhere")):
    try: subprocess.run(args, cwd=cwd)
    except FileNotFoundError as e: print(e.strerror, e.filename)
print(subprocess.getstatusoutput(f"{py} -c 'print(5)'"), os.system(f"{py} -c 'raise SystemExit(2)'"), os.popen(f"{py} -c 'print(8)'").read())
with open("out.txt", "w") as f: subprocess.run([py, "-c", "import os; print(1); os.write(1, b'2')"], stdout=f)
with open("out.txt") as f: print(subprocess.run([py, "-c", "print(input() + '!')"], stdin=f, stdout=subprocess.PIPE).stdout, subprocess.run([py, "-c", "print(1)"], stdout=subprocess.DEVNULL).returncode)
print(subprocess.run([py, "-c", "import sys; sys.stderr.write('e'); sys.stdout.write('o')"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout)
os.environ["Y"] = "2"
print(subprocess.run([py, "-c", "import os; print(os.environ['Y']); os.environ['Y'] = '3'; os.chdir('/'); os.unlink = None"], capture_output=True).stdout, os.environ["Y"], os.getcwd() != "/", os.unlink is None)
`,
    String.raw`3 'hi\n' 'err\n'
0 b'/tmp 1\n' b''
0 '{\n    "a": 1\n}\n' ''
1 "__main__ ['prog.py', 'x']\nba\ndc\n" 'end\n'
b'1\n' 9
4
1 b'a\n'
No such file or directory ls_
No such file or directory /nowhere
(0, '5') 512 8

b'21!\n' 0
b'oe'
b'2\n' 2 True False
`,
  ],
  "subprocess.Popen has pipes, signals and exit codes": [
    String.raw`import subprocess, sys, time
py = sys.executable
p = subprocess.Popen([py, "-c", "import sys\nfor line in sys.stdin: print(int(line) * 2, flush=True)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
for i in range(3):
    p.stdin.write(f"{i}\n"); p.stdin.flush(); print(p.stdout.readline().strip(), p.poll())
p.stdin.close(); print(p.wait(), repr(p.stdout.read()))
p = subprocess.Popen([py, "-c", "while True: pass"]); print(p.poll()); p.terminate(); print(p.wait())
p = subprocess.Popen([py, "-c", "while True:\n  try:\n    while True: pass\n  except BaseException: pass"]); time.sleep(0.1); p.kill(); print(p.wait())
p1 = subprocess.Popen([py, "-c", "print('a\\nb\\nc')"], stdout=subprocess.PIPE)
p2 = subprocess.Popen([py, "-c", "import sys; print(len(sys.stdin.readlines()))"], stdin=p1.stdout, stdout=subprocess.PIPE)
p1.stdout.close(); print(p2.communicate(), p1.wait())
print(subprocess.run([py, "-c", "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(7)'], capture_output=True).stdout)"], capture_output=True).stdout)
r = subprocess.run([py, "-c", "import sys; d = sys.stdin.read(); print(len(d)); print(d)"], input="x" * 200000, capture_output=True, text=True); print(len(r.stdout), r.stdout[:8])
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec(py, "-c", "import sys; print(sys.stdin.read())", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print(await p.communicate(b"abc"), p.returncode)
    p = await asyncio.create_subprocess_shell(f"{py} -c 'print(9)'", stdout=asyncio.subprocess.PIPE)
    print(await p.stdout.readline(), await p.wait())
    p = await asyncio.create_subprocess_exec(py, "-c", "import time; time.sleep(60)")
    try: await asyncio.wait_for(p.wait(), 0.1)
    except asyncio.TimeoutError: p.kill(); print(await p.wait())
asyncio.run(main())
`,
    String.raw`0 None
2 None
4 None
0 ''
None
-15
-9
(b'3\n', None) 0
b"b'7\\n'\n"
200008 200000
x
(b'abc\n', None) 0
b'9\n' 0
-9
`,
  ],
  "a program that subprocess starts reads TZ": [
    String.raw`import multiprocessing, os, subprocess, sys, time
show = "import os, time; print(os.environ.get('TZ'), time.localtime(0).tm_hour, time.tzname, time.strftime('%Z', time.localtime(0)))"
def run(zone):
    env = {**os.environ, "TZ": zone} if zone else {name: value for name, value in os.environ.items() if name != "TZ"}
    return subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, env=env).stdout.strip()
print(run("America/New_York"), "|", run(None), "|", run("EST5EDT"))
print(time.localtime(0).tm_hour, time.tzname)
os.environ["TZ"] = "Asia/Tokyo"
print(run("Asia/Tokyo"), time.localtime(0).tm_hour)
time.tzset()
print(run(None), "|", time.localtime(0).tm_hour, time.tzname, time.strftime("%Z"))
loop = "import time\nfor i in range(3): time.sleep(0.005); print(time.localtime(0).tm_hour, time.tzname[0])"
started = [subprocess.Popen([sys.executable, "-c", loop], env={**os.environ, "TZ": zone}, stdout=subprocess.PIPE, text=True) for zone in ("UTC", "America/New_York", "Asia/Kolkata")]
print([process.communicate()[0].split("\n")[:3] for process in started])
fork = multiprocessing.get_context("fork")
queue = fork.Queue()
def move():
    os.environ["TZ"] = "Europe/Paris"
    time.tzset()
    queue.put((time.localtime(0).tm_hour, time.tzname))
process = fork.Process(target=move); process.start(); print(queue.get()); process.join()
print(time.localtime(0).tm_hour, time.tzname, time.strftime("%Z"))
`,
    `America/New_York 19 ('EST', 'EDT') EST | None 0 ('UTC', 'UTC') UTC | EST5EDT 19 ('EST', 'EDT') EST
0 ('UTC', 'UTC')
Asia/Tokyo 9 ('JST', 'JST') JST 0
None 0 ('UTC', 'UTC') UTC | 9 ('JST', 'JST') JST
[['0 UTC', '0 UTC', '0 UTC'], ['19 EST', '19 EST', '19 EST'], ['5 IST', '5 IST', '5 IST']]
(1, ('CET', 'CEST'))
9 ('JST', 'JST') JST
`,
  ],
  "a program that subprocess starts reads the bytes of its stdin unchanged": [
    String.raw`import subprocess, sys
for code, data in (
    ("import sys; print(repr(sys.stdin.read()))", b"a\r\nb\r"),
    ("import sys; print(sys.stdin.buffer.read(), sys.stdin.newlines)", b"a\r\nb\xff"),
    ("import sys; print(list(sys.stdin))", b"a\r\nb\rc\n"),
    ("print([input(), input()])", b"a\r\nb\rc\n"),
): print(subprocess.run([sys.executable, "-c", code], input=data, capture_output=True).stdout.decode().strip())
print(subprocess.run([sys.executable, "-"], input=b"x = '''a\r\nb'''\r\nprint(repr(x))\r\n", capture_output=True).stdout)
`,
    String.raw`'a\r\nb\r'
b'a\r\nb\xff' None
['a\r\n', 'b\rc\n']
['a\r', 'b\rc']
b"'a\\nb'\n"
`,
  ],
};

for (const [name, [program, stdout]] of Object.entries(PROGRAMS)) {
  Deno.test(`${name}, as CPython does`, async () => {
    await withSession(async (session) => {
      const result = await session.exec(program, { argv: ["main.py"], timeoutMs: TIMEOUT_MS });
      assertEquals([result.status, result.stdout], ["ok", stdout], result.stderr);
    });
  });
}

Deno.test("subprocess.Popen() raises BlockingIOError beyond 128 processes", async () => {
  await withSession(async (session) => {
    const code = `
import subprocess, sys
children = []
try:
    while True: children.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]))
except BlockingIOError as error: text = error.strerror
for child in children: child.kill()
len(children), text, {child.wait() for child in children}, subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout`;
    const result = await session.exec(code, { timeoutMs: TIMEOUT_MS });
    assertEquals(value(result), "(128, 'Resource temporarily unavailable', {-9}, b'1\\n')");
  });
});

Deno.test("Session.reset() by 'rewind' ends processes and leaves nothing of them", async () => {
  await withSession(async (session) => {
    const start = `
import subprocess, sys, os
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
child.poll(), child.pid - os.getpid()`;
    for (let lease = 0; lease < 2; lease++) {
      assertEquals(value(await session.exec(start, { timeoutMs: TIMEOUT_MS })), "(None, 1)");
      await session.reset({ mode: "rewind" });
    }
    assertEquals(value(await session.exec("import threading; threading.active_count()")), "1");
  });
});

Deno.test("subprocess.run() reports commands that the sandbox does not have", async () => {
  await withSession(async (session) => {
    const code = `
import os, subprocess
print(os.system("nothing here"), subprocess.run("nothing | wc", shell=True, capture_output=True))
subprocess.run(["nothing"])`;
    const result = await session.exec(code, { timeoutMs: TIMEOUT_MS });
    const text = "/bin/sh: 1: nothing: not found\\n";
    assertEquals(
      result.stdout,
      `32512 CompletedProcess(args='nothing | wc', returncode=127, stdout=b'', stderr=b'${text}')\n`,
    );
    assertEquals(result.stderr, "/bin/sh: 1: nothing: not found\n");
    assertStringIncludes(
      "error" in result ? result.error.traceback : "",
      "No such file or directory: 'nothing'; this profile has no shell: use Python's own functions",
    );
  });
});
