import { assertEquals } from "@std/assert";

const directory = new URL("../examples/", import.meta.url);

for (const { name } of Deno.readDirSync(directory)) {
  if (!name.endsWith(".ts")) continue;
  Deno.test(`examples/${name} runs and does what it says`, async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      stdin: "null",
      args: ["run", "-A", "--quiet", new URL(name, directory).pathname],
    }).output();
    assertEquals({ code, stderr: new TextDecoder().decode(stderr) }, { code: 0, stderr: "" });
    const isServer = name === "shop_server.ts"; // it answers those who ask
    assertEquals(stdout.length > 0, !isServer, "it shows what it does");
  });
}
