"""A program that speaks the Agent Client Protocol as it is told to by a file beside it: `python acp_player.py FOLDER`.

`FOLDER/play.json` holds answers by method, and under "turn" what happens in a turn: updates of the session, and
{"ask": …} for a permission, {"err": …} and {"out": …} for lines, {"write": FILE} (the first word of its prompt), {"exit": CODE}, {"wait": true}, {"end": …}, {"error": …}.
What it is told is written to `FOLDER/heard.jsonl`. It needs nothing but Python.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
PLAY: dict[str, Any] = json.loads((FOLDER / "play.json").read_text())
ANSWERS: dict[str, Any] = {
    "initialize": {"protocolVersion": 1, "agentInfo": {"name": "player", "version": "7.8.9"}},
    "session/new": {"sessionId": "s-1"},
    **PLAY.get("answers", {}),
}


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    with (FOLDER / "heard.jsonl").open("a") as heard:
        heard.write(line)
    return json.loads(line)


def turn(ident: int, phase: str) -> None:
    for step in PLAY["turn"]:
        if "ask" in step:
            say(id="p-1", method=step.get("method", "session/request_permission"), params=step["ask"])
            hear()
        elif "err" in step:
            print(step["err"], file=sys.stderr, flush=True)
        elif "out" in step:
            print(step["out"], flush=True)
        elif "write" in step:
            Path(step["write"]).write_text(phase)
        elif "exit" in step:
            os._exit(step["exit"])
        elif "wait" in step:
            time.sleep(60)
        elif "end" in step:
            say(id=ident, result=step["end"])
        elif "error" in step:
            say(id=ident, error=step["error"])
        else:
            say(method="session/update", params={"sessionId": "s-1", "update": step})


while True:
    asked = hear()
    if asked.get("method") == "session/prompt":
        turn(asked["id"], asked["params"]["prompt"][0]["text"].split()[0])
    elif "method" in asked:
        for early in PLAY.get("early", ()):
            say(method="session/update", params={"sessionId": "s-1", "update": early})
        answer = ANSWERS.get(asked["method"], {})
        say(id=asked["id"], **({"error": answer["error"]} if "error" in answer else {"result": answer}))
        for late in PLAY.get("late", ()) if asked["method"] != "initialize" else ():
            say(method="session/update", params={"sessionId": "s-1", "update": late})
