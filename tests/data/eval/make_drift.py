# SPDX-License-Identifier: Apache-2.0
"""Makes drift.json: what OpenCV, scipy and numpy give for the metrics of `loci eval drift`, for tests/eval.

    python make_drift.py

Pictures, features and depth are given by formulas, so that the test can compute them too. Needs numpy, scipy and
opencv-python.
"""

import json
import pathlib

import cv2
import numpy as np
import scipy.linalg
import scipy.ndimage


def picture(height, width, phase, noise):
    """uint8 [height, width, 3]: waves, and a pattern that stands for noise."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    wave = 0.5 + 0.4 * np.sin(0.3 * x + 0.2 * y + c + phase)
    pattern = ((x * 7919 + y * 104729 + c * 1299709) % 97) / 97.0 - 0.5
    return np.clip(np.floor(255 * (wave + noise * pattern)), 0, 255).astype(np.uint8)


def luma(frame):
    return frame.astype(np.float64) @ np.array([0.299, 0.587, 0.114])


def statistics():
    """Sharpness by OpenCV's Laplacian, without the border, and contrast by numpy."""
    cases = []
    for height, width, phase, noise in [(32, 48, 0.1, 0.2), (3, 5, 0.0, 0.05), (40, 20, 1.5, 0.6)]:
        gray = luma(picture(height, width, phase, noise))
        laplacian = cv2.Laplacian(gray, cv2.CV_64F, ksize=1)[1:-1, 1:-1]
        cases.append(
            {
                "height": height,
                "width": width,
                "phase": phase,
                "noise": noise,
                "sharpness": float(laplacian.var()),
                "contrast": float(gray.std()),
            }
        )
    return cases


def features(count, width, phase, scale):
    i, j = np.meshgrid(np.arange(count), np.arange(width), indexing="ij")
    pattern = ((i * 7919 + j * 104729) % 97) / 97.0
    return (1 + scale * np.cos(j)) * np.sin(0.7 * i + 1.3 * j + phase) + pattern


def frechet():
    """With scipy's root of a matrix, and with numpy's symmetric roots where covariances are singular."""
    cases = []
    for count, width, phase in [(40, 6, 0.4), (200, 12, 1.0), (5, 16, 0.3), (2, 3, 0.2)]:
        a, b = features(count, width, 0.0, 0.2), features(count, width, phase, 0.7)
        c, d = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
        if count > width:
            root = scipy.linalg.sqrtm(c @ d).real.trace()
        else:
            values, vectors = np.linalg.eigh(c)
            half = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
            root = np.sqrt(np.clip(np.linalg.eigvalsh(half @ d @ half), 0, None)).sum()
        distance = np.sum((a.mean(0) - b.mean(0)) ** 2) + c.trace() + d.trace() - 2 * root
        cases.append({"count": count, "width": width, "phase": phase, "distance": float(distance)})
    return cases


def rotation(yaw, pitch):
    """Camera to world, OpenCV axes: turns right by yaw, then up by pitch."""
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    about_down = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_right = np.array([[1, 0, 0], [0, cp, -sp], [0, sp, cp]])
    return about_down @ about_right


def depth(height, width, phase):
    """float32 metres along the ray; sky in the upper rows."""
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    far = 3 + np.sin(0.2 * x + phase) + 0.05 * y
    return np.where(y < 6, np.inf, far).astype(np.float32).astype(np.float64)


def flicker():
    """Compensates the motion with scipy's bilinear interpolation."""
    cases = []
    height, width, fov = 32, 48, np.radians(75)
    focal = width / 2 / np.tan(fov / 2)
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    rays = np.stack([(x + 0.5 - width / 2) / focal, (y + 0.5 - height / 2) / focal, np.ones_like(x, float)], -1)
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    before, frame = luma(picture(height, width, 0.0, 0.1)), luma(picture(height, width, 0.2, 0.1))
    for yaw, pitch, step, use_depth in [
        (0, 0, (0, 0, 0), False),
        (0.06, 0.02, (0, 0, 0), False),
        (-0.2, 0.05, (0.1, 0, 0.05), False),
        (0.06, 0.02, (0.1, 0, 0.2), True),
        (1.27, 0, (0, 0, 0), False),
    ]:
        # The earlier camera is the identity.
        turn = rotation(yaw, pitch)
        far = depth(height, width, 0.1)
        sky = ~np.isfinite(far) if use_depth else np.ones_like(far, bool)
        points = np.where(sky[..., None], rays, rays * np.where(sky, 1, far)[..., None]) @ turn.T
        points = np.where(sky[..., None], points, points + np.array(step))
        ahead = points[..., 2] > 1e-6
        depths = np.where(ahead, points[..., 2], 1)
        column = focal * points[..., 0] / depths + width / 2 - 0.5
        row = focal * points[..., 1] / depths + height / 2 - 0.5
        margin = 1e-4  # keeps pixels at the border in spite of rounding errors
        valid = ahead & (column >= -margin) & (column <= width - 1 + margin)
        valid &= (row >= -margin) & (row <= height - 1 + margin)
        if use_depth:
            i = np.clip(np.rint(row), 0, height - 1).astype(int)
            j = np.clip(np.rint(column), 0, width - 1).astype(int)
            shown = depth(height, width, 0.0)[i, j]
            distance = np.linalg.norm(points, axis=-1)
            same = np.abs(np.where(np.isfinite(shown), shown, 1e9) - distance) <= 0.05 * distance + 0.1
            valid &= np.where(sky, np.isinf(shown), same)
        moved = scipy.ndimage.map_coordinates(before, [row, column], order=1, mode="nearest")
        share = float(valid.mean())
        cases.append(
            {
                "yaw": yaw,
                "pitch": pitch,
                "step": step,
                "depth": use_depth,
                "share": share,
                "flicker": float(np.abs(frame - moved)[valid].mean()) if share >= 0.1 else None,
            }
        )
    return cases


target = pathlib.Path(__file__).with_name("drift.json")
target.write_text(json.dumps({"statistics": statistics(), "frechet": frechet(), "flicker": flicker()}, indent=1) + "\n")
