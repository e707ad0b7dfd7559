#!/usr/bin/env bash
# harbor 0.26.0 (PyPI): harbor/cli/template-adapter/task-template/tests/test.sh. Needs bash, and may write to /logs/verifier.
#
# Guess: a task that is made from the adapter's template pays nothing, or fails, until its author fills in the tests.
# Seen: the script writes the reward 1. It reads `$?` of the line before, an `echo`, so that any agent, also an agent that
# does nothing, solves each task whose tests are not filled in. A benchmark that is converted with gaps shows no error.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" download --quiet --no-deps --ignore-requires-python --dest "$folder" harbor==0.26.0
python3 -m zipfile -e "$folder"/harbor-0.26.0-*.whl "$folder/harbor"
script="$folder/harbor/harbor/cli/template-adapter/task-template/tests/test.sh"
sed "s#/logs/verifier#$folder/verifier#g" "$script" > "$folder/test.sh"
mkdir "$folder/verifier"
bash "$folder/test.sh"
echo "reward: $(cat "$folder/verifier/reward.txt")"
test "$(cat "$folder/verifier/reward.txt")" = 1
