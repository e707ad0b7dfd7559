#!/usr/bin/env bash
# deno 2.9.6 (npm), Linux.
#
# Guess: a program that was started with SIGHUP ignored, as `nohup` starts programs, keeps SIGHUP ignored unless the program
# adds a listener for signals.
# Seen: some 500 ms after the start Deno installs a handler of its own for SIGHUP, without any listener of the program. Then
# /proc/self/status no longer lists SIGHUP as ignored, and SIGHUP ends the process in spite of `nohup`. A program that reads
# the file to learn whether it must survive SIGHUP gets the right answer in the first half second only.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . deno@2.9.6 >/dev/null
cat > main.ts <<'TYPESCRIPT'
const ignoresHangup = () => {
  const [, digits = "0"] = /^SigIgn:\s*(\w+)$/m.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
  return (parseInt(digits.slice(-1), 16) & 1) === 1;
};
const atStart = ignoresHangup();
await new Promise((resolve) => setTimeout(resolve, 2_000));
console.log({ atStart, later: ignoresHangup() });
Deno.exit(atStart && !ignoresHangup() ? 0 : 1);
TYPESCRIPT
node_modules/.bin/deno --version | head -1
(
  trap '' HUP # as nohup does
  exec node_modules/deno/deno run --quiet --allow-all main.ts
)
