import { type CommandFiles, statusOf, textOf } from "./gnu/command.ts";

const SITE_PACKAGES = "/lib/python3.14/site-packages";

/** Names of the console scripts of packages, which no session can change. Absent before they are first read. */
let known: readonly string[] | undefined;

/** Returns the names of the programs that the profile's packages have, such as `pytest`. */
export function consoleScripts(files: CommandFiles): readonly string[] {
  known ??= statusOf(files, SITE_PACKAGES) ? readNames(files) : [];
  return known;
}

function readNames(files: CommandFiles): string[] {
  return files.names(SITE_PACKAGES).filter((name) => name.endsWith(".dist-info")).flatMap((name) => {
    const path = `${SITE_PACKAGES}/${name}/entry_points.txt`;
    if (!statusOf(files, path)) return [];
    const [, section = ""] = /^\[console_scripts\]\s*\n([^[]*)/m.exec(textOf(files.read(path))) ?? [];
    return section.split("\n").flatMap((line) => /^\s*([\w.-]+)\s*=/.exec(line)?.[1] ?? []);
  });
}
