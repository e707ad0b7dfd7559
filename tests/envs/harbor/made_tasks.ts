import { TempFolder } from "../../temp_folder.ts";

/** A task that is written for tests. */
export interface MadeTask {
  readonly id: string;
  /** Files of the folder by path. */
  readonly files: Readonly<Record<string, string>>;
  /** True if the task installs Python packages, which a package index has. */
  readonly needsPackages: boolean;
}

interface TaskParts {
  readonly instruction: string;
  readonly dockerfile: string;
  /** Files beside the Dockerfile. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly solve: string;
  /** Files of `tests/`, with a `test.sh`. */
  readonly tests: Readonly<Record<string, string>>;
  /** Lines of `task.toml`. */
  readonly settings?: string;
  readonly needsPackages?: boolean;
}

/** Makes the task of a family. Tasks of a family differ in the number. */
type Family = (number: number) => TaskParts;

const BASES = ["python:3.14-slim", "ubuntu:24.04", "debian:bookworm-slim", "python:3.12"];

function from(number: number, ...lines: readonly string[]): string {
  return [`FROM ${BASES[number % BASES.length]}`, ...lines, ""].join("\n");
}

/** Returns a `test.sh` that gives 1 if a command succeeds, and 0 otherwise. */
function rewardIf(command: string): string {
  return `#!/bin/bash\nif ${command}; then\n  echo 1 > /logs/verifier/reward.txt\nelse\n  echo 0 > /logs/verifier/reward.txt\nfi\n`;
}

/** `test.sh` of Harbor's template for a verifier in the agent's environment. */
const UVX_TEST = `#!/bin/bash
apt-get update
apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh
source "$HOME/.local/bin/env"
${
  rewardIf(
    "uvx \\\n  --with pytest==8.4.1 \\\n  --with pytest-json-ctrf==0.3.5 \\\n  pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA",
  ).replace("#!/bin/bash\n", "")
}`;

const numbers = (number: number) => Array.from({ length: 8 }, (_, at) => (at * 7 + number * 13) % 50);

const FAMILIES: Readonly<Record<string, Family>> = {
  column_sum: (number) => {
    const values = numbers(number);
    return {
      instruction: "Write the sum of the column `amount` of `/app/sales.csv` into `/app/total.txt`.",
      dockerfile: from(number, "WORKDIR /app", "COPY sales.csv /app/"),
      environment: { "sales.csv": `day,amount\n${values.map((value, at) => `${at},${value}\n`).join("")}` },
      solve: "awk -F, 'NR > 1 { sum += $2 } END { print sum }' /app/sales.csv > /app/total.txt",
      tests: {
        "expected.txt": `${values.reduce((sum, value) => sum + value)}\n`,
        "test.sh": rewardIf("diff -q /app/total.txt /tests/expected.txt"),
      },
    };
  },
  log_errors: (number) => ({
    instruction: "Write the lines of app.log with the level ERROR into errors.txt, in order.",
    dockerfile: from(number, "RUN apt-get update && apt-get install -y grep", "WORKDIR /app", "COPY . ."),
    environment: {
      "app.log": numbers(number).map((value) => `${value % 3 === 0 ? "ERROR" : "INFO"} step ${value}\n`).join(
        "",
      ),
    },
    solve: "cd /app && grep ^ERROR app.log > errors.txt || true",
    tests: {
      "expected.txt": numbers(number).filter((value) => value % 3 === 0).map((value) =>
        `ERROR step ${value}\n`
      ).join(""),
      "test.sh": rewardIf('[ -f errors.txt ] && [ "$(cat errors.txt)" = "$(cat /tests/expected.txt)" ]'),
    },
  }),
  json_report: (number) => ({
    instruction:
      "Read /app/items.json and write /app/report.json: an object with the keys `count` and `max`.",
    dockerfile: from(number, "WORKDIR /app", "COPY items.json items.json"),
    environment: { "items.json": JSON.stringify(numbers(number)) },
    solve: `python3 -c '
import json
items = json.load(open("/app/items.json"))
json.dump({"count": len(items), "max": max(items)}, open("/app/report.json", "w"))'`,
    tests: {
      "check.py": `import json
import re
items = json.load(open("/app/items.json"))
assert items == ${JSON.stringify(numbers(number))}
assert json.load(open("/app/report.json")) == {"count": len(items), "max": max(items)}
`,
      "test.sh": rewardIf("python3 /tests/check.py"),
    },
  }),
  fix_module: (number) => ({
    instruction: `The function add of /app/calc.py must return the sum of its arguments plus ${number}.`,
    dockerfile: from(number, "WORKDIR /app", "COPY calc.py /app/calc.py"),
    environment: { "calc.py": "def add(a, b):\n    return a - b\n" },
    solve: `sed -i 's/a - b/a + b + ${number}/' /app/calc.py`,
    tests: {
      "check.py": `import sys
sys.path.insert(0, "/app")
from calc import add
assert add(2, 3) == ${5 + number}
assert add(-1, 1) == ${number}
`,
      "test.sh": rewardIf("python3 /tests/check.py"),
    },
  }),
  unit_tests: (number) => ({
    instruction: `The function add of /app/calc.py must return the sum of its arguments times ${number + 2}.`,
    dockerfile: from(number, "ENV PYTHONPATH=/app", "WORKDIR /app", "COPY calc.py ./"),
    environment: { "calc.py": "def add(a, b):\n    return 0\n" },
    solve: `printf 'def add(a, b):\\n    return (a + b) * ${number + 2}\\n' > /app/calc.py`,
    tests: {
      "test_calc.py": `import unittest
from calc import add

class Add(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(add(1, 2), ${3 * (number + 2)})

if __name__ == "__main__":
    unittest.main()
`,
      "test.sh": rewardIf("python3 /tests/test_calc.py"),
    },
  }),
  rename_files: (number) => ({
    instruction: "Rename every file of /data/in from NAME.txt to NAME.md.",
    dockerfile: from(number, "COPY in /data/in", "WORKDIR /data"),
    environment: Object.fromEntries(numbers(number).map((value) => [`in/n${value}.txt`, `${value}\n`])),
    solve: 'for file in /data/in/*.txt; do mv "$file" "${file%.txt}.md"; done',
    tests: {
      "test.sh": `#!/bin/bash
reward=1
ls /data/in/*.txt > /dev/null 2>&1 && reward=0
for value in ${numbers(number).join(" ")}; do
  [ "$(cat /data/in/n$value.md 2> /dev/null)" = "$value" ] || reward=0
done
echo $reward > /logs/verifier/reward.txt
`,
    },
  }),
  program: (number) => ({
    instruction: `Write an executable /app/run.sh that prints its argument ${
      number + 2
    } times, one per line.`,
    dockerfile: from(number, "WORKDIR /app"),
    solve: `printf '#!/bin/bash\\nfor i in $(seq ${
      number + 2
    }); do echo "$1"; done\\n' > /app/run.sh; chmod +x /app/run.sh`,
    tests: {
      "test.sh": rewardIf(
        `[ "$(bash /app/run.sh tide)" = "${Array.from({ length: number + 2 }, () => "tide").join("\n")}" ]`,
      ),
    },
  }),
  database: (number) => ({
    instruction:
      "The table `ships` of /app/fleet.db has the columns name and length. Write the name of the longest ship into /app/answer.txt.",
    dockerfile: from(
      number,
      "WORKDIR /app",
      "COPY make.py /setup/make.py",
      "RUN python3 /setup/make.py && rm -r /setup",
    ),
    environment: {
      "make.py": `import sqlite3
base = sqlite3.connect("/app/fleet.db")
base.execute("create table ships (name text, length integer)")
base.executemany("insert into ships values (?, ?)", [(f"ship{n}", n) for n in ${
        JSON.stringify(numbers(number))
      }])
base.commit()
`,
    },
    solve: `python3 -c '
import sqlite3
row = sqlite3.connect("/app/fleet.db").execute("select name from ships order by length desc").fetchone()
open("/app/answer.txt", "w").write(row[0])'`,
    tests: {
      "expected.txt": `ship${Math.max(...numbers(number))}\n`,
      "test.sh": rewardIf('[ "$(cat /app/answer.txt)" = "$(cat /tests/expected.txt)" ]'),
    },
  }),
  repository: (number) => ({
    instruction: "Commit all changes of the repository /app/repo with the message 'tide table'.",
    dockerfile: from(
      number,
      "RUN apt-get update && apt-get install -y git && git config --global user.name A && git config --global user.email a@example.com",
      "WORKDIR /app/repo",
      `RUN git init -q . && echo one > a.txt && git add a.txt && git commit -qm start && echo ${number} >> a.txt`,
    ),
    solve: "cd /app/repo && git add -A && git commit -qm 'tide table'",
    tests: {
      "test.sh": rewardIf(
        `[ "$(git log --format=%s | head -1)" = 'tide table' ] && [ -z "$(git status --porcelain)" ] && ` +
          `[ "$(git show HEAD:a.txt | tail -1)" = ${number} ]`,
      ),
    },
  }),
  archive: (number) => ({
    instruction:
      "Pack the folder notes into /app/notes.tar.gz, so that the archive has the path notes/a.txt.",
    dockerfile: from(number, "ARG NAME=notes", "WORKDIR /app", "RUN mkdir -p $NAME", "COPY a.txt notes/"),
    environment: { "a.txt": `note ${number}\n` },
    solve: "cd /app && tar czf notes.tar.gz notes",
    tests: {
      "test.sh": rewardIf(
        `mkdir /tmp/out && tar xzf /app/notes.tar.gz -C /tmp/out && grep -qx 'note ${number}' /tmp/out/notes/a.txt`,
      ),
    },
  }),
  other_folder: (number) => ({
    instruction:
      "Write the capital letters of /srv/text.txt, without other characters, into the file /output/letters.txt.",
    dockerfile: from(number, "COPY text.txt /srv/text.txt"),
    environment: { "text.txt": `North Sea ${number}, Baltic Sea\n` },
    solve: "mkdir -p /output && tr -cd 'A-Z' < /srv/text.txt > /output/letters.txt",
    tests: { "test.sh": rewardIf('[ "$(cat /output/letters.txt)" = NSBS ]') },
  }),
  parts: (number) => ({
    instruction: "Create /app/a.txt with the text one, and /app/b.txt with the text two.",
    dockerfile: from(number, "WORKDIR /app"),
    solve: "echo one > /app/a.txt; echo two > /app/b.txt",
    tests: {
      "test.sh": `#!/bin/bash
a=0; b=0
[ "$(cat /app/a.txt)" = one ] && a=1
[ "$(cat /app/b.txt)" = two ] && b=1
echo "{\\"reward\\": $((a * b)), \\"a\\": $a, \\"b\\": $b}" > /logs/verifier/reward.json
`,
    },
  }),
  separate: (number) => ({
    instruction: `Write ${number} plus 4 into /app/answer.txt.`,
    dockerfile: from(number, "WORKDIR /app"),
    solve: `echo $((${number} + 4)) > /app/answer.txt`,
    settings: 'artifacts = ["/app/answer.txt"]\n[verifier]\nenvironment_mode = "separate"\n',
    tests: {
      "Dockerfile": from(number, "WORKDIR /app", "COPY . /tests/"),
      "expected.txt": `${number + 4}\n`,
      "test.sh": rewardIf('[ "$(cat answer.txt)" = "$(cat /tests/expected.txt)" ]'),
    },
  }),
  uvx_pytest: (number) => ({
    instruction: `The function add of /app/calc.py must return the sum of its arguments plus ${number}.`,
    dockerfile: from(number, "WORKDIR /app", "COPY calc.py ."),
    environment: { "calc.py": "def add(a, b):\n    return a - b\n" },
    solve: `sed -i 's/a - b/a + b + ${number}/' /app/calc.py`,
    tests: {
      "test_outputs.py": `import json
import sys
sys.path.insert(0, "/app")

def test_add():
    from calc import add
    assert add(2, 3) == ${5 + number}
`,
      "test.sh": UVX_TEST,
    },
    needsPackages: true,
  }),
  separate_pytest: (number) => ({
    instruction: `Write the square of ${number} into /app/answer.txt.`,
    dockerfile: from(number, "WORKDIR /app"),
    solve: `echo $((${number} * ${number})) > /app/answer.txt`,
    settings: 'artifacts = ["/app/answer.txt"]\n[verifier]\nenvironment_mode = "separate"\n',
    tests: {
      "Dockerfile": [
        "FROM python:3.12-slim",
        "COPY --from=ghcr.io/astral-sh/uv:0.9.7 /uv /usr/local/bin/uv",
        "RUN uv pip install --system pytest==8.4.1 pytest-json-ctrf==0.3.5",
        "WORKDIR /app",
        "COPY . /tests/",
        "",
      ].join("\n"),
      "test_outputs.py":
        `from pathlib import Path\n\ndef test_answer():\n    assert Path("/app/answer.txt").read_text().strip() == "${
          number * number
        }"\n`,
      "test.sh": rewardIf("pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA"),
    },
    needsPackages: true,
  }),
};

/** Number of tasks of a family. */
const VARIANTS = 4;

/** Makes sixty tasks: four of each family. */
export function makeTasks(): MadeTask[] {
  return Object.entries(FAMILIES).flatMap(([name, family]) =>
    Array.from({ length: VARIANTS }, (_, number) => toTask(`${name}_${number}`, family(number)))
  );
}

function toTask(id: string, parts: TaskParts): MadeTask {
  const { instruction, dockerfile, environment = {}, solve, tests, settings = "", needsPackages = false } =
    parts;
  const toml = `schema_version = "1.4"\n${settings}${settings.includes("[verifier]") ? "" : "[verifier]\n"}` +
    "timeout_sec = 60.0\n[agent]\ntimeout_sec = 120.0\n[environment]\nbuild_timeout_sec = 600.0\n";
  const inFolder = (folder: string, files: Readonly<Record<string, string>>) =>
    Object.entries(files).map(([path, text]) => [`${id}/${folder}/${path}`, text]);
  const files = Object.fromEntries([
    [`${id}/task.toml`, toml],
    [`${id}/instruction.md`, `${instruction}\n`],
    [`${id}/environment/Dockerfile`, dockerfile],
    ...inFolder("environment", environment),
    [`${id}/solution/solve.sh`, `#!/bin/bash\nset -e\n${solve}\n`],
    ...inFolder("tests", tests),
  ]);
  return { id, files, needsPackages };
}

/** Writes tasks into a temporary folder, each in a folder of the task's id. */
export async function writeTasks(tasks: readonly MadeTask[]): Promise<TempFolder> {
  return await TempFolder.of(Object.assign({}, ...tasks.map(({ files }) => files)));
}
