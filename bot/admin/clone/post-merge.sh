[ ! -x "$before" ] || "$before" "$@" || exit
policy_differs ORIG_HEAD HEAD
