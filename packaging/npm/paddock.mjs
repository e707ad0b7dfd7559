#!/usr/bin/env node
/**
 * The command `paddock` of the npm package. Deno runs no TypeScript below `node_modules`, so that the first start
 * copies the sources to the user's cache and downloads what they import. Every start then runs Deno on that copy.
 */
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { constants, homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Returns the path of the Deno binary that npm installed. */
function findDeno() {
  const require = createRequire(import.meta.url);
  try {
    const folder = dirname(require.resolve("deno/package.json"));
    const binary = ["deno", "deno.exe"].map((name) => join(folder, name)).find(existsSync);
    return binary ?? require(join(folder, "install_api.cjs")).runInstall();
  } catch (cause) {
    throw new Error(`Cannot find Deno, which npm installs with Paddock on this platform: ${cause.message}`, {
      cause,
    });
  }
}

/** Returns the environment of Deno: npm's registry, and paths that are relative to the current directory. */
function denoEnvironment() {
  const { INIT_CWD: _, npm_config_registry: registry, ...env } = process.env;
  return { DENO_NO_UPDATE_CHECK: "1", ...(registry && { NPM_CONFIG_REGISTRY: registry }), ...env };
}

/** Returns the folder with the sources. The first call for a version copies them and downloads their imports. */
function prepare(deno) {
  const { version, sources } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const cache = join(homedir(), ".cache", "paddock", "sources");
  const target = join(cache, `${version}-${sources.slice(0, 16)}`);
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const copy = mkdtempSync(join(cache, "preparing-"));
  try {
    process.stderr.write(`Preparing Paddock ${version} (once): downloading the packages that it imports …\n`);
    cpSync(join(root, "sources"), copy, { recursive: true });
    const { status, signal, stderr } = spawnSync(deno, [
      "install",
      "--quiet",
      "--frozen",
      "--config",
      "src/deno.json",
      "--entrypoint",
      "src/cli/commands.ts",
    ], {
      cwd: copy,
      env: denoEnvironment(),
      stdio: ["ignore", "ignore", "pipe"],
      encoding: "utf8",
    });
    if (signal) process.exit(128 + constants.signals[signal]);
    if (status !== 0) throw new Error(`Cannot download the packages that Paddock imports:\n${stderr}`);
    renameSync(copy, target);
  } catch (error) {
    if (!existsSync(target)) throw error; // otherwise another process has prepared it
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  return target;
}

/** Runs Paddock. The exit code is that of its process, or 128 and the signal that ended it. */
function start(deno, folder) {
  const args = [
    "run",
    "-A",
    "--quiet",
    "--frozen",
    "--config",
    join(folder, "src/deno.json"),
    join(folder, "src/cli/main.ts"),
  ];
  const child = spawn(deno, [...args, ...process.argv.slice(2)], {
    stdio: "inherit",
    env: denoEnvironment(),
  });
  process.on("SIGINT", () => {}); // a terminal also sends it to the child
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(new Error(`Cannot start Deno at '${deno}': ${error.message}`)));
  child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
}

function fail(error) {
  process.stderr.write(`error: ${error.message}\n`);
  process.exit(1);
}

/** Oldest version of Node that the package supports. */
const OLDEST_NODE = 22;

try {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) < OLDEST_NODE) {
    throw new Error(`Cannot run Paddock as it needs Node ${OLDEST_NODE} or later: this is Node ${node}`);
  }
  const deno = findDeno();
  start(deno, prepare(deno));
} catch (error) {
  fail(error);
}
