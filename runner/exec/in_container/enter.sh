#!/bin/sh
# Run a command inside a workspace, with the sockets of its run's gateway as addresses on 127.0.0.1.
#   sh enter.sh COMMAND...   port 4000: models and board tools, port 4001: the network that the policy grants
set -u
sockets=${CARDINAL_SOCKETS:-/run/cardinal}

# A forwarder belongs to init and has a session of its own: the command neither waits for it nor signals it.
# nodelay: models stream in small pieces. -t: whoever has sent everything still gets the answer.
forward() {
  (setsid socat -t 10 "TCP-LISTEN:$1,bind=127.0.0.1,fork,reuseaddr,nodelay,backlog=128,max-children=128" \
    "UNIX-CONNECT:$2" </dev/null >/dev/null 2>&1 &)
}

# The kernel's table spells 127.0.0.1 and the port in hexadecimal; state 0A is listening.
listens() { grep -q "^ *[0-9]*: 0100007F:$(printf '%04X' "$1") [0-9A-F:]* 0A " /proc/net/tcp; }

opened=
for pair in 4000:models 4001:network; do
  socket=$sockets/${pair#*:}.sock
  [ -S "$socket" ] || continue
  if ! command -v socat >/dev/null 2>&1; then
    echo "cardinal: this image has no socat, which agents need to reach their models: install it in the image" >&2
    exit 127
  fi
  forward "${pair%:*}" "$socket"
  opened="$opened ${pair%:*}"
done

for port in $opened; do
  tries=0
  until listens "$port"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 250 ]; then
      echo "cardinal: nothing listens on 127.0.0.1:$port after 5 s: another program may have taken the port" >&2
      exit 126
    fi
    sleep 0.02
  done
done

exec "$@"
