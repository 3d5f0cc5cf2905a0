#!/bin/sh
# Offer the ports of the service whose network this container is, once it listens there, as sockets in a folder.
#   sh offer.sh FOLDER ADDRESS PORT...   the socket of a port is FOLDER/ADDRESS_PORT.sock
set -u
folder=$1 address=$2
shift 2

# The kernel's tables spell ports in hexadecimal; state 0A is listening.
listens() { grep -q "^ *[0-9]*: [0-9A-F]*:$(printf '%04X' "$1") [0-9A-F:]* 0A " /proc/net/tcp /proc/net/tcp6 2>/dev/null; }

for port; do
  until listens "$port"; do sleep 0.1; done
  socat -t 10 "UNIX-LISTEN:$folder/${address}_$port.sock,fork,backlog=128,max-children=128" \
    "TCP:127.0.0.1:$port,nodelay" </dev/null >/dev/null 2>&1 &
done
wait
