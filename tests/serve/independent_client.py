# SPDX-License-Identifier: Apache-2.0
"""A client that was written from docs/protocol.md alone and tests a running server.

Usage: python independent_client.py http://127.0.0.1:8080 [--token T] [--other http://127.0.0.1:8081]

--other is a second server that shares the first one's data folder; worlds of one server are then
continued on the other. Needs the packages in requirements.txt. A failed check ends the program with
exit code 1.
"""

import argparse
import asyncio
import base64
import json
import struct
import time
import urllib.error
import urllib.request
import zlib

import msgpack
import websockets

TIMEOUT = 300


class Walk:
    """One WebSocket, in MessagePack or JSON."""

    def __init__(self, socket, as_json=False):
        self.socket = socket
        self.as_json = as_json

    async def send(self, **message):
        if self.as_json:
            await self.socket.send(json.dumps(message))
        else:
            await self.socket.send(msgpack.packb(message))

    async def next(self):
        data = await asyncio.wait_for(self.socket.recv(), TIMEOUT)
        if self.as_json:
            assert isinstance(data, str), "JSON is text"
            return json.loads(data)
        assert isinstance(data, bytes), "MessagePack is binary"
        return msgpack.unpackb(data)

    async def until(self, wanted, **fields):
        while True:
            message = await self.next()
            if message["type"] == "error" and wanted != "error":
                raise AssertionError(f"error instead of {wanted}: {message}")
            if message["type"] == wanted and all(message.get(k) == v for k, v in fields.items()):
                return message


def png(width, height):
    """A picture with a gradient, made without any library."""
    rows = b"".join(
        b"\0" + bytes(c for x in range(width) for c in (x * 255 // width, y * 255 // height, 99))
        for y in range(height)
    )

    def part(name, data):
        crc = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", header)
        + part(b"IDAT", zlib.compress(rows))
        + part(b"IEND", b"")
    )


def is_jpeg(data):
    return data[:2] == b"\xff\xd8" and data[-2:] == b"\xff\xd9"


class Server:
    def __init__(self, address, token):
        self.address = address.rstrip("/")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def walk(self):
        url = self.address.replace("http", "ws", 1) + "/v1/realtime_video/generate"
        return websockets.connect(url, max_size=None, additional_headers=self.headers)

    def get(self, path, method="GET", body=None):
        headers = dict(self.headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            data = answer.read()
            kind = answer.headers["Content-Type"]
            return json.loads(data) if kind.startswith("application/json") else data


def check_frames(batch, session):
    data = batch["payload"]
    assert sum(batch["payload_lengths"]) == len(data)
    assert len(batch["payload_lengths"]) == batch["num_frames"]
    assert [batch["width"], batch["height"]] == session["size"]
    at = 0
    for length in batch["payload_lengths"]:
        assert is_jpeg(data[at : at + length]), "a frame is no JPEG"
        at += length


def check_stats(stats, session):
    assert len(stats["poses"]) == session["chunk_latents"]
    assert all(len(pose) == 7 for pose in stats["poses"])
    assert stats["num_frames"] == session["chunk_latents"] * session["frames_per_latent"]
    kinds = {held["kind"] for held in stats["retained"]}
    assert "sink" in kinds and kinds <= {"sink", "bank", "recent"}, kinds
    mask = stats["panorama"]["mask"]
    seen = sum(bin(byte).count("1") for byte in mask)
    assert abs(seen / 4096 - stats["panorama"]["share"]) < 1e-9
    assert stats["chunk_total_ms"] > 0 and stats["memory_bytes"] > 0


async def walk_with_messagepack(server):
    async with server.walk() as socket:
        walk = Walk(socket)
        await walk.send(type="init", seed=7, pacing="none", prompt="a quiet town")
        session = await walk.until("session")
        assert session["protocol"] == 1 and session["next_chunk"] == 1
        await walk.send(
            type="event",
            kind="camera_actions",
            event_id=1,
            payload={"mode": "state", "transitions": [{"actions": ["w"], "client_ts_ms": 0}]},
        )
        await walk.until("receipt", event_id=1, status="received")
        applied = await walk.until("receipt", event_id=1, status="applied")
        batch = await walk.until("frame_batch", chunk_index=applied["chunk_index"])
        check_frames(batch, session)
        assert batch["event_id"] == 1
        stats = await walk.until("chunk_stats", chunk_index=applied["chunk_index"])
        check_stats(stats, session)
        assert stats["poses"][-1][2] > stats["poses"][0][2], "w goes forward"
        await walk.send(type="event", kind="pause", event_id=2)
        await walk.until("receipt", event_id=2, status="applied")
        await walk.send(type="save", name="independent", request_id="s")
        saved = await walk.until("saved", request_id="s")
        await walk.send(type="fork", request_id="f")
        forked = await walk.until("forked", request_id="f")
        assert forked["world"]["parent"] == session["world"]
        await walk.send(type="list_worlds", request_id="l")
        worlds = await walk.until("worlds", request_id="l")
        ids = {world["id"] for world in worlds["worlds"]}
        assert {session["world"], saved["world"]["id"], forked["world"]["id"]} <= ids
        return session["world"], forked["world"]["id"], saved["world"]["id"]


async def come_back_with_json(server, world):
    async with server.walk() as socket:
        walk = Walk(socket, as_json=True)
        await walk.send(type="init", world=world, paused=True, pacing="none")
        session = await walk.until("session")
        assert session["resumed"] and session["world"] == world
        still = await walk.until("frame_batch")
        assert is_jpeg(base64.b64decode(still["payload"]))
        await walk.send(type="event", kind="step", payload=1)
        stats = await walk.until("chunk_stats", replayed=False)
        assert stats["chunk_index"] == session["next_chunk"]
        await walk.send(type="event", kind="history", payload="nonsense", event_id=5)
        error = await walk.until("error")
        assert error["event_id"] == 5 and not error["fatal"]


async def go_on_elsewhere(other, world):
    end = time.time() + 60  # the first server holds a walk that was just left for a while
    while True:
        async with other.walk() as socket:
            walk = Walk(socket)
            await walk.send(type="init", world=world, paused=True, pacing="none")
            message = await walk.next()
            while message["type"] not in ("session", "error"):
                message = await walk.next()
            if message["type"] == "error":
                assert message["code"] == "busy" and time.time() < end, message
                await asyncio.sleep(1)
                continue
            assert message["resumed"] and message["next_chunk"] > 1
            await walk.send(type="event", kind="step", payload=1)
            stats = await walk.until("chunk_stats", replayed=False)
            assert stats["chunk_index"] == message["next_chunk"]
            return


async def own_picture_side_by_side(server):
    async with server.walk() as socket:
        walk = Walk(socket)
        await walk.send(
            type="init",
            first_frame=png(80, 60),
            second={"history": "dense"},
            pacing="none",
            paused=True,
            realtime_output_format="raw",
        )
        session = await walk.until("session")
        assert len(session["views"]) == 2 and session["views"][1]["history"] == "dense"
        await walk.send(type="record", action="start", view=-1)
        await walk.until("recording", state="started")
        await walk.send(type="event", kind="step", payload=1)
        width, height = session["size"]
        for view in (0, 1):
            batch = await walk.until("frame_batch", view=view, chunk_index=1)
            assert len(batch["payload"]) == batch["num_frames"] * width * height * 3
        await walk.until("chunk_stats", view=1, chunk_index=1)
        await walk.send(type="record", action="stop")
        recording = await walk.until("recording", state="saved")
        assert server.get(recording["url"])[4:8] == b"ftyp"
        server.get("/v1/videos/" + recording["video"], "DELETE")
        return session["world"]


async def second_memory_in_the_middle(server, world):
    async with server.walk() as socket:
        walk = Walk(socket)
        await walk.send(type="init", world=world, paused=True, pacing="none")
        before = await walk.until("session")
        await walk.send(type="split", second={"history": "dense"}, request_id=1)
        joined = await walk.until("session")
        assert joined["world"] == before["world"] and len(joined["views"]) == 2
        assert joined["next_chunk"] == before["next_chunk"]
        stats = await walk.until("chunk_stats", view=1, replayed=True)
        assert stats["retained_total"] == joined["latents"]
        path = [[0, 0, 0.05 * i, 1, 0, 0, 0] for i in range(1, 21)]
        payload = {"mode": "path", "poses": path}
        await walk.send(type="event", kind="camera_actions", payload=payload)
        await walk.send(type="event", kind="step", payload=1)
        first = await walk.until("chunk_stats", view=0, replayed=False)
        second = await walk.until("chunk_stats", view=1, replayed=False)
        assert first["poses"] == second["poses"]
        await walk.send(type="split", request_id=2)
        assert len((await walk.until("session"))["views"]) == 1


def offline_video(server):
    video = server.get("/v1/videos", "POST", {"seconds": "1", "action": "w-8,left-8"})
    assert video["object"] == "video" and video["status"] == "queued"
    end = time.time() + TIMEOUT
    while video["status"] in ("queued", "in_progress") and time.time() < end:
        time.sleep(0.2)
        video = server.get("/v1/videos/" + video["id"])
    assert video["status"] == "completed", video
    assert server.get(f"/v1/videos/{video['id']}/content")[4:8] == b"ftyp"
    assert server.get("/v1/videos/" + video["id"], "DELETE")["deleted"]


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("--token", default="")
    parser.add_argument("--other", default="")
    options = parser.parse_args()
    server = Server(options.address, options.token)
    assert server.get("/health")["status"] == "ok"
    assert server.get("/v1/models")["data"]
    live, forked, saved = await walk_with_messagepack(server)
    print("MessagePack walk, controls, save, fork, list: good")
    await come_back_with_json(server, forked)
    print("JSON, coming back, errors: good")
    if options.other:
        other = Server(options.other, options.token)
        await go_on_elsewhere(other, saved)
        await go_on_elsewhere(other, live)
        print("worlds of one server go on at another: good")
    split = await own_picture_side_by_side(server)
    print("own picture, raw frames, two views, recording: good")
    await second_memory_in_the_middle(server, split)
    print("a second memory that joins and leaves, a path: good")
    offline_video(server)
    print("offline video: good")
    for world in (live, forked, saved, split):
        end = time.time() + 60  # walks that were just left are held a while
        while True:
            try:
                server.get("/v1/worlds/" + world, "DELETE")
                break
            except urllib.error.HTTPError as error:
                if error.code != 409 or time.time() > end:
                    raise
                time.sleep(1)


if __name__ == "__main__":
    asyncio.run(main())
