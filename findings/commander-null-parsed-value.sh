#!/usr/bin/env bash
# commander 15.1.0 (npm), Node 20 or newer.
#
# Guess: the value of an option is what its parser returns, as the documentation says of a custom processing function.
# Seen: a parser that returns null for a given value, such as `--reward none`, sets the option to the empty text: null means
# "no value was given" inside of commander. undefined is replaced in the same way. 0, false and NaN are kept. A program that
# maps a word to null sends "" on, which a check for null does not see.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . commander@15.1.0 >/dev/null
cat > main.mjs <<'JAVASCRIPT'
import { Command, Option } from "commander";

function valueOf(result) {
  const option = new Option("--reward <number>").argParser(() => result);
  return new Command().addOption(option).parse(["--reward", "none"], { from: "user" }).opts().reward;
}

const seen = { null: valueOf(null), undefined: valueOf(undefined), zero: valueOf(0), false: valueOf(false) };
console.log(seen);
process.exit(seen.null === "" && seen.undefined === "" && seen.zero === 0 && seen.false === false ? 0 : 1);
JAVASCRIPT
node main.mjs
