import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { downloadPackages, resolvePackages } from "../../../src/cli/packages/install.ts";
import { PipResolver } from "../../../src/cli/packages/pip.ts";
import script from "../../../src/cli/packages/pip_resolver.py" with { type: "text" };
import { TempFolder } from "../../temp_folder.ts";
import { PackageIndex, type ServedFile, type TestWheel } from "./package_index.ts";

const WHEELS: readonly TestWheel[] = [
  { name: "app", version: "1.0", requires: ["base"] },
  { name: "base", version: "1.0" },
];
const USER = "reader";
const PASSWORD = "long-password";
const AUTHORIZATION = `Basic ${btoa(`${USER}:${PASSWORD}`)}`;

/** The command as pip before 26 calls it, which prints the password, and as later ones do, which print JSON. */
const KEYRING = `#!/bin/sh
case "$1" in
  --mode=creds) printf '{"username": "${USER}", "password": "${PASSWORD}"}\\n' ;;
  *) printf '%s\\n' ${PASSWORD} ;;
esac
`;

const ignore = await PipResolver.find({}) === undefined;

/** Resolves and downloads `app` with pip, and returns the names of the files. */
async function addApp(folder: string, variables: Readonly<Record<string, string>>): Promise<string[]> {
  const { signal } = new AbortController();
  const installation = {
    cacheDir: join(folder, "cache"),
    signal,
    resolver: async () => {
      const pip = await PipResolver.find({ env: { PIP_RETRIES: "0", HOME: folder, ...variables } });
      assert(pip);
      return pip;
    },
  };
  const packages = await resolvePackages({ requirements: ["app"], pinned: [] }, installation);
  await downloadPackages(packages, installation);
  return packages.map(({ path }) => path);
}

const FILES = ["app-1.0-py3-none-any.whl", "base-1.0-py3-none-any.whl"];

Deno.test({ name: "pip's configuration is used", ignore }, async (t) => {
  await t.step("the index and a mirror of pip.conf", async () => {
    await using first = await PackageIndex.serve(WHEELS.slice(0, 1));
    await using second = await PackageIndex.serve(WHEELS.slice(1));
    await using folder = await TempFolder.of({
      "pip.conf": `[global]\nindex-url = ${first.url}\nextra-index-url = ${second.url}\n`,
    });
    const found = await addApp(folder.path, { PIP_CONFIG_FILE: join(folder.path, "pip.conf") });
    assertEquals(found, FILES);
  });

  await t.step("a user and a password in the address of the index", async () => {
    await using index = await PackageIndex.serve(WHEELS, { authorization: AUTHORIZATION });
    await using folder = await TempFolder.of({
      "pip.conf": `[global]\nindex-url = ${index.url.replace("://", `://${USER}:${PASSWORD}@`)}\n`,
    });
    const found = await addApp(folder.path, { PIP_CONFIG_FILE: join(folder.path, "pip.conf") });
    assertEquals(found, FILES);
  });

  await t.step("credentials of .netrc", async () => {
    await using index = await PackageIndex.serve(WHEELS, { authorization: AUTHORIZATION });
    await using folder = await TempFolder.of({
      ".netrc": `machine 127.0.0.1 login ${USER} password ${PASSWORD}\n`,
    });
    assertEquals(await addApp(folder.path, { PIP_INDEX_URL: index.url }), FILES);
  });

  await t.step("credentials of the command keyring", async () => {
    await using index = await PackageIndex.serve(WHEELS, { authorization: AUTHORIZATION });
    await using folder = await TempFolder.of({ "keyring": KEYRING });
    await Deno.chmod(join(folder.path, "keyring"), 0o700);
    const found = await addApp(folder.path, {
      PATH: `${folder.path}:${Deno.env.get("PATH")}`,
      PIP_INDEX_URL: index.url.replace("://", `://${USER}@`),
      PIP_KEYRING_PROVIDER: "subprocess",
    });
    assertEquals(found, FILES);
  });

  await t.step("a proxy", async () => {
    await using index = await PackageIndex.serve(WHEELS);
    let requests = 0;
    await using proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      requests++;
      return fetch(new URL(new URL(request.url).pathname, index.url));
    });
    await using folder = await TempFolder.of();
    const found = await addApp(folder.path, {
      PIP_INDEX_URL: "http://index.test/simple/",
      PIP_TRUSTED_HOST: "index.test",
      PIP_PROXY: `http://127.0.0.1:${proxy.addr.port}`,
      NO_PROXY: "",
      no_proxy: "",
    });
    assertEquals(found, FILES);
    assert(requests >= 4);
  });

  await t.step("a certificate", async () => {
    const read = (name: string) => Deno.readTextFile(new URL(`../../data/tls/${name}.pem`, import.meta.url));
    const tls = { cert: await read("certificate"), key: await read("key") };
    await using index = await PackageIndex.serve(WHEELS, { tls });
    await using folder = await TempFolder.of({ "ca.pem": tls.cert });
    const variables = { PIP_INDEX_URL: index.url, REQUESTS_CA_BUNDLE: "", CURL_CA_BUNDLE: "" };
    await assertRejects(() => addApp(folder.path, variables), Error, "Cannot reach the package index");
    assertEquals(await addApp(folder.path, { ...variables, PIP_CERT: join(folder.path, "ca.pem") }), FILES);
  });
});

/** Script of a build backend that leaves a file, if it ever runs. */
function backend(mark: string): string {
  return `import pathlib\npathlib.Path(${JSON.stringify(mark)}).write_text("ran")\n`;
}

Deno.test({ name: "nothing of a package runs on the host", ignore }, async (t) => {
  await using folder = await TempFolder.of({ "pkg/pyproject.toml": PYPROJECT });
  const mark = join(folder.path, "mark");
  await Deno.writeTextFile(join(folder.path, "pkg/backend.py"), backend(mark));
  await Deno.writeTextFile(join(folder.path, "pkg/setup.py"), backend(mark));
  const source = await archive(folder.path, "pkg");
  await using mirror = await PackageIndex.serve([], { mirrored: [source] });
  const address = `${mirror.mirrorUrl}${source.file}`;
  await using index = await PackageIndex.serve([
    { name: "app", version: "1.0", requires: [`pkg @ ${address}`] },
  ], { links: { pkg: `<a href="${address}#sha256=${source.sha256}">${source.file}</a>` } });

  await t.step("a source that a package needs by its address", async () => {
    const error = await assertRejects(() => addApp(folder.path, { PIP_INDEX_URL: index.url }));
    assertEquals(error instanceof Error && error.message.includes("names an address"), true);
  });

  /** Runs the script with one wall taken away, and returns its last line. */
  const runWithout = async (wall: string, requirement: string): Promise<string> => {
    assert(script.includes(wall), `the script has no line ${wall}`);
    const child = new Deno.Command("python3", {
      args: ["-c", script.replace(wall, "")],
      cwd: folder.path,
      env: { PIP_RETRIES: "0", PIP_INDEX_URL: index.url, PIP_NO_BUILD_ISOLATION: "0" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    const request = {
      command: "resolve",
      folder: folder.path,
      platform: "pyemscripten_2026_0_wasm32",
      python: "3.14",
      requirements: [requirement],
    };
    await writer.write(new TextEncoder().encode(JSON.stringify(request)));
    await writer.close();
    const { stdout } = await child.output();
    return new TextDecoder().decode(stdout).trim();
  };

  await t.step("the second wall: pip prepares no source", async () => {
    const line = await runWithout("refuse_addresses(importlib_metadata.Distribution)\n", "app");
    assertEquals(line.includes("is a source distribution"), true, line);
  });

  await t.step("the third wall: the resolver's process starts no program", async () => {
    const line = await runWithout(
      "SourceDistribution.prepare_distribution_metadata = refuse_build\n",
      `pkg @ ${address}`,
    );
    assertEquals(line.includes("nothing of a package runs on the host"), true, line);
  });

  await assertRejects(() => Deno.stat(mark), Deno.errors.NotFound);
});

const PYPROJECT = `[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "pkg"
version = "1.0"
`;

/** Packs a folder as a source distribution. */
async function archive(root: string, name: string): Promise<ServedFile> {
  const file = `${name}-1.0.tar.gz`;
  const packed =
    `import sys, tarfile\nwith tarfile.open(sys.argv[1], "w:gz") as f: f.add(sys.argv[2], "${name}-1.0")`;
  const { success } = await new Deno.Command("python3", {
    args: ["-c", packed, join(root, file), join(root, name)],
  }).output();
  assert(success);
  const bytes = await Deno.readFile(join(root, file));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return { file, bytes, sha256: new Uint8Array(digest).toHex() };
}
