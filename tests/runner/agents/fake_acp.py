"""A program that speaks the Agent Client Protocol and does what its arguments say: `stay` never leaves."""

import json
import sys
import time


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        result: dict[str, object] = {"protocolVersion": 1}
        if asked.get("method") == "session/new":
            result = {"sessionId": "s1"}
        elif asked.get("method") == "session/prompt":
            result = {"stopReason": "end_turn"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
    while "stay" in sys.argv:
        time.sleep(1)


if __name__ == "__main__":
    main()
