import { Argument, Command } from "commander";
import { EXIT, runCommand } from "../run_command.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";
import { completionScript, type CompletionShell, SHELLS } from "./scripts.ts";
import { commandWords } from "./tree.ts";

const NOTES = `
Examples:
  paddock completion bash > ~/.local/share/bash-completion/completions/paddock
  paddock completion zsh > ~/.zfunc/_paddock     (a folder of $fpath, before compinit)
  paddock completion fish > ~/.config/fish/completions/paddock.fish

The scripts complete commands, options, and values of options: names, profiles of the user, files and folders. They
complete the command 'paddock'; 'alias paddock=…' or a script of that name makes it one. They hold the words
themselves, so that Tab starts no program: write them again after an update.

Exit codes: 0 ok, 2 wrong usage.`;

/** Returns the command `completion`, which prints a script that completes the command line in a shell. */
export function completionCommand(): Command {
  return new Command("completion")
    .description("Print a script that completes commands and options in a shell")
    .addArgument(new Argument("<shell>", "shell").choices(SHELLS))
    .addHelpText("after", NOTES)
    .action(async (shell: CompletionShell, _: object, self: Command) => {
      await runCommand(async () => {
        const words = commandWords(self.parent ?? self);
        await writeText(currentIo().stdout, completionScript(shell, words));
        return EXIT.ok;
      });
    });
}
