/** Returns the plain-text help of the server. */
export function renderHelp(graders: readonly string[]): string {
  return `Paddock, graders at the edge

POST /grade         {"grader": "gsm8k", "completion": "It is <answer>42</answer>", "answer": "42"}
                    returns {"score": 1, "parts": {…}}; a score of null means that there is no score.
                    "messages", a list of {"role", "content"}, may replace "completion".
                    "task" has further fields: {"query", "answer", "reference", "fields"}.
                    "tests" is a list of Python asserts for hidden_tests.
POST /grade:batch   {"items": [as above, …]} returns {"results": [{"status", "result" or "error"}, …]}
GET  /graders       ${graders.join(", ")}
GET  /health

A program under test runs in a worker of this server ("isolation": "worker" in the response). It has no access to
files, network or environment, and its time, memory, output and files are limited, but neither by another process
nor by the operating system. Use \`paddock serve\` if you need that.
`;
}
