import { assertEquals } from "@std/assert";
import { SHELLS } from "../../../src/cli/completion/scripts.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

/** Programs that print what each shell offers for the words of the arguments, of which the last one is completed. */
const DRIVERS: Readonly<Record<string, string>> = {
  bash: `source "$SCRIPT"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _paddock; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // zsh completes in its line editor only, so these stand for its functions and print what they get
  zsh: `compdef() { :; }
_files() { printf 'FILES %s\\n' "$*"; }
compset() { :; }
compadd() { shift; printf '%s\\n' "$@"; }
_describe() { printf '%s\\n' "\${(@)\${(P)2}%%:*}"; }
words=("$@"); CURRENT=$#
source "$SCRIPT"
_paddock`,
  fish: 'source $SCRIPT; complete -C (string join " " -- $argv) | string replace -r "\\t.*" ""',
};

async function offered(shell: string, script: string, line: string): Promise<string[]> {
  const words = line.split(" ");
  const driver = DRIVERS[shell] ?? "";
  const args = shell === "fish" ? ["-c", driver, ...words] : ["-c", driver, shell, ...words];
  const { stdout } = await new Deno.Command(shell, {
    args,
    cwd: script.slice(0, script.lastIndexOf("/")),
    env: { SCRIPT: script, XDG_CONFIG_HOME: script.slice(0, script.lastIndexOf("/")) },
    stdin: "null",
  }).output();
  const lines = new TextDecoder().decode(stdout).split("\n").filter((word) => word !== "");
  return [...new Set(lines)].sort();
}

/** Lines and what they must offer, and must not. */
const CASES: readonly [line: string, offers: readonly string[], never: readonly string[]][] = [
  ["paddock ", ["exec", "rollout", "cache"], ["--json", "list"]],
  ["paddock exec --js", ["--json"], ["exec", "rollout"]],
  ["paddock exec -p ", ["python", "strict", "mine"], ["exec"]],
  ["paddock --cache-dir exec cache ", ["list", "size", "clear"], ["exec"]],
  ["paddock cache clear ", ["images", "packages"], ["exec"]],
  ["paddock rollout --policy ", ["scripted", "openai"], ["exec"]],
  ["paddock rollout --tasks a --reset ", ["rewind", "fresh"], ["exec"]],
  ["paddock grade --grader ", ["number_match", "math"], ["exec"]],
  ["paddock completion ", [...SHELLS], ["exec"]],
];

/** Rejects if the shell is not installed. */
async function version(shell: string): Promise<Deno.CommandOutput> {
  return await new Deno.Command(shell, { args: ["--version"], stdout: "null", stderr: "null" }).output();
}

for (const shell of SHELLS) {
  const [isInstalled] = await Promise.allSettled([version(shell)]);
  Deno.test({
    name: `paddock completion ${shell} completes commands, options and their values`,
    ignore: isInstalled.status === "rejected" || !isInstalled.value.success,
    async fn() {
      const { stdout, code } = await runPaddock(["completion", shell]);
      assertEquals(code, 0);
      await using folder = await TempFolder.of({
        "script": stdout,
        "paddock/mine.jsonc": "{}",
        "data.csv": "",
      });
      const script = `${folder.path}/script`;
      for (const [line, offers, never] of CASES) {
        const found = await offered(shell, script, line);
        const isMatch = (word: string) => found.includes(word);
        // zsh filters what it gets by the word itself
        const wrong = never.filter((word) => isMatch(word));
        assertEquals(
          [offers.filter((word) => !isMatch(word)), wrong],
          [[], []],
          `${line} → ${found.join(" ")}`,
        );
      }
      const files = await offered(shell, script, "paddock exec da");
      assertEquals(files, shell === "zsh" ? ["FILES "] : ["data.csv"]);
      const folders = await offered(shell, script, "paddock --cache-dir pad");
      assertEquals(folders, [{ bash: "paddock", zsh: "FILES -/", fish: "paddock/" }[shell]]);
    },
  });
}
