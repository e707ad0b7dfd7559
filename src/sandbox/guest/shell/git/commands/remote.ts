import type { GitCommand } from "../git_command.ts";
import { fatal, GitError, refuse } from "../store/git_error.ts";
import { allWords, commandOptions } from "./command_words.ts";

/** `git remote`, which only reads and writes settings. */
export const remote: GitCommand = (args, repository) => {
  const [first, ...rest] = args.filter((word) => word !== "-v" && word !== "--verbose");
  const isVerbose = args.some((word) => word === "-v" || word === "--verbose");
  const { config, context, references } = repository;
  const settings = config.settings();
  const names = [...new Set(settings.flatMap(({ key }) => /^remote\.(.+)\.[^.]+$/.exec(key)?.[1] ?? []))]
    .sort();
  const url = (name: string) => config.get(`remote.${name}.url`);
  const requireRemote = (name = "") => {
    if (!names.includes(name)) throw new GitError(`No such remote '${name}'`, { kind: "error", exitCode: 2 });
    return name;
  };
  const options = commandOptions(rest, "f:t=:m=:tags:no-tags:mirror?:push:all:add:delete", {
    refused: ["f", "mirror", "add", "delete", "m", "t"],
  });
  const [name, value] = allWords(options);
  switch (first) {
    case undefined:
      for (const known of names) {
        if (!isVerbose) context.print(`${known}\n`);
        else {
          const push = config.get(`remote.${known}.pushurl`) ?? url(known);
          context.print(`${known}\t${url(known)} (fetch)\n${known}\t${push} (push)\n`);
        }
      }
      return 0;
    case "add":
      if (name === undefined || value === undefined) {
        throw new GitError("usage: git remote add [<options>] <name> <url>", { kind: "", exitCode: 129 });
      }
      if (names.includes(name)) {
        throw new GitError(`remote ${name} already exists.`, { kind: "error", exitCode: 3 });
      }
      config.local?.set(`remote.${name}.url`, value);
      config.local?.set(`remote.${name}.fetch`, `+refs/heads/*:refs/remotes/${name}/*`);
      return 0;
    case "remove":
    case "rm":
      config.local?.removeSection(`remote.${requireRemote(name)}`);
      for (const full of references.list(`refs/remotes/${name}/`).keys()) references.remove(full);
      for (const { key, value: of } of settings) {
        const branch = /^branch\.(.+)\.remote$/.exec(key)?.[1];
        if (branch !== undefined && of === name) {
          config.local?.remove(`branch.${branch}.remote`);
          config.local?.remove(`branch.${branch}.merge`);
        }
      }
      return 0;
    case "get-url":
      context.print(
        `${
          (options.has("push") ? config.get(`remote.${name}.pushurl`) : undefined) ?? url(requireRemote(name))
        }\n`,
      );
      return 0;
    case "set-url":
      config.local?.set(
        `remote.${requireRemote(name)}.${options.has("push") ? "pushurl" : "url"}`,
        value ?? fatal("no URL given"),
      );
      return 0;
    case "show":
      if (name === undefined) return remote(isVerbose ? ["-v"] : [], repository);
      return refuse("'git remote show', which needs a network,");
    case "update":
    case "prune":
    case "set-head":
    case "set-branches":
    case "rename":
      return refuse(`'git remote ${first}'`);
    default:
      throw new GitError(`Unknown subcommand: ${first}`, { kind: "error", exitCode: 129 });
  }
};
