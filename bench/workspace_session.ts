/** Files of a small task, by their paths in its workspace. */
export const SESSION_FILES: Readonly<Record<string, string>> = {
  "answer.txt": "1\n",
  "strategy.py":
    'def move(history):\n    """Answers the last move."""\n    return history[-1] if history else 0\n',
  "run.py": "from strategy import move\n\nprint([move([n % 3] * n) for n in range(10)])\n",
  "README.md": "# A task\n\nMake `move` better.\n",
  "src/__init__.py": "",
  "src/tools.py": "def double(n):\n    return 2 * n\n",
};

/** Commands of a session of 20 steps: they read and edit files, undo one edit, run programs and validate. */
export const SESSION: readonly string[] = [
  "ls -R",
  'open "strategy.py"',
  "edit 2:3\n    return histroy[-1]\nend_of_edit",
  "edit 2:3\n    return 1\nend_of_edit",
  "python run.py",
  'search_dir "double"',
  'find_file "*.py"',
  'open "src/tools.py" 2',
  "insert 2\n\n\ndef triple(n):\n    return 3 * n\nend_of_insert",
  'python -c "from src.tools import triple; print(triple(2))"',
  'create "notes.md"',
  "edit 1:1\nTried: always 1.\nend_of_edit",
  'open "README.md"',
  'search_file "move"',
  "scroll_down",
  "cat notes.md | wc -l && echo 2 > answer.txt",
  "validate",
  "python run.py | tail -n 1 > out.txt; cat out.txt",
  "echo 3 > answer.txt",
  "submit",
];
