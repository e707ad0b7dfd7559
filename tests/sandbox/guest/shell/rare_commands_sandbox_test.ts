import { assertEquals } from "@std/assert";
import { withSession } from "../../shared_session.ts";
import { limited } from "../../started.ts";
import { differingCommands } from "./compare_recorded.ts";
import awkRows from "./awk.json" with { type: "json" };
import rows from "./rare_commands.json" with { type: "json" };
import ripgrepRows from "./ripgrep.json" with { type: "json" };

const profile = await limited("workspace", { graceMs: 10_000 });

Deno.test("commands that the shell loads when they are first run print what those of Linux print", async () => {
  await withSession(async (session) => {
    assertEquals(await differingCommands(session, [...rows, ...ripgrepRows, ...awkRows]), []);
  }, { profile });
});

Deno.test("commands that the shell loads later refuse by name what they cannot do", async () => {
  await withSession(async (session) => {
    await session.shell("echo a > f");
    for (
      const [line, stderr, code] of [
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
