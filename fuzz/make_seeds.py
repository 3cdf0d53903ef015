#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes fuzz/seeds: a few small valid or nearly valid inputs for every target, which the fuzzer mutates.
Most are test fixtures. Needs only Python; run it from any folder."""

import json
import pathlib
import shutil
import struct
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
SEEDS = ROOT / "fuzz" / "seeds"
MOST_BYTES = 20_000


def add(target, name, content):
    if isinstance(content, str):
        content = content.encode()
    assert len(content) <= MOST_BYTES, (target, name, len(content))
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def small(files):
    return sorted(f for f in files if f.is_file() and f.stat().st_size <= MOST_BYTES - 64)


def folder_of(files):
    """Several files in one input, in the format of scratch_files()."""
    return b"\n".join(b"== " + name.encode() + b"\n" + content for name, content in files)


def tensors():
    for file in small((DATA / "io" / "safetensors").glob("*.safetensors")):
        add("safetensors", file.stem, file.read_bytes())
    for file in small((DATA / "io" / "gguf").glob("*.gguf")):
        add("gguf", file.stem, file.read_bytes())
    shards = small((DATA / "io" / "safetensors" / "sharded").iterdir())
    add("shards", "sharded", folder_of((f.name, f.read_bytes()) for f in shards))
    for file in small((DATA / "io" / "pth").iterdir()):
        if zipfile.is_zipfile(file):
            add("pth", file.name, b"\0" + file.read_bytes())
            with zipfile.ZipFile(file) as archive:
                for entry in archive.namelist():
                    if entry.endswith("data.pkl") and "no_checksum" not in entry:
                        add("pickle", file.stem, archive.read(entry))
        else:
            add("pickle", file.stem, file.read_bytes())
    for file in small((DATA / "io" / "npy").iterdir()):
        if file.suffix == ".npy":
            add("npy", file.stem, file.read_bytes())
        else:
            add("npz", file.stem, file.read_bytes())
            add("zip", file.stem, file.read_bytes())


def cameras():
    camera = DATA / "camera"
    # 0: automatic detection; 1 to 12: a fixed format, in the order of formats().
    forced = {"loci.json": 1, "re10k.txt": 2, "tum.txt": 4, "kitti.txt": 5, "transforms.json": 6,
              "sana_pose.npy": 7, "sana.npz": 8, "matrix_game.npz": 9, "worldplay.json": 10}
    for name, choice in forced.items():
        content = (camera / name).read_bytes()
        add("camera", name, b"\0\0" + content)
        add("camera", name + ".forced", bytes([choice, 2]) + content)
    for name in ("mind_first", "mind_third"):
        content = (camera / name / "action.json").read_bytes()
        add("camera", name, b"\0\1" + content)
        add("camera_folder", name, b"\0" + folder_of([("action.json", content)]))
    for name in ("colmap", "lingbot"):
        files = [(f.name, f.read_bytes()) for f in small((camera / name).iterdir())]
        add("camera_folder", name, b"\0" + folder_of(files))
    add("camera_folder", "numpy", b"\2" + folder_of(
        [("poses.npy", (camera / "sana_pose.npy").read_bytes()),
         ("lenses.npy", (camera / "sana_intrinsics.npy").read_bytes())]))
    add("camera_folder", "nerfstudio", b"\0" + folder_of(
        [("transforms.json", (camera / "transforms.json").read_bytes())]))
    for i, keys in enumerate(["w-20", "wd-12,left-8,none-4", "w-1.5s", "up-3,w-0", "j-99999"]):
        add("camera_keys", f"keys{i}", keys)
        add("camera", f"keys{i}", b"\0\0" + keys.encode())


def pictures():
    for file in small((DATA / "io" / "media").glob("*")):
        if file.suffix in (".png", ".jpg") and not file.name.startswith("expected"):
            add("picture", file.name, file.read_bytes())


def configs():
    transformer = {"num_attention_heads": 2, "num_layers": 4, "in_channels": 16, "out_channels": 16,
                   "patch_size": [1, 2, 2], "ffn_dim": 512, "text_dim": 64, "text_len": 8, "freq_dim": 32,
                   "eps": 1e-6, "chunk_size": 5, "hybrid_layers": [1, 2], "camera_attn_compress": 1,
                   "recurrent_memory": "chunk_kda"}
    wan = {"model_type": "ti2v", "dim": 3072, "num_heads": 24, "num_layers": 30, "in_dim": 48,
           "out_dim": 48, "ffn_dim": 14336, "freq_dim": 256, "text_len": 512, "eps": 1e-6}
    vae = {"base_dim": 4, "decoder_base_dim": 4, "z_dim": 3, "dim_mult": [1, 1, 1], "num_res_blocks": 1,
           "temperal_downsample": [True, True], "latents_mean": [0, 0.1, 0.2], "latents_std": [1, 0.9, 1.1]}
    generation = {"width": 192, "height": 128, "fps": 16, "fov": 90, "guidance": 1, "steps": 4,
                  "solver": "euler", "shift": 5, "history": "sparse"}
    stream = {"latent_height": 4, "latent_width": 6, "history": {"kind": "sparse", "budget": 6},
              "solver": {"kind": "euler", "steps": 3}, "guidance": 1, "seed": "42"}
    add("config", "transformer", b"\0" + json.dumps(transformer).encode())
    add("config", "comments", b'\0{ // words\n "num_layers": 2, /* more */ "hybrid_layers": [] }')
    add("config", "wan", b"\0" + json.dumps(wan).encode())
    add("config", "training", b"\0" + json.dumps({"model_kwargs": {"chunk_size": 5}}).encode())
    add("config", "vae", b"\1" + json.dumps(vae).encode())
    add("config", "stream", b"\2" + json.dumps(stream).encode())
    add("config", "generation", b"\3" + json.dumps(generation).encode())
    for i, setting in enumerate(["a.b=5", "x.y.z=[1, 2]", "c=null", "a.b.c=1", "=", "a..b=word"]):
        add("config", f"setting{i}", b"\4" + setting.encode())


def tokenizers():
    add("tokenizer_json", "bytes", (DATA / "model" / "tokenizer_bytes.json").read_bytes() + b"\0a hill")
    unigram = {"version": "1.0", "added_tokens": [{"id": 1, "content": "</s>", "special": True}],
               "normalizer": {"type": "Sequence", "normalizers": [
                   {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
               "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True},
               "post_processor": {"type": "TemplateProcessing",
                                  "single": [{"Sequence": {"id": "A", "type_id": 0}},
                                             {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                                  "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}},
               "model": {"type": "Unigram", "unk_id": 2, "byte_fallback": False,
                         "vocab": [["<pad>", 0], ["</s>", 0], ["<unk>", 0], ["\u2581", -2], ["a", -3],
                                   ["\u2581hill", -4], ["h", -5], ["i", -5], ["l", -5]]}}
    add("tokenizer_json", "unigram", json.dumps(unigram).encode() + b"\0a hill, a hill")
    add("tokenizer_config", "bytes", '{"tokenizer_class": "ByteTokenizer"}')
    add("tokenizer_config", "other", '{"tokenizer_class": "T5Tokenizer", "extra": [1]}')
    # Choices from the tables of targets/tokenizers.cpp. Pieces: count - 1, then per piece the number of
    # fragments, the fragments, the score and whether it matches.
    pieces = bytes([3, 1, 0, 1, 0, 1, 1, 1, 0, 1, 2, 2, 0, 2, 0, 1, 3, 0])  # a, b, ab, ab
    add("unigram", "words", pieces + bytes([3, 12, 0, 1, 0, 1, 1, 0, 0, 2, 2, 26, 4, 0]))
    add("unigram", "unknown", pieces + bytes([0, 6, 0, 9, 14, 1, 15, 2]))
    add("unigram", "low_scores", bytes([1, 1, 0, 7, 0, 1, 1, 6, 0, 1, 8, 0, 1, 0, 0, 1, 0, 1, 0]))
    add("tokenizer_parts", "plain", pieces + bytes([0, 0, 0, 0, 0, 8, 0, 1, 5, 0, 2, 26, 1, 0]))
    add("tokenizer_parts", "all", pieces + bytes([
        1, 3, 0, 1, 1, 1, 1, 0, 1, 9, 2, 1, 7,  # normalizers: Strip, Replace, spaces
        2, 0, 1, 1, 7, 1, 1,  # pre-tokenizers: WhitespaceSplit, Metaspace
        2, 1, 16, 0, 1, 17, 1,  # added tokens: <s>, </s>
        1, 2, 12, 0, 1, 5, 16, 6, 2, 17, 0, 9, 14, 15, 7]) + "a b é".encode())

    def varint(n):
        out = b""
        while True:
            out += bytes([n & 127 | (128 if n > 127 else 0)])
            n >>= 7
            if n == 0:
                return out

    def field(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content

    def piece(text, score, kind):
        return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + varint(kind))

    pieces = piece("<pad>", 0, 3) + piece("</s>", 0, 3) + piece("<unk>", 0, 2)
    for i, text in enumerate(["\u2581", "a", "\u2581hill", "h", "i", "l", "<0x41>"]):
        pieces += piece(text, -1.0 - i, 6 if text == "<0x41>" else 1)
    trainer = field(2, b"\x18\x01" + b"\xc0\x02\x02")
    normal = field(3, field(1, b"identity") + b"\x18\x01\x20\x01\x28\x01")
    add("sentencepiece", "small", pieces + trainer + normal + b"\0a hill")
    add("sentencepiece", "pieces", pieces)
    # One unit and one normalization form; two texts.
    add("charsmap", "tiny", struct.pack("<I", 8) + struct.pack("<II", 0x400, 0x141) + b"a\0|Ab")
    add("charsmap", "empty", b"|\xc3\xa9")
    for i, text in enumerate(["plain", "&amp;amp; \u201cquotes\u201d", "sch\u00c3\u00b6n", "\ufb01\uff21",
                              "\x1b[31mred\x1b[0m \x00 \xff"]):
        add("prompt", f"text{i}", text)


def worlds():
    for i, edits in enumerate([
            "", "meta 0 17\n", "meta 3 nan\nfill 2 nan\n", "drop 4\n", "name 1 main.state.0\n",
            "shape 3 1 2 3\n", "type 2 4\n", "number 5 3 1e30\n", "key 2 other\nmeta 7 \"words\"\n",
            "fill 0 -5\nfill 1 99999\n", "shape 0 0\n", "meta 12 1e308\n"]):
        for history in range(0, 8, 3):
            add("world", f"edits{i}-{history}", bytes([history]) + edits.encode())
        add("world_chunk", f"edits{i}", edits)
    facts = {"version": 1, "id": "world_abcdefghijklmnopqrstuvwxyz", "kind": "live", "name": "", "parent": "",
             "created": 1700000000, "size": [48, 32], "fps": 16, "fov": 75, "guidance": 1, "seed": "42",
             "prompt": "", "chunk_latents": 2, "frames_per_latent": 4,
             "views": [{"model": "tiny", "weights": "00"}]}
    add("world_facts", "facts", json.dumps(facts))


def pack(value):
    """MessagePack for the types that messages use."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return bytes([value]) if 0 <= value < 128 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, bytes):
        return b"\xc5" + struct.pack(">H", len(value)) + value
    if isinstance(value, str):
        raw = value.encode()
        return b"\xda" + struct.pack(">H", len(raw)) + raw
    if isinstance(value, list):
        return b"\xdc" + struct.pack(">H", len(value)) + b"".join(map(pack, value))
    return b"\xde" + struct.pack(">H", len(value)) + b"".join(pack(k) + pack(v) for k, v in value.items())


MESSAGES = {
    "init": {"type": "init", "protocol": 1, "pacing": "none", "max_chunks": 1, "paused": True, "seed": 7},
    "init_views": {"type": "init", "second": {"history": "dense", "readout": "off"}, "size": "48x32",
                   "output_compression": 50, "fps": 8.5, "prompt": ""},
    "init_world": {"type": "init", "world": "world_abcdefghijklmnopqrstuvwxyz"},
    "init_picture": {"type": "init", "first_frame": b"\x89PNG\r\n\x1a\n" + bytes(24)},
    "keys": {"type": "event", "kind": "camera_actions", "event_id": 3,
             "payload": {"mode": "state", "transitions": [{"actions": ["w", "left"], "client_ts_ms": 5}]}},
    "script": {"type": "event", "kind": "camera_actions", "payload": [["w"], ["w", "left"], []]},
    "path": {"type": "event", "kind": "camera_actions",
             "payload": {"mode": "path", "poses": [[0, 0, 0.1, 1, 0, 0, 0]]}},
    "look": {"type": "event", "kind": "camera_actions",
             "payload": {"mode": "state", "transitions": [{"axes": {"forward": 0.5}, "look": [5, -5]}]}},
    "split": {"type": "split", "second": {"history": "dense"}},
    "prompt": {"type": "event", "kind": "prompt", "payload": {"prompt": "a hill"}},
    "steps": {"type": "event", "kind": "steps", "payload": 2},
    "history": {"type": "event", "kind": "history", "payload": {"history": "dense", "view": 0}},
    "readout": {"type": "event", "kind": "readout", "payload": "random"},
    "reset": {"type": "event", "kind": "reset_memory"},
    "step": {"type": "event", "kind": "step", "payload": 1},
    "pause": {"type": "event", "kind": "pause"},
    "save": {"type": "save", "name": "x", "request_id": 1},
    "fork": {"type": "fork", "request_id": "a"},
    "record": {"type": "record", "action": "start"},
    "load": {"type": "load", "world": "world_abcdefghijklmnopqrstuvwxyz"},
    "list": {"type": "list_worlds", "request_id": {"a": [1, 2.5, None, True]}},
    "delete": {"type": "delete_world", "world": "../../etc"},
    "ping": {"type": "ping", "t": 1.25},
}


def server():
    for name, message in MESSAGES.items():
        packed = pack(message)
        add("message", name, b"\0" + packed)
        fresh = name.startswith("init")
        add("session", name, bytes([0 if fresh else 2]) + packed)
        if name != "init_picture":
            text = json.dumps(message).encode()
            add("message", name + ".json", b"\1" + text)
            add("session", name + ".json", bytes([1 if fresh else 3]) + text)
    add("session", "several.json", b"\3" + b"\n\n".join(
        json.dumps(MESSAGES[n]).encode() for n in ("keys", "prompt", "list", "ping")))

    def request(line, body=b"", kind=""):
        head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if body:
            head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body

    lines = ["GET /", "GET /health", "GET /metrics", "GET /schema", "GET /v1/models", "GET /v1/starts",
             "GET /v1/starts/place-town-1/picture", "GET /v1/worlds", "GET /v1/worlds/world_abcdefghijklmnopqrstuvwxyz",
             "DELETE /v1/worlds/world_abcdefghijklmnopqrstuvwxyz", "GET /v1/worlds/world_abcdefghijklmnopqrstuvwxyz/thumbnails/0/3",
             "GET /v1/worlds/world_abcdefghijklmnopqrstuvwxyz/picture", "GET /v1/videos?limit=5&after=v&order=asc", "GET /v1/videos/video_abcdefghijklmnopqrstuvwxyz",
             "DELETE /v1/videos/video_abcdefghijklmnopqrstuvwxyz", "GET /v1/videos/video_abcdefghijklmnopqrstuvwxyz/content?variant=thumbnail",
             "GET /%2e%2e/%00?a=%zz", "PATCH /v1/worlds", "HEAD /index.html"]
    for i, line in enumerate(lines):
        add("http", f"line{i:02}", request(line))
    video = json.dumps({"prompt": "", "seconds": 1, "size": "48x32", "action": "w-8"}).encode()
    add("http", "video", request("POST /v1/videos", video, "application/json"))
    add("http", "rename", request("POST /v1/worlds/world_abcdefghijklmnopqrstuvwxyz", b'{"name": "x"}', "application/json"))
    form = (b'--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\na hill\r\n'
            b'--b\r\nContent-Disposition: form-data; name="picture"; filename="a.png"\r\n'
            b'Content-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n\r\n--b--\r\n')
    add("http", "form", request("POST /v1/videos", form, "multipart/form-data; boundary=b"))
    add("http", "range", b"GET /v1/videos/video_abcdefghijklmnopqrstuvwxyz/content HTTP/1.1\r\nHost: a\r\nRange: bytes=5-,-3\r\n\r\n")
    add("http", "upgrade", b"GET /v1/realtime_video/generate HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Origin: http://evil.example\r\nCookie: loci_token=x\r\nAuthorization: Bearer y\r\n\r\n")
    framing()
    frames()
    add("http", "chunked", b"POST /v1/worlds/a HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"nam\r\n8\r\ne\": \"y\"}\r\n0\r\n\r\n")


def framing():
    """Choices from the tables of targets/connections.cpp. A request: kind, start, number of fields, fields, body."""
    fields, bodies, chunked, smuggled = 40, 24, 19, 20
    another = bytes([0, 0, 0, 0])  # GET /health
    add("http_framing", "two", another + another)
    for field in range(fields):
        add("http_framing", f"field{field:02}", bytes([0, 2, 1, field, smuggled]) + another)
        add("http_framing", f"length_and_field{field:02}", bytes([0, 2, 2, 6, field, 1]) + another)
    for body in range(bodies):
        add("http_framing", f"chunks{body:02}", bytes([0, 2, 1, chunked, body]) + another)
    for end in range(6):
        add("http_framing", f"end{end}", bytes([12, end, 0, 1, 0, 0]) + another)
    add("http_framing", "no_host", bytes([8, 0, 0, 0]))
    add("http_framing", "raw", bytes([0, 0x80 + 21]) + b"GET /%00?a=b HTTP/1.1" + bytes([1, 0x80 + 4]) + b"A: b" + b"\0")


def frames():
    """Choices from the tables of targets/connections.cpp. A frame: opcode, flags, form of the length, payload."""
    text, binary, more, close, ping = 0, 3, 5, 8, 9
    whole, part = 0x1f, 0x1c  # flags: last and masked, masked only
    hello = bytes([text, whole, 0, 0])
    add("websocket_frames", "text", hello + bytes([text, whole, 0, 1]))
    add("websocket_frames", "messagepack", bytes([binary, whole, 0, 5]) + hello)
    add("websocket_frames", "fragments", bytes([text, part, 0, 3, ping, whole, 0, 11, more, whole, 0, 4]) + hello)
    add("websocket_frames", "split_messagepack", bytes([binary, part, 0, 6, more, whole, 0, 7]))
    for form in range(1, 7):
        add("websocket_frames", f"length{form}", bytes([text, whole, form, 0]) + hello)
        add("websocket_frames", f"control_length{form}", bytes([ping, whole, form, 11]) + hello)
    for opcode in range(16):
        add("websocket_frames", f"opcode{opcode:02}", bytes([opcode, whole, 0, 11]) + hello)
        add("websocket_frames", f"within{opcode:02}", bytes([text, part, 0, 3, opcode, whole, 0, 4]) + hello)
    add("websocket_frames", "unmasked", bytes([text, 0x03, 0, 0]) + hello)
    add("websocket_frames", "reserved", bytes([text, 0xff, 0, 0]) + hello)
    for payload in range(12):
        add("websocket_frames", f"payload{payload:02}", bytes([text, whole, 0, payload]) + hello)
    add("websocket_frames", "closed", hello + bytes([close, whole, 0, 11]) + hello)
    add("websocket_frames", "raw", bytes([text, whole, 0, 12, 24]) + b'{"type": "ping", "t": 7}' + hello)


if __name__ == "__main__":
    shutil.rmtree(SEEDS, ignore_errors=True)
    for part in (tensors, cameras, pictures, configs, tokenizers, worlds, server):
        part()
    files = [f for f in SEEDS.rglob("*") if f.is_file()]
    print(f"{len(files)} seeds of {len(list(SEEDS.iterdir()))} targets, {sum(f.stat().st_size for f in files)} bytes")
