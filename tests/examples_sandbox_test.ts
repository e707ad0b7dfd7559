import { assertEquals } from "@std/assert";

const directory = new URL("../examples/", import.meta.url);

for (const { name } of Deno.readDirSync(directory)) {
  if (!name.endsWith(".ts")) continue;
  Deno.test(`examples/${name} runs without an error`, async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      stdin: "null",
      args: ["run", "-A", "--quiet", new URL(name, directory).pathname],
    }).output();
    assertEquals({ code, stderr: new TextDecoder().decode(stderr) }, { code: 0, stderr: "" });
    const isServer = name === "shop_server.ts"; // It prints only responses to requests.
    assertEquals(stdout.length > 0, !isServer, "every other example must print something");
  });
}
