[ ! -x "$before" ] || "$before" "$@" || exit
[ "${3:-}" = 1 ] || exit 0
policy_differs "$1" "$2"
