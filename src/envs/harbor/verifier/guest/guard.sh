# Runs programs of the tests, and fails unless a program has come to its end: code under test may end the process with
# status 0. PADDOCK_GUARD names the folder of the Python files.
_paddock_guarded() {
  local mark code
  mark=$(mktemp -u)
  PADDOCK_MARK=$mark "$@"
  code=$?
  if [ "$code" -eq 0 ] && [ ! -e "$mark" ]; then
    echo "verifier: the code under test ended the process of the tests" >&2
    code=3
  fi
  rm -f "$mark"
  return "$code"
}
_paddock_pytest() {
  PYTHONPATH="$PADDOCK_GUARD${PYTHONPATH:+:$PYTHONPATH}" _paddock_guarded command pytest -p paddock_pytest_guard "$@"
}
pytest() { _paddock_pytest "$@"; }
python() {
  case "$1 $2" in
    "-m pytest")
      shift 2
      _paddock_pytest "$@"
      ;;
    "-m pip" | "-m venv") command python "$@" ;;
    "-m "*) _paddock_guarded command python "$PADDOCK_GUARD/paddock_guard.py" "$@" ;;
    -* | " ") command python "$@" ;;
    *) _paddock_guarded command python "$PADDOCK_GUARD/paddock_guard.py" "$@" ;;
  esac
}
python3() { python "$@"; }
export -f _paddock_guarded _paddock_pytest pytest python python3
