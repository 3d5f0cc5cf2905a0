[ ! -x "$before" ] || "$before" "$@" || exit
case "${2:-}" in merge | squash) exit 0 ;; esac
branch=$(git symbolic-ref --quiet --short HEAD) || exit 0
case "$branch" in cardinal/[0-9]*-*) ;; *) exit 0 ;; esac
number=${branch#cardinal/}
number=${number%%-*}
case "$number" in *[!0-9]*) exit 0 ;; esac
exec git interpret-trailers --in-place --if-exists addIfDifferent --trailer "Cardinal-Card: #$number" "$1"
