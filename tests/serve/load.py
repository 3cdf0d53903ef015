# SPDX-License-Identifier: Apache-2.0
"""Runs many walks at once against a running server and reports the results.

Usage: python load.py http://127.0.0.1:8080 [--sessions 16] [--seconds 120] [--token T]

Every client holds keys, changes them from time to time, and reads all messages. Prints the chunks
per walk, the fairness of the shares (Jain's index: 1 if all are equal), latencies, and the server's
memory over time. Exit code 1: an error, a closed connection, a share below half of the mean, or
memory that grows in the second half.
"""

import argparse
import asyncio
import json
import random
import re
import statistics
import sys
import time
import urllib.request

import msgpack
import websockets

KEYS = [["w"], ["w", "left"], ["left"], ["w", "right"], ["s"], []]


def metrics(address, headers):
    request = urllib.request.Request(address + "/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read().decode()
    return {k: float(v) for k, v in re.findall(r"^(\w+) ([\d.e+]+)$", text, re.M)}


async def walker(number, options, headers, deadline, results):
    result = results[number] = {"chunks": 0, "frames": 0, "errors": [], "latency": [], "queue": []}
    url = options.address.replace("http", "ws", 1) + "/v1/realtime_video/generate"
    chance = random.Random(number)
    try:
        async with websockets.connect(url, max_size=None, additional_headers=headers) as socket:
            init = {"type": "init", "seed": number, "pacing": options.pacing}
            await socket.send(msgpack.packb(init))
            while time.time() < deadline:
                try:
                    data = await asyncio.wait_for(socket.recv(), deadline - time.time())
                except asyncio.TimeoutError:
                    break
                message = msgpack.unpackb(data)
                if message["type"] == "frame_batch":
                    result["frames"] += message["num_frames"]
                elif message["type"] == "error":
                    result["errors"].append(message)
                elif message["type"] == "chunk_stats" and not message["replayed"]:
                    result["chunks"] += 1
                    result["queue"].append(message["queue_ms"])
                    if message["control_latency_ms"] is not None:
                        result["latency"].append(message["control_latency_ms"])
                    keys = chance.choice(KEYS)
                    payload = {"mode": "state", "transitions": [{"actions": keys}]}
                    event = {"type": "event", "kind": "camera_actions", "payload": payload}
                    await socket.send(msgpack.packb(event))
    except Exception as error:  # reported below; one walker must not end the others
        result["errors"].append(repr(error))


async def watch(options, headers, deadline, memory):
    while time.time() < deadline:
        now = await asyncio.to_thread(metrics, options.address, headers)
        memory.append(now["process_resident_memory_bytes"] / 2**20)
        await asyncio.sleep(2)


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--pacing", default="measured", choices=["measured", "none"])
    parser.add_argument("--token", default="")
    options = parser.parse_args()
    options.address = options.address.rstrip("/")
    headers = {"Authorization": f"Bearer {options.token}"} if options.token else {}
    results, memory = {}, []
    deadline = time.time() + options.seconds
    await asyncio.gather(
        watch(options, headers, deadline, memory),
        *(walker(i, options, headers, deadline, results) for i in range(options.sessions)),
    )
    chunks = [result["chunks"] for result in results.values()]
    errors = [error for result in results.values() for error in result["errors"]]
    latency = sorted(x for result in results.values() for x in result["latency"]) or [0]
    mean = statistics.mean(chunks)
    jain = sum(chunks) ** 2 / (len(chunks) * sum(c * c for c in chunks)) if any(chunks) else 0
    half = len(memory) // 2
    first, second = max(memory[: half + 1]), max(memory[half:])
    print(json.dumps({
        "sessions": options.sessions,
        "seconds": options.seconds,
        "chunks": sum(chunks),
        "chunks_per_session": {"least": min(chunks), "mean": mean, "most": max(chunks)},
        "jain": round(jain, 4),
        "frames_received": sum(result["frames"] for result in results.values()),
        "control_latency_ms": {"median": statistics.median(latency), "p95": latency[int(len(latency) * 0.95)]},
        "memory_mib": {"start": memory[0], "most_first_half": first, "most_second_half": second},
        "errors": errors[:5],
    }, indent=1))
    fair = min(chunks) >= mean / 2
    bounded = second <= first * 1.05 + 16
    sys.exit(0 if not errors and fair and bounded else 1)


if __name__ == "__main__":
    asyncio.run(main())
