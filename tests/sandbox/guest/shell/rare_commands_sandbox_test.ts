import { assertEquals } from "@std/assert";
import { withSession } from "../../shared_session.ts";
import { limited } from "../../started.ts";
import { differingCommands } from "./compare_recorded.ts";
import bashRows from "./bash_forms.json" with { type: "json" };
import awkRows from "./awk.json" with { type: "json" };
import rows from "./rare_commands.json" with { type: "json" };
import ripgrepRows from "./ripgrep.json" with { type: "json" };

const profile = await limited("workspace", { graceMs: 10_000 });

Deno.test("commands that the shell loads when they are first run print what those of Linux print", async () => {
  await withSession(async (session) => {
    assertEquals(await differingCommands(session, [...rows, ...ripgrepRows, ...awkRows]), []);
  }, { profile });
});

Deno.test("arrays, arithmetic, traces and builtins print what those of bash print", async () => {
  await withSession(async (session) => {
    assertEquals(await differingCommands(session, bashRows), []);
  }, { profile });
});

Deno.test("ps, pgrep, pkill, top and df describe the shell, its jobs and its files", async () => {
  await withSession(async (session) => {
    for (
      const [line, stdout, code = 0] of [
        ["sleep 60 & ps -o comm=; pgrep -f 'sleep 60' | wc -l; kill $!", "bash\nsleep\nps\n1\n"],
        ["sleep 60 & pkill -f 'sleep 60'; echo $?; wait $!; echo $?; pgrep sleep", "0\n143\n", 1],
        [
          "ps -p $$ -o args=; ps aux | awk 'NR == 1 {print $1, $NF}'; ps -ef | wc -l",
          "bash\nUSER COMMAND\n3\n",
        ],
        ["ps -p 999999 -o pid=", "", 1],
        ["pgrep; pkill", "", 2],
        ["top -bn1 | sed -n '1s/ - .*//p; 2s/,.*//p; 3p' | cut -c1-40", TOP],
        ["df -h . | head -1; df --output=target /tmp; which df", DF],
        [
          "python3 -c 'import shutil; print(shutil.disk_usage(\"/\").total)'; df -B1 --output=size / | tail -1",
          SIZE,
        ],
      ] as const
    ) {
      const result = await session.shell(line);
      assertEquals([line, result.stdout, "exitCode" in result && result.exitCode], [line, stdout, code]);
    }
  }, { profile });
});

const TOP = "top\nTasks:   2 total\n%Cpu(s):  0.0 us,  0.0 sy,  0.0 ni,100.0\n";
const DF = "Filesystem      Size  Used Avail Use% Mounted on\nMounted on\n/\n/usr/bin/df\n";
const SIZE = "4096000000\n4096000000\n";

Deno.test("commands that the shell loads later refuse by name what they cannot do", async () => {
  await withSession(async (session) => {
    await session.shell("echo a > f");
    for (
      const [line, stderr, code] of [
        ["top -b", "top: an endless output is not available in the sandbox: use -n\n", 1],
        ["ps --forest", "ps: the option '--forest' is not available in the sandbox\n", 1],
        [
          "awk -n 1",
          "awk: option '-n' is not available in the sandbox: strtonum() reads numbers of other bases\n",
          2,
        ],
        [
          "awk -l time 1",
          "awk: option '-l' is not available in the sandbox: extensions are libraries of the machine\n",
          2,
        ],
        ["diff --line-format=%q f /dev/null", "diff: the format '%q' is not available in the sandbox\n", 2],
        ["od -S 3 f", "od: the options -S and --traditional are not available in the sandbox\n", 1],
        ["od -t f4 f", "od: the type string 'f4' is not available in the sandbox\n", 1],
        ["hexdump -f e f", "hexdump: formats of -f are not available in the sandbox\n", 1],
        ["hexdump -C -e '1/1 \"%d\"' f", "hexdump: -e with -C is not available in the sandbox\n", 1],
        ["xxd -e f", "xxd: the option -e is not available in the sandbox\n", 1],
        ["iconv -t ascii//TRANSLIT f", "iconv: //TRANSLIT is not available in the sandbox\n", 1],
        ["numfmt --format %f 1", "numfmt: the option --format is not available in the sandbox\n", 1],
        ["fmt -c f", "fmt: the option -c is not available in the sandbox\n", 1],
        ["shuf -r f", "shuf: an endless output is not available in the sandbox: use -n\n", 1],
        ["rg --stats a", "the option --stats is not available in the sandbox\n", 2],
        ["rg '(?x)a' f", "the group '(?x)a' is not available in the sandbox\n", 2],
        ["truncate -o -s 1 f", "truncate: the option -o is not available in the sandbox\n", 1],
      ] as const
    ) {
      const result = await session.shell(line);
      assertEquals([line, result.stdout, result.stderr], [line, "", stderr]);
      assertEquals("exitCode" in result && result.exitCode, code, line);
    }
  }, { profile });
});
