import type { CommandWords, Values } from "./tree.ts";

/** Shells with a completion script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** Shell with a completion script. */
export type CompletionShell = typeof SHELLS[number];

/**
 * Returns the script that completes `paddock` in a shell. The script holds the words: a program that is called
 * for each Tab takes a second to start.
 */
export function completionScript(shell: CompletionShell, commands: readonly CommandWords[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](commands);
}

/** Case patterns of the options that take a value, as `command/option`. */
function valuePatterns(commands: readonly CommandWords[]): string[] {
  return commands.flatMap(({ path, valuesOf }) => [...valuesOf.keys()].map((name) => `${path}/${name}`));
}

/** Commands by the words before them, as `parent/word`. */
function steps(commands: readonly CommandWords[]): [pattern: string, path: string][] {
  return commands.flatMap(({ path, subcommands }) =>
    subcommands.map(({ word }): [string, string] => [`${path}/${word}`, `${path} ${word}`.trim()])
  );
}

const USER_PROFILES = '"${XDG_CONFIG_HOME:-$HOME/.config}"/paddock/*.jsonc';

/** The cases that bash and zsh share: they set `names` and `kind`. */
function posixCases(commands: readonly CommandWords[]): string {
  const values = commands.flatMap(({ path, valuesOf }) =>
    [...valuesOf].map(([name, value]) => `    '${path}/${name}') ${assign(value)} ;;`)
  );
  return values.join("\n");
}

function assign({ names, kind }: Values): string {
  return `names='${names.join(" ")}'; kind=${kind}`;
}

function posixWalk(commands: readonly CommandWords[]): string {
  return [
    `    case "$command/$before" in ${
      valuePatterns(commands).map((pattern) => `'${pattern}'`).join("|")
    }) continue ;; esac`,
    '    case "$command/$word" in',
    ...steps(commands).map(([pattern, path]) => `      '${pattern}') command='${path}' ;;`),
    "    esac",
  ].join("\n");
}

function bashScript(commands: readonly CommandWords[]): string {
  return `# bash completion of paddock; write it to ~/.local/share/bash-completion/completions/paddock
_paddock() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local command='' before word names='' kind=none i file
  [[ $cur == '=' ]] && cur=''
  [[ $prev == '=' ]] && prev="\${COMP_WORDS[COMP_CWORD-2]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    before="\${COMP_WORDS[i-1]}" word="\${COMP_WORDS[i]}"
${posixWalk(commands)}
  done
  case "$command/$prev" in
${posixCases(commands)}
    *)
      if [[ $cur == -* ]]; then
        case "$command" in
${
    commands.map(({ path, options }) =>
      `          '${path}') names='${options.map(({ word }) => word).join(" ")}' ;;`
    ).join("\n")
  }
        esac
      else
        case "$command" in
${commands.map((command) => `          '${command.path}') ${assign(afterCommand(command))} ;;`).join("\n")}
        esac
      fi ;;
  esac
  if [[ $kind == profile ]]; then
    for file in ${USER_PROFILES}; do
      [[ -f $file ]] && file="\${file##*/}" && names+=" \${file%.jsonc}"
    done
  fi
  [[ $cur == [./]* && -n $names ]] && kind=file
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
    [[ -n $names ]] && compgen -W "$names" -- "$cur" | sort -u
    [[ $kind == file ]] && compgen -f -- "$cur"
    [[ $kind == folder ]] && compgen -d -- "$cur"
  )
  if [[ $kind == file || $kind == folder ]]; then compopt -o filenames 2>/dev/null; fi
}
complete -F _paddock paddock
`;
}

function afterCommand({ subcommands, argument }: CommandWords): Values {
  return { kind: argument.kind, names: [...subcommands.map(({ word }) => word), ...argument.names] };
}

function zshScript(commands: readonly CommandWords[]): string {
  const list = (candidates: CommandWords["options"]) =>
    candidates.map(({ word, about }) => `'${word}:${about}'`).join(" ");
  return `#compdef paddock
# zsh completion of paddock; write it to a file _paddock in a folder of $fpath
_paddock() {
  local cur="\${words[CURRENT]}" prev="\${words[CURRENT-1]}"
  local command='' before word names='' kind=none i file
  local -a described
  if [[ $cur == --*=* ]]; then
    prev="\${cur%%=*}"
    cur="\${cur#*=}"
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; i++)); do
    before="\${words[i-1]}" word="\${words[i]}"
${posixWalk(commands)}
  done
  case "$command/$prev" in
${posixCases(commands)}
    *)
      if [[ $cur == -* ]]; then
        case "$command" in
${commands.map(({ path, options }) => `          '${path}') described=(${list(options)}) ;;`).join("\n")}
        esac
      else
        case "$command" in
${
    commands.map(({ path, subcommands, argument }) =>
      `          '${path}') described=(${list(subcommands)}); ${assign(argument)} ;;`
    ).join("\n")
  }
        esac
      fi ;;
  esac
  if [[ $kind == profile ]]; then
    for file in ${USER_PROFILES}(N); do names+=" \${file:t:r}"; done
    kind=file
  fi
  (( \${#described} )) && _describe 'paddock' described
  [[ -n $names ]] && compadd -- \${=names}
  [[ $kind == file ]] && _files
  [[ $kind == folder ]] && _files -/
  return 0
}
if [[ $funcstack[1] == _paddock ]]; then _paddock "$@"; else compdef _paddock paddock; fi
`;
}

function fishScript(commands: readonly CommandWords[]): string {
  const echo = (candidates: CommandWords["options"]) =>
    candidates.map(({ word, about }) => `printf '%s\\t%s\\n' '${word}' '${about}'`).join("; ") || "true";
  const offer = ({ kind, names }: Values) =>
    [
      ...(names.length > 0 ? [`printf '%s\\n' ${names.join(" ")}`] : []),
      ...(kind === "profile" ? ["__paddock_profiles"] : []),
      ...(kind === "folder" ? ["__fish_complete_directories $cur"] : []),
      ...(kind === "file" || kind === "profile" ? ["__fish_complete_path $cur"] : []),
    ].join("; ") || "true";
  return `# fish completion of paddock; write it to ~/.config/fish/completions/paddock.fish
function __paddock_profiles
    set -l config $XDG_CONFIG_HOME
    test -n "$config"; or set config $HOME/.config
    for file in $config/paddock/*.jsonc
        string replace -r '^.*/(.*)\\.jsonc$' '$1' -- $file
    end
end
function __paddock_complete
    set -l cur (commandline -ct)
    set -l tokens (commandline -opc)
    set -l path ''
    set -l prev $tokens[-1]
    if string match -q -- '--*=*' $cur
        set prev (string split -m 1 = -- $cur)[1]
        set cur (string split -m 1 = -- $cur)[2]
    end
    for i in (seq 2 (count $tokens))
        set -l before_at (math $i - 1)
        set -l before $tokens[$before_at]
        switch "$path/$before"
            case ${valuePatterns(commands).map((pattern) => `'${pattern}'`).join(" ")}
                continue
        end
        switch "$path/$tokens[$i]"
${
    steps(commands).map(([pattern, path]) =>
      `            case '${pattern}'\n                set path '${path}'`
    ).join("\n")
  }
        end
    end
    switch "$path/$prev"
${
    commands.flatMap(({ path, valuesOf }) =>
      [...valuesOf].map(([name, values]) =>
        `        case '${path}/${name}'\n            ${offer(values)}\n            return`
      )
    ).join("\n")
  }
    end
    if string match -q -- '-*' $cur
        switch "$path"
${
    commands.map(({ path, options }) => `            case '${path}'\n                ${echo(options)}`).join(
      "\n",
    )
  }
        end
        return
    end
    switch "$path"
${
    commands.map(({ path, subcommands, argument }) =>
      `        case '${path}'\n            ${echo(subcommands)}; ${offer(argument)}`
    ).join("\n")
  }
    end
end
complete -c paddock -f -a '(__paddock_complete)'
`;
}
