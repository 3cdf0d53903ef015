#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the images and videos of this folder with the tools that users make theirs with.

    pip install numpy==2.4.6 pillow==13.0.0 opencv-python-headless==5.0.0.93 av==18.1.0
    python3 make_media.py

`pattern` is written again in the tests; files `expected_*` hold what the named tool makes of a file.
"""
import fractions
import os
import struct
import zlib

import av
import cv2
import numpy as np
from PIL import Image

os.chdir(os.path.dirname(os.path.abspath(__file__)))


def pattern(height, width):
    y, x = np.mgrid[:height, :width]
    return np.stack([x * 5 % 256, y * 7 % 256, (x + y) * 3 % 256], 2).astype(np.uint8)


def photo(height, width):
    """Smooth colours with edges, thin lines and noise: what filters and codecs find hard."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    image = np.stack([255 * x / width, 255 * y / height, 128 + 100 * np.sin(x / 3) * np.cos(y / 5)], 2)
    image[height // 4 : height // 2, width // 4 : width // 2] = (255, 255, 255)
    image[::7, :, :] = (0, 0, 0)
    image += np.random.default_rng(7).normal(0, 12, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def bgr(image):
    return image[:, :, ::-1]


def interlaced(name, image):
    """A PNG in seven passes, which no common Python tool writes."""
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = b"".join(b"\0" + row.tobytes() for y, x, dy, dx in passes for row in image[y::dy, x::dx])

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 2, 0, 0, 1)
    with open(name, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def images():
    cv2.imwrite("opencv.png", bgr(pattern(24, 40)))
    wide = pattern(24, 40).astype(np.uint16) * 257
    cv2.imwrite("opencv_16bit.png", wide[:, :, ::-1])
    cv2.imwrite("opencv_grey.png", pattern(24, 40)[:, :, 0])
    alpha = np.concatenate([pattern(24, 40), np.full((24, 40, 1), 100, np.uint8)], 2)
    Image.fromarray(alpha).save("pil_alpha.png")
    interlaced("interlaced.png", pattern(24, 40))
    assert (np.asarray(Image.open("interlaced.png")) == pattern(24, 40)).all()
    palette = Image.fromarray(pattern(24, 40)).quantize(16)
    palette.save("pil_palette.png", transparency=3)
    palette.convert("RGB").save("expected_pil_palette.png")
    Image.fromarray((pattern(24, 40)[:, :, 0] > 100)).save("pil_1bit.png")
    grey_alpha = np.stack([pattern(24, 40)[:, :, 1], pattern(24, 40)[:, :, 0]], 2)
    Image.fromarray(grey_alpha, "LA").save("pil_grey_alpha.png")

    cv2.imwrite("opencv.jpg", bgr(photo(48, 64)), [cv2.IMWRITE_JPEG_QUALITY, 90])
    cv2.imwrite("expected_opencv_jpg.png", cv2.imread("opencv.jpg"))
    cv2.imwrite("opencv_progressive.jpg", bgr(photo(48, 64)),
                [cv2.IMWRITE_JPEG_QUALITY, 80, cv2.IMWRITE_JPEG_PROGRESSIVE, 1])
    cv2.imwrite("expected_opencv_progressive_jpg.png", cv2.imread("opencv_progressive.jpg"))
    cv2.imwrite("opencv_grey.jpg", photo(48, 64)[:, :, 1])
    cv2.imwrite("expected_opencv_grey_jpg.png", cv2.imread("opencv_grey.jpg"))
    Image.fromarray(photo(48, 64)).convert("CMYK").save("pil_cmyk.jpg", quality=95)
    Image.open("pil_cmyk.jpg").convert("RGB").save("expected_pil_cmyk.png")
    # A camera held upright: stored on its side, to be turned clockwise.
    exif = Image.Exif()
    exif[0x010F] = "camera"
    exif[0x0112] = 6
    Image.fromarray(photo(48, 64)).save("pil_turned.jpg", quality=90, exif=exif)
    cv2.imwrite("expected_opencv_turned.png", cv2.imread("pil_turned.jpg"))


def resizes():
    source = Image.fromarray(photo(50, 70))
    source.save("resize.png")
    for name, method in [("lanczos", Image.LANCZOS), ("bicubic", Image.BICUBIC), ("bilinear", Image.BILINEAR)]:
        for width, height in [(33, 21), (96, 64), (70, 20), (5, 90)]:
            source.resize((width, height), method).save(f"expected_{name}_{width}x{height}.png")


def counted(index, width=64, height=48):
    """Frame `index`: its number in binary as bright blocks along the top, lowest bit left."""
    y, x = np.mgrid[:height, :width]
    image = np.stack([40 + x * 2, 40 + y * 2, 60 + (x + 3 * index) % 64], 2)
    for bit in range(8):
        block = width // 8
        image[: height // 2, bit * block : (bit + 1) * block] = 230 if index >> bit & 1 else 25
    return image.astype(np.uint8)


PATCHES = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (128, 128, 128), (255, 255, 255), (0, 0, 0), (200, 120, 40), (30, 90, 160)]


def patches():
    image = np.zeros((32, 128, 3), np.uint8)
    for i, colour in enumerate(PATCHES):
        image[:, 16 * i : 16 * i + 16] = colour
    return image


def write(name, frames, rate=24, codec="libx264", options=None, times=None, tag=None):
    """`times` are display times in 1/`rate` s. `tag`: (matrix, full range) used and noted in the file."""
    with av.open(name, "w", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream(codec, rate=rate, options=options or {})
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = fractions.Fraction(1, rate)
        if tag:
            matrix, full = tag
            stream.codec_context.colorspace = matrix
            stream.codec_context.color_range = 2 if full else 1
        for i, array in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(array, format="rgb24")
            if tag:
                frame = frame.reformat(format="yuv420p", src_colorspace=matrix, dst_colorspace=matrix,
                                       src_color_range=2, dst_color_range=2 if full else 1)
                frame.colorspace = matrix
                frame.color_range = 2 if full else 1
            frame.pts = times[i] if times else i
            frame.time_base = fractions.Fraction(1, rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def trim(source, target, first, hide=True):
    """Copies from the key frame at or before frame `first` on, without encoding. The frames before
    `first` are marked as not to be shown, or just left in."""
    with av.open(source) as old, av.open(target, "w") as new:
        stream = old.streams.video[0]
        copy = new.add_stream_from_template(stream)
        unit = int(1 / (stream.average_rate * stream.time_base))
        old.seek(first * unit, stream=stream)
        packets = [packet for packet in old.demux(stream) if packet.dts is not None]
        start = first * unit if hide else min(packet.pts for packet in packets)
        for packet in packets:
            packet.pts -= start
            packet.dts -= start
            packet.stream = copy
            new.mux(packet)


def videos():
    numbered = [counted(i) for i in range(60)]
    # Frames that refer to later ones, and key frames at uneven places.
    write("pyav_h264.mp4", numbered, options={"g": "13", "bf": "3", "crf": "20"})
    trim("pyav_h264.mp4", "pyav_trimmed.mp4", 20)
    # Key frames whose leading frames refer to the group before.
    write("pyav_hevc.mp4", numbered, codec="libx265",
          options={"x265-params": "keyint=12:bframes=4:open-gop=1:log-level=none", "crf": "20"})
    # The same without its first groups: leading frames that nothing can decode any more.
    trim("pyav_hevc.mp4", "pyav_hevc_cut.mp4", 30, hide=False)
    write("pyav_vp8.webm", numbered[:40], codec="libvpx", options={"crf": "10", "b": "300k", "g": "20"})
    times = [0, 1, 2, 6, 7, 15, 16, 17, 30, 31]
    write("pyav_variable.mp4", numbered[:10], rate=30, times=times, options={"crf": "20"})
    write("pyav_bt709.mp4", [patches()] * 3, options={"crf": "5"}, tag=(1, False))
    write("pyav_bt601.mp4", [patches()] * 3, options={"crf": "5"}, tag=(5, False))
    write("pyav_bt709_full.mp4", [patches()] * 3, options={"crf": "5"}, tag=(1, True))
    write("pyav_untagged.mp4", [patches()] * 3, options={"crf": "5"})
    for name, code in [("opencv.mp4", "mp4v"), ("opencv.avi", "MJPG")]:
        writer = cv2.VideoWriter(name, cv2.VideoWriter_fourcc(*code), 16, (64, 48))
        for array in numbered[:10]:
            writer.write(bgr(array))
        writer.release()


images()
resizes()
videos()
