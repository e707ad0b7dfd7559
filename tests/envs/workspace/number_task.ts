/** The files of a task whose score is the number that the agent leaves in `answer.txt`. */
export function numberTask(id = "number"): Record<string, string> {
  return {
    "task.yaml": [
      `id: ${id}`,
      `name: The task ${id}`,
      "description: Make the number in `answer.txt` larger.",
      "starter_code: [answer.txt]",
      "evaluation:",
      "  module: hidden/score.py",
      "  submission: [answer.txt]",
      "  metrics: {Size: maximize}",
      "baseline_scores: [{Size: 1}]",
      "",
    ].join("\n"),
    "answer.txt": "1\n",
    "hidden/score.py":
      'def evaluate(submission):\n    return {"Size": float(submission.read_text("answer.txt"))}\n',
  };
}

/** A reply that runs a command. */
export function saying(command: string): string {
  return `Let me see.\n\`\`\`\n${command}\n\`\`\``;
}

/** Commands that print MLGym's marks, whatever an agent's own do. */
export const VALIDATE = "echo '<<VALIDATION||x||VALIDATION>>'";
export const SUBMIT = "echo '<<SUBMISSION||x||SUBMISSION>>'";
