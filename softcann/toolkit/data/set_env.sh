# Makes this softcann the CANN of the calling shell, bash or zsh:
#
#   source set_env.sh
#
# Another CANN's entries in the search paths stay, behind
# ours. Sourcing it again changes nothing.

_softcann_source="${BASH_SOURCE[0]:-${(%):-%x}}"
_softcann_home="$(cd "$(dirname "$_softcann_source")" && pwd)"

# Puts a folder in front of a search path, unless it stands there already.
_softcann_prepend() {
  case "$2:" in
    "$1:"*) printf '%s' "$2" ;;
    *) printf '%s' "$1${2:+:$2}" ;;
  esac
}

export ASCEND_TOOLKIT_HOME="$_softcann_home"
export ASCEND_HOME_PATH="$_softcann_home"
export ASCEND_OPP_PATH="$_softcann_home/opp"
export ASCEND_AICPU_PATH="$_softcann_home"
export LD_LIBRARY_PATH="$(_softcann_prepend "$_softcann_home/lib64" "${LD_LIBRARY_PATH:-}")"
export PYTHONPATH="$(_softcann_prepend "$_softcann_home/python/site-packages" "${PYTHONPATH:-}")"
export PATH="$(_softcann_prepend "$_softcann_home/bin" "$PATH")"

unset -f _softcann_prepend
unset _softcann_home _softcann_source
