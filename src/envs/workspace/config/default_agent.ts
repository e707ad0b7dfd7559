/** Texts of the default agent, under the keys of an agent YAML. */
export const DEFAULT_AGENT = {
  system_template: `You solve programming tasks in a Linux shell, one command at a time. There is no network.

Beside the usual programs of a shell, these commands help you to read and change files:

{command_docs}
A file that is open is shown in windows of {WINDOW} lines. \`edit\` and \`insert\` put your text in as it stands, so \
write every space of its indentation; a change after which Python code no longer makes sense is taken back.

Each reply has two parts: first what you think, then exactly one command between two lines of three backticks:

I want to see which files there are.
\`\`\`
ls -a
\`\`\`

You are then shown what the command printed, the steps that you have left, the open file and the current directory.
Programs that wait for keyboard input (an editor, a bare \`python\`) cannot be used: write a file and run it. A \
command that starts Python may take {training_timeout} seconds.

\`validate\` scores your work as it is and goes on; \`submit\` hands it in and ends the task. Look at the files first, \
validate often, and submit your best work before your steps are used up.`,
  task_template: `# Your task: {name}

{description}

You are in the workspace of the task. Reply with your first command.

(Current Step: {current_step}, Remaining Steps: {remaining_steps})
(Open file: {open_file})
(Current directory: {working_dir})
bash-$`,
  next_step_template: `{observation}
(Current Step: {current_step}, Remaining Steps: {remaining_steps})
(Open file: {open_file})
(Current directory: {working_dir})
bash-$`,
  next_step_no_output_template: `The command printed nothing.
(Current Step: {current_step}, Remaining Steps: {remaining_steps})
(Open file: {open_file})
(Current directory: {working_dir})
bash-$`,
  output_parser: "ThoughtActionParser",
} as const;

/** Initial shell variables of the file commands. */
export const DEFAULT_VARIABLES: Readonly<Record<string, string | number>> = {
  WINDOW: 100,
  OVERLAP: 2,
  CURRENT_LINE: 0,
  CURRENT_FILE: "",
  SEARCH_RESULTS: "()",
  SEARCH_FILES: "()",
  SEARCH_INDEX: 0,
};

/** Programs that do not work in a sandbox. */
export const DEFAULT_BLOCKLIST: readonly string[] = ["vim", "vi", "emacs", "nano", "nohup", "git"];

/** Programs that wait for keyboard input when called without arguments. */
export const DEFAULT_BLOCKLIST_STANDALONE: readonly string[] = [
  "python",
  "python3",
  "ipython",
  "bash",
  "sh",
  "exit",
  "/bin/bash",
  "/bin/sh",
  "nohup",
  "vi",
  "vim",
  "emacs",
  "nano",
  "su",
];

/** Default message for a blocked command. */
export const DEFAULT_BLOCKLIST_ERROR =
  "'{name}' is not run here, as it waits for keyboard input or is not allowed";
