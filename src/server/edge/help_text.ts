/** What the server says of itself to a person. */
export function helpText(graders: readonly string[]): string {
  return `Paddock, graders at the edge

POST /grade         {"grader": "gsm8k", "completion": "It is <answer>42</answer>", "answer": "42"}
                    gives {"score": 1, "parts": {…}}; a score of null is none, and not 0.
                    Instead of "completion": "messages", a whole conversation of {"role", "content"}.
                    "task" holds what else is known: {"query", "answer", "reference", "fields"}.
                    "tests" is a list of Python asserts for hidden_tests.
POST /grade:batch   {"items": [as above, …]} gives {"results": [{"status", "result" or "error"}, …]}
GET  /graders       ${graders.join(", ")}
GET  /health

A program that is tested runs in a worker of this server, "isolation": "worker" in the answer: it reaches no file,
network or environment, and time, memory, output and files are limited, but by no other process and not by the
operating system. Where that matters, use \`paddock serve\`.
`;
}
