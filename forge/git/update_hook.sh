#!/bin/sh
if grep -qxF "$1" protected 2>/dev/null; then
  echo "error: GH006: Protected branch update failed for $1." >&2
  exit 1
fi
if [ -f rules ] || [ -n "$FORGE_WITHOUT_WORKFLOWS" ]; then
  @PYTHON@ -I @RULESETS@ "$@" || exit 1
fi
[ -f signed ] || exit 0
[ "$3" = 0000000000000000000000000000000000000000 ] && exit 0
signers=$(cd ../../.. && pwd)/allowed_signers
unsigned=$(git -c gpg.ssh.allowedSignersFile="$signers" log --format='%H %G? %GS %ce' "$3" --not --all |
  while read -r commit status signer email; do
    [ "$status" = G ] && [ "$signer" = "$email" ] || echo "$commit"
  done)
[ -n "$unsigned" ] || exit 0
while read -r code pattern; do
  case "$1" in
    $pattern) ;;
    *) continue ;;
  esac
  if [ "$code" = GH006 ]; then
    echo "error: GH006: Protected branch update failed for $1." >&2
    echo "error: Commits must have verified signatures." >&2
  else
    echo "error: GH013: Repository rule violations found for $1." >&2
    echo "" >&2
    echo "- Commits must have verified signatures." >&2
    echo "  Found $(echo "$unsigned" | wc -l | tr -d ' ') violations:" >&2
    echo "$unsigned" | sed 's/^/  /' >&2
  fi
  exit 1
done < signed
exit 0
