#!/usr/bin/env bash
# commander 15.1.0 (npm), Node 20 or newer.
#
# Guess: enablePositionalOptions() on a command lets its subcommands have options of the same name as its own, as the
# documentation says of the option.
# Seen: that holds for a program with one level of subcommands. Where the command is itself a subcommand, the setting has no
# effect, without a message: `root mid sub --token x` gives the value to `mid`, and `sub` runs without its option. The root
# separates options from operands before `mid` looks at its own operands. The setting works only if every command above has
# the setting, too.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . commander@15.1.0 >/dev/null
cat > main.mjs <<'JAVASCRIPT'
import { Command } from "commander";

async function whoReads(settings) {
  let reader = "nobody";
  const sub = new Command("sub").option("--token <text>").action((options) => reader = options.token ? "sub" : reader);
  const mid = new Command("mid").option("--token <text>").addCommand(sub);
  mid.hook("preAction", () => reader = mid.opts().token ? "mid" : reader);
  const root = new Command("root").addCommand(mid);
  const commands = { root, mid };
  for (const name of settings) commands[name].enablePositionalOptions();
  await root.parseAsync(["mid", "sub", "--token", "x"], { from: "user" });
  return reader;
}

const seen = { none: await whoReads([]), mid: await whoReads(["mid"]), both: await whoReads(["root", "mid"]) };
console.log(seen);
process.exit(seen.none === "mid" && seen.mid === "mid" && seen.both === "sub" ? 0 : 1);
JAVASCRIPT
node main.mjs
