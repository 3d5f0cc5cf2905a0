case $# in 3) lines="$2 $3 $1" ;; *) lines=$(cat) ;; esac # as `update` it is given one branch, in words
if [ -x "$before" ]; then printf '%s' "${lines:+$lines
}" | "$before" "$@" || exit; fi
set --
while read -r known commit ref; do
  case "$ref" in refs/heads/* | refs/tags/*) ;; *) continue ;; esac
  case "$commit" in *[!0]*) set -- "$@" "$commit:$known" ;; esac
  [ $# -lt 51 ] || break # Cardinal looks at 50, and refuses more
done <<END
$lines
END
[ $# -gt 0 ] || exit 0
if [ ! -x "$cardinal" ]; then
  echo "Cardinal: $cardinal is gone, and nothing may pass unseen: whoever runs this server has to install it again" >&2
  exit 1
fi
exec "$cardinal" hooks run pre-receive "$@"
