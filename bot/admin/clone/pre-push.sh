lines=$(cat)
if [ -x "$before" ]; then printf '%s\n' "$lines" | "$before" "$@" || exit; fi
# Only what the remote does not have, of branches whose policy could say something.
set --
while read -r _ commit ref known; do
  case "$ref" in refs/heads/*) ;; *) continue ;; esac
  case "$commit" in *[!0]*) ;; *) continue ;; esac
  [ -n "$(git rev-list --max-count=1 "$commit" --not --remotes)" ] || continue
  for from in refs/remotes/origin/HEAD "$commit"; do
    git cat-file -e "$from:.github/cardinal.yml" 2>/dev/null || continue
    set -- "$@" "$commit:$known"
    break
  done
done <<END
$lines
END
[ $# -gt 0 ] || exit 0
if [ ! -x "$cardinal" ]; then
  echo "Cardinal: $cardinal is gone, so nothing was checked: \`cardinal hooks install\` again, or \`uninstall\`" >&2
  exit 0
fi
exec "$cardinal" hooks run pre-push "$@"
