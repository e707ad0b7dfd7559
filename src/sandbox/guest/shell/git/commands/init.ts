import { bytesOf, byteText, pathIn, statusOf, unicodeText } from "../../gnu/command.ts";
import type { FreeCommand } from "../git_command.ts";
import { fatal } from "../store/git_error.ts";
import { Config, Repository } from "../store/repository.ts";
import { isReferenceName } from "../store/references.ts";
import { commandOptions } from "./command_words.ts";

const DESCRIPTION = "Unnamed repository; edit this file 'description' to name the repository.\n";
const EXCLUDE = "# git ls-files --others --exclude-from=.git/info/exclude\n" +
  "# Lines that start with '#' are comments.\n# For a project mostly in C, the following would be a good set of\n" +
  "# exclude patterns (uncomment them if you want to use them):\n# *.[oa]\n# *~\n";
const HINTS = [
  "Using 'master' as the name for the initial branch. This default branch name",
  "is subject to change. To configure the initial branch name to use in all",
  "of your new repositories, which will suppress this warning, call:",
  "",
  "\tgit config --global init.defaultBranch <name>",
  "",
  "Names commonly chosen instead of 'master' are 'main', 'trunk' and",
  "'development'. The just-created branch can be renamed via this command:",
  "",
  "\tgit branch -m <name>",
];

/** `git init`. */
export const init: FreeCommand = (args, context, { settings }) => {
  const options = commandOptions(
    args,
    "q,quiet:b,initial-branch=:bare:template=:separate-git-dir=:shared?:object-format=:ref-format=",
    { refused: ["separate-git-dir", "object-format", "ref-format"] },
  );
  const { files, cwd, printError, print, variables } = context;
  const [name = "."] = options.operands;
  const top = pathIn(cwd, name);
  makeFolders(top);
  const isBare = options.has("bare");
  const named = variables["GIT_DIR"];
  const gitFolder = named !== undefined
    ? pathIn(cwd, byteText(named))
    : isBare
    ? top
    : `${top === "/" ? "" : top}/.git`;
  const config = new Config(context, { given: settings, gitFolder: undefined });
  const given = options.value("b") ?? config.get("init.defaultbranch");
  const first = given ?? "master";
  if (!isReferenceName(first)) fatal(`invalid initial branch name: '${first}'`);
  const isNew = statusOf(files, `${gitFolder}/HEAD`) === undefined;
  for (
    const folder of [
      "",
      "/branches",
      "/hooks",
      "/info",
      "/objects",
      "/objects/info",
      "/objects/pack",
      "/refs",
    ]
  ) {
    makeFolders(gitFolder + folder);
  }
  makeFolders(`${gitFolder}/refs/heads`);
  makeFolders(`${gitFolder}/refs/tags`);
  const write = (path: string, text: string) => {
    if (!statusOf(files, `${gitFolder}/${path}`)) files.write(`${gitFolder}/${path}`, bytesOf(text));
  };
  write("description", DESCRIPTION);
  write("info/exclude", EXCLUDE);
  const repository = new Repository(context, { gitFolder, top, given: settings });
  if (isNew) {
    if (given === undefined && !options.has("q")) {
      printError(HINTS.map((line) => `hint: ${line}`.trimEnd() + "\n").join(""));
    }
    repository.references.setSymbolic("HEAD", `refs/heads/${first}`);
  } else if (options.has("b")) context.printError(`warning: re-init: ignored --initial-branch=${first}\n`);
  const { local } = repository.config;
  local?.set("core.repositoryformatversion", "0");
  local?.set("core.filemode", "true");
  local?.set("core.bare", String(isBare));
  if (!isBare) local?.set("core.logallrefupdates", "true");
  if (!options.has("q")) {
    const verb = isNew ? "Initialized empty" : "Reinitialized existing";
    print(`${verb} Git repository in ${byteText(gitFolder)}/\n`);
  }
  return 0;

  function makeFolders(path: string): void {
    const parts = path.split("/").filter((part) => part !== "");
    for (const at of parts.keys()) {
      const folder = `/${parts.slice(0, at + 1).join("/")}`;
      const kind = statusOf(files, folder)?.kind;
      if (kind === undefined) files.makeDirectory(folder);
      else if (kind !== "directory") fatal(`cannot mkdir ${unicodeText(byteText(folder))}: File exists`);
    }
  }
};
