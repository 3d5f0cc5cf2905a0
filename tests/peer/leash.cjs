// Loaded before the peer: it listens on the socket that the test session bound to loopback, instead of on every
// address of the machine, and ends when the session does, however that happens.
const net = require("node:net");

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_port, ...rest) {
  const ready = rest.filter((one) => typeof one === "function");
  return listen.call(this, { fd: Number(process.env.PEER_SOCKET) }, ...ready);
};

process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0)).resume();
