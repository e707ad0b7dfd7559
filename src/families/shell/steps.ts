import type { Draw } from "../draw.ts";

/** The contents of files by path. */
export type Files = ReadonlyMap<string, string>;

/** A piece of work on files. */
export interface Step {
  readonly text: string;
  /** A command of the shell that does the work. */
  readonly command: string;
  /** Does the work on the host. */
  apply(files: Files): Map<string, string>;
}

const FOLDERS = ["logs", "notes", "data", "src"];
const STEMS = [
  "alpha",
  "beta",
  "gamma",
  "delta",
  "omega",
  "sigma",
  "kappa",
  "theta",
  "iota",
  "zeta",
  "rho",
  "tau",
];
const ENDINGS = ["log", "txt", "csv", "cfg"];
const WORDS = ["error", "todo", "ready", "draft", "blue", "stone", "river", "paper", "cloud", "lamp"];

/** Returns a random tree of files. No two files have the same name. */
export function randomFiles(draw: Draw, count: number): Map<string, string> {
  const folders = draw.sample(FOLDERS, 3);
  const names = draw.sample(STEMS, count).map((stem) => `${stem}.${draw.pick(ENDINGS)}`);
  return new Map(
    names.map((name) => [
      `${draw.pick(folders)}/${name}`,
      Array.from({ length: draw.int(2, 6) }, () => `${draw.pick(WORDS)} ${draw.int(1, 40)}\n`).join(""),
    ]),
  );
}

/** Returns a random step that changes the files; undefined if the chosen step changes nothing. */
export function randomStep(draw: Draw, files: Files, number: number): Step | undefined {
  const step = draw.pick(STEPS)(draw, files, number);
  const changed = step.apply(files);
  return JSON.stringify([...changed].toSorted()) === JSON.stringify([...files].toSorted()) ? undefined : step;
}

type MakeStep = (draw: Draw, files: Files, number: number) => Step;

const STEPS: readonly MakeStep[] = [
  moveByEnding,
  deleteByWord,
  replaceWord,
  countLines,
  sortedLines,
  renameEnding,
  sums,
  heads,
];

function moveByEnding(draw: Draw, files: Files, number: number): Step {
  const ending = draw.pick(endingsOf(files));
  const target = `moved${number}`;
  return {
    text: `Move every file whose name ends in .${ending}, in any folder, into the new folder ${target}.`,
    command: `mkdir ${target} && find . -path ./${target} -prune -o -type f -name '*.${ending}' ` +
      `-exec mv {} ${target}/ \\;`,
    apply: (files) =>
      new Map(
        [...files].map(([path, text]) =>
          path.endsWith(`.${ending}`) ? [`${target}/${baseOf(path)}`, text] : [path, text]
        ),
      ),
  };
}

function deleteByWord(draw: Draw): Step {
  const word = draw.pick(WORDS);
  return {
    text: `Delete every file that has a line which begins with the word ${word}.`,
    command: `grep -rl '^${word} ' . | while read -r path; do rm "$path"; done`,
    apply: (files) =>
      new Map([...files].filter(([, text]) => !linesOf(text).some((line) => line.startsWith(`${word} `)))),
  };
}

function replaceWord(draw: Draw, files: Files): Step {
  const ending = draw.pick(endingsOf(files));
  const [word = "", other = ""] = draw.sample(WORDS, 2);
  return {
    text: `In every file whose name ends in .${ending}, replace each ${word} by ${other}.`,
    command: `find . -type f -name '*.${ending}' -exec sed -i 's/${word}/${other}/g' {} \\;`,
    apply: (files) =>
      new Map(
        [...files].map((
          [path, text],
        ) => [path, path.endsWith(`.${ending}`) ? text.replaceAll(word, other) : text]),
      ),
  };
}

function countLines(_draw: Draw, _files: Files, number: number): Step {
  const target = `lines${number}.out`;
  return {
    text:
      `Write the file ${target} with a line for each other file, in the form NAME COUNT, where NAME is the name ` +
      "without the folder and COUNT the number of lines. Sort by name.",
    command: `find . -type f ! -path ./${target} | while read -r path; do ` +
      `echo "$(basename "$path") $(wc -l < "$path" | tr -d ' ')"; done | LC_ALL=C sort > ${target}`,
    apply: (files) => {
      const lines = [...files].map(([path, text]) => `${baseOf(path)} ${linesOf(text).length}\n`);
      return new Map([...files, [target, lines.toSorted().join("")]]);
    },
  };
}

function sortedLines(draw: Draw, files: Files, number: number): Step {
  const ending = draw.pick(endingsOf(files));
  const target = `all${number}.out`;
  return {
    text: `Write the file ${target} with all different lines of all files whose name ends in .${ending}, ` +
      "sorted by the bytes of the lines, each once.",
    command: `find . -type f -name '*.${ending}' -exec cat {} \\; | LC_ALL=C sort -u > ${target}`,
    apply: (files) => {
      const lines = [...files].filter(([path]) => path.endsWith(`.${ending}`)).flatMap(([, text]) =>
        linesOf(text)
      );
      return new Map([...files, [
        target,
        [...new Set(lines)].toSorted().map((line) => `${line}\n`).join(""),
      ]]);
    },
  };
}

function renameEnding(draw: Draw, files: Files): Step {
  const ending = draw.pick(endingsOf(files));
  const other = draw.pick(["old", "bak", "dat"]);
  return {
    text:
      `Rename every file whose name ends in .${ending}, so that the name ends in .${other} in place of .${ending}.`,
    command: `find . -type f -name '*.${ending}' | while read -r path; do ` +
      `mv "$path" "\${path%.${ending}}.${other}"; done`,
    apply: (files) =>
      new Map(
        [...files].map(([path, text]) =>
          path.endsWith(`.${ending}`) ? [`${path.slice(0, -ending.length)}${other}`, text] : [path, text]
        ),
      ),
  };
}

function sums(draw: Draw, files: Files, number: number): Step {
  const ending = draw.pick(endingsOf(files));
  const target = `sums${number}.out`;
  return {
    text:
      `Each line of the files whose name ends in .${ending} begins with a word and a number. Write the file ` +
      `${target} with a line WORD SUM for each of these words, where SUM is the sum of the numbers, sorted by word.`,
    command: `find . -type f -name '*.${ending}' -exec cat {} \\; | ` +
      `awk 'NF == 2 {s[$1] += $2} END {for (w in s) print w, s[w]}' | LC_ALL=C sort > ${target}`,
    apply: (files) => {
      const lines = [...files].filter(([path]) => path.endsWith(`.${ending}`)).flatMap(([, text]) =>
        linesOf(text)
      );
      const sums = new Map<string, number>();
      for (const [word = "", number] of lines.map((line) => line.split(" "))) {
        sums.set(word, (sums.get(word) ?? 0) + Number(number));
      }
      return new Map([...files, [
        target,
        [...sums].map(([word, sum]) => `${word} ${sum}\n`).toSorted().join(""),
      ]]);
    },
  };
}

function heads(draw: Draw, files: Files, number: number): Step {
  const ending = draw.pick(endingsOf(files));
  const count = draw.int(1, 2);
  const target = `heads${number}`;
  return {
    text:
      `Make the folder ${target} with a file for each file whose name ends in .${ending}: its name has .head at the ` +
      `end in addition, and it has the first ${
        count === 1 ? "line" : `${count} lines`
      } of that file. Leave the files as they are.`,
    command: `mkdir ${target} && find . -path ./${target} -prune -o -type f -name '*.${ending}' -print | ` +
      `while read -r path; do head -n ${count} "$path" > "${target}/$(basename "$path").head"; done`,
    apply: (files) => {
      const copies = [...files].filter(([path]) => path.endsWith(`.${ending}`)).map(([path, text]) =>
        [
          `${target}/${baseOf(path)}.head`,
          linesOf(text).slice(0, count).map((line) => `${line}\n`).join(""),
        ] as const
      );
      return new Map([...files, ...copies]);
    },
  };
}

function endingsOf(files: Files): string[] {
  // files that a step has written have other forms of lines
  const endings = [...files.keys()].map((path) => path.split(".").at(-1) ?? "").filter((ending) =>
    ENDINGS.includes(ending)
  );
  return endings.length === 0 ? ENDINGS : [...new Set(endings)];
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function linesOf(text: string): string[] {
  return text.split("\n").slice(0, -1);
}
