# Stand-ins for the installers that task scripts call. Packages are part of the session, so that an installer only checks
# names. PADDOCK_SYSTEM_PACKAGES has the system packages that the session stands in for.
_paddock_apt() {
  local action='' name names=()
  while [ $# -gt 0 ]; do
    case "$1" in
      -o | -t | -c) shift ;;
      -*) ;;
      *) if [ -z "$action" ]; then action=$1; else names+=("${1%%=*}"); fi ;;
    esac
    shift
  done
  [ "$action" = install ] || return 0
  for name in "${names[@]}"; do
    case " $PADDOCK_SYSTEM_PACKAGES " in
      *" $name "*) ;;
      *)
        echo "E: Unable to locate package $name" >&2
        return 100
        ;;
    esac
  done
}
apt-get() { _paddock_apt "$@"; }
apt() { _paddock_apt "$@"; }
curl() {
  local word
  for word in "$@"; do
    case "$word" in https://astral.sh/uv/*) return 0 ;; esac
  done
  echo "curl: (6) Could not resolve host, as the sandbox has no network" >&2
  return 6
}
_paddock_uv_run() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --with | -w | --from | --with-requirements | -p | --python | --project | --directory | --index | --cache-dir) shift ;;
      --)
        shift
        break
        ;;
      -*) ;;
      *) break ;;
    esac
    shift
  done
  local name=${1%%@*}
  shift
  case "$name" in
    *.py) python "$name" "$@" ;;
    *) "$name" "$@" ;;
  esac
}
uvx() { _paddock_uv_run "$@"; }
uv() {
  local action=$1
  shift
  case "$action" in
    run) _paddock_uv_run "$@" ;;
    pip) pip "$@" ;;
    add) pip install "$@" ;;
    tool)
      case "$1" in
        run) shift && _paddock_uv_run "$@" ;;
        install) shift && pip install "$@" ;;
      esac
      ;;
    venv) mkdir -p .venv/bin && : >.venv/bin/activate ;;
    init | sync | lock | python | self | cache) ;;
    --version) echo "uv (a stand-in of the sandbox)" ;;
    *)
      echo "error: the sandbox has no 'uv $action'" >&2
      return 2
      ;;
  esac
}
export -f _paddock_apt apt-get apt curl _paddock_uv_run uvx uv
mkdir -p "$HOME/.local/bin" && : >"$HOME/.local/bin/env"
