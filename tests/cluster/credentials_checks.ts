import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Serving } from "../../bench/serving.ts";
import { TempFolder } from "../temp_folder.ts";
import { options } from "./cluster.ts";
import { NatsServer } from "./nats_server.ts";

const CLI = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));
const decoder = new TextDecoder();
/** Packages of NATS that make keys and credentials. As no literals, they are not in `deno.lock`. */
const PACKAGES: Readonly<Record<"jwt" | "nkeys", string>> = {
  jwt: "npm:@nats-io/jwt@0.0.11",
  nkeys: "npm:@nats-io/nkeys@2.0.3",
};
const { encodeAccount, encodeOperator, encodeUser, fmtCreds } = await import(PACKAGES.jwt);
const { createAccount, createOperator, createUser } = await import(PACKAGES.nkeys);

/** A pair of keys of NATS. */
interface KeyPair {
  getPublicKey(): string;
  getSeed(): Uint8Array;
}

/** A way to prove an identity to NATS. */
interface Credentials {
  readonly config: string;
  /** URL of the server, by its port. */
  readonly url: (port: number) => string;
  readonly right: readonly string[];
  readonly wrong: readonly string[];
}

async function run(program: string, args: readonly string[]): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    env: { NO_COLOR: "1" },
  }).output();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

async function openssl(...args: string[]): Promise<void> {
  const { code, text } = await run("openssl", args);
  assertEquals(code, 0, text);
}

/** Makes an authority, and certificates for 127.0.0.1 and for a client. */
async function makeCertificates(folder: string, name: string): Promise<(file: string) => string> {
  const path = (file: string) => join(folder, `${name}-${file}`);
  const newKey = ["-newkey", "rsa:2048", "-nodes"];
  await openssl(
    ...["req", "-x509", ...newKey, "-days", "2", "-subj", `/CN=${name}`, "-keyout", path("ca.key")],
    ...["-out", path("ca.pem")],
  );
  await Deno.writeTextFile(path("ext"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
  for (const one of ["server", "client"]) {
    const request = path(`${one}.csr`);
    await openssl(
      ...["req", ...newKey, "-subj", `/CN=${one}`, "-keyout", path(`${one}.key`), "-out", request],
    );
    await openssl(
      ...["x509", "-req", "-in", request, "-CA", path("ca.pem"), "-CAkey", path("ca.key"), "-CAcreateserial"],
      ...["-days", "2", "-extfile", path("ext"), "-out", path(`${one}.pem`)],
    );
  }
  return path;
}

/** Makes an operator, an account with JetStream, and a user of it. */
async function makeJwt(): Promise<{ config: string; creds: Uint8Array }> {
  const [operator, system, account, user] = [
    createOperator(),
    createAccount(),
    createAccount(),
    createUser(),
  ];
  const operatorJwt = await encodeOperator("operator", operator, { system_account: system.getPublicKey() });
  const systemJwt = await encodeAccount("system", system, {}, { signer: operator });
  const any = {
    subs: -1,
    conn: -1,
    leaf: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
  };
  const limits = { ...any, mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const accountJwt = await encodeAccount("paddock", account, { limits }, { signer: operator });
  const creds = fmtCreds(await encodeUser("node", user, account, {}), user);
  const config = `operator: ${operatorJwt}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: { ${system.getPublicKey()}: ${systemJwt}, ${account.getPublicKey()}: ${accountJwt} }
`;
  return { config, creds };
}

async function makeCases(folder: string): Promise<Record<string, Credentials>> {
  const write = async (name: string, contents: string | Uint8Array) => {
    const path = join(folder, name);
    await Deno.writeFile(path, typeof contents === "string" ? new TextEncoder().encode(contents) : contents);
    return path;
  };
  const plain = (port: number) => `nats://127.0.0.1:${port}`;
  const secure = (port: number) => `tls://127.0.0.1:${port}`;
  const [user, stranger] = [createUser(), createUser()];
  const [jwt, otherJwt] = [await makeJwt(), await makeJwt()];
  const [own, foreign] = [await makeCertificates(folder, "own"), await makeCertificates(folder, "foreign")];
  const tls = `cert_file: "${own("server.pem")}", key_file: "${own("server.key")}", ca_file: "${
    own("ca.pem")
  }"`;
  const client = ["--nats-cert", own("client.pem"), "--nats-key", own("client.key")];
  const nkeyOf = async (
    name: string,
    pair: KeyPair,
  ) => ["--nats-nkey", await write(name, `${decoder.decode(pair.getSeed())}\n`)];
  return {
    "a token": {
      config: `authorization { token: "secret-token" }`,
      url: plain,
      right: ["--nats-token-file", await write("token", "secret-token\n")],
      wrong: ["--nats-token-file", await write("wrong-token", "other-token\n")],
    },
    "an NKey": {
      config: `authorization { users: [ { nkey: ${user.getPublicKey()} } ] }`,
      url: plain,
      right: await nkeyOf("seed", user),
      wrong: await nkeyOf("wrong-seed", stranger),
    },
    "a credentials file with a JWT": {
      config: jwt.config,
      url: plain,
      right: ["--nats-creds", await write("creds", jwt.creds)],
      wrong: ["--nats-creds", await write("wrong-creds", otherJwt.creds)],
    },
    "TLS with an own authority": {
      config: `tls { ${tls} }`,
      url: secure,
      right: ["--nats-ca", own("ca.pem")],
      wrong: ["--nats-ca", foreign("ca.pem")],
    },
    "TLS with a certificate of the client": {
      config: `tls { ${tls}, verify: true }`,
      url: secure,
      right: ["--nats-ca", own("ca.pem"), ...client],
      wrong: ["--nats-ca", own("ca.pem")],
    },
  };
}

Deno.test(
  "nodes, gateways and `paddock cluster` use NATS' own credentials, and are refused without",
  options,
  async (t) => {
    await using folder = await TempFolder.of();
    for (const [title, { config, url, right, wrong }] of Object.entries(await makeCases(folder.path))) {
      await t.step(title, async () => {
        await using nats = await NatsServer.start({ config });
        const address = url(nats.port);
        await using _node = await Serving.start("--nats", address, "--max-sessions", "1", ...right);
        await using gateway = await Serving.start("--cluster", address, ...right);
        const result = await gateway.ask("/v1/exec", { code: "6 * 7" }) as { valueJson?: unknown };
        assertEquals(result.valueJson, 42);
        const show = (args: readonly string[]) =>
          run(Deno.execPath(), ["run", "-A", "--quiet", CLI, "cluster", "--nats", address, ...args]);
        assertStringIncludes((await show(right)).text, "1 node, 1 slots");
        for (const args of [wrong, []]) {
          const { code, text } = await show(args);
          assertEquals(code, 125, text);
          assertStringIncludes(text, `NATS must accept a connection at ${address}`);
          assertEquals(text.includes("secret-token") || text.includes("other-token"), false);
        }
      });
    }
  },
);
