lines=$(cat)
if [ -n "${CARDINAL_PROBE:-}" ]; then # `cardinal hooks status` looks whether a refusal holds a push
  echo "$lines" > "$CARDINAL_PROBE"
  exit 1
fi
case "$0$lines" in */cardinal-hooks/pre-push) # empty: a hook in front of this one has read the list
  if branch=$(git symbolic-ref --quiet HEAD); then lines="$branch $(git rev-parse HEAD) $branch 0000"; fi ;;
esac
if [ -x "$before" ]; then printf '%s' "${lines:+$lines
}" | "$before" "$@" || exit; fi
# Only what the remote does not have, of branches for which a policy counts: a file, or that of the clone's board.
board=$(git rev-parse --git-common-dir)/../.cardinal/try.json
commits=$(
  while read -r _ commit ref _; do
    case "$ref" in refs/heads/*) ;; *) continue ;; esac
    case "$commit" in *[!0]*) echo "$commit" ;; esac
  done <<END
$lines
END
)
[ -n "$commits" ] || exit 0
fresh=$({
  echo "$commits" | sort -u
  echo "$commits" | git rev-list --stdin --not --remotes
} | sort | uniq -d | head -n 6) # Cardinal looks at 5
[ -n "$fresh" ] || exit 0
set --
while read -r _ commit ref known; do
  case "$ref $fresh" in refs/heads/*"$commit"*) ;; *) continue ;; esac
  for from in refs/remotes/origin/HEAD "$commit"; do
    [ -f "$board" ] || git cat-file -e "$from:.github/cardinal.yml" 2>/dev/null || continue
    set -- "$@" "$commit:$known"
    break
  done
  [ $# -lt 6 ] || break
done <<END
$lines
END
[ $# -gt 0 ] || exit 0
if [ ! -x "$cardinal" ]; then
  echo "Cardinal: $cardinal is gone, so nothing was checked: \`cardinal hooks install\` again, or \`uninstall\`" >&2
  exit 0
fi
"$cardinal" hooks run pre-push "$@"
case $? in
  0) ;;
  3) exit 1 ;; # refused
  *) echo "Cardinal: $cardinal failed, so nothing was checked: see above, or install Cardinal again" >&2 ;;
esac
exit 0
