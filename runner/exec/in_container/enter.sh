#!/bin/sh
# Run a command inside a workspace, with the sockets of its run's gateway as addresses on 127.0.0.1, and those of
# services as the addresses that are their names: 127.0.1.1_5432.sock.
#   sh enter.sh COMMAND...   port 4000: models and board tools, port 4001: the network that the policy grants
set -u
sockets=${CARDINAL_SOCKETS:-/run/cardinal}
services=${CARDINAL_SERVICES:-/run/services}

# A forwarder belongs to init and has a session of its own: the command neither waits for it nor signals it.
# nodelay: models stream in small pieces. -t: whoever has sent everything still gets the answer.
forward() {
  (setsid socat -t 10 "TCP-LISTEN:${1#*:},bind=${1%:*},fork,reuseaddr,nodelay,backlog=128,max-children=128" \
    "UNIX-CONNECT:$2" </dev/null >/dev/null 2>&1 &)
}

# The kernel's table spells 127.0.1.2:4000 as 0201007F:0FA0.
spell() {
  host=${1%:*}
  third=${host%.*}
  printf '%02X%02X007F:%04X' "${host##*.}" "${third##*.}" "${1#*:}"
}

# State 0A is listening.
listens() { grep -q "^ *[0-9]*: $1 [0-9A-F:]* 0A " /proc/net/tcp; }

opened=
for socket in "$sockets/models.sock" "$sockets/network.sock" "$services"/*_*.sock; do
  [ -S "$socket" ] || continue
  name=${socket##*/}
  name=${name%.sock}
  case $name in
    models) at=127.0.0.1:4000 ;;
    network) at=127.0.0.1:4001 ;;
    *) at=${name%_*}:${name#*_} ;;
  esac
  if ! command -v socat >/dev/null 2>&1; then
    echo "cardinal: this image has no socat, which leads to models, hosts and services: install it in the image" >&2
    exit 127
  fi
  forward "$at" "$socket"
  opened="$opened $at"
done

for at in $opened; do
  tries=0
  spelled=$(spell "$at")
  until listens "$spelled"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 250 ]; then
      echo "cardinal: nothing listens on $at after 5 s: another program may have taken the port" >&2
      exit 126
    fi
    sleep 0.02
  done
done

exec "$@"
