#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the camera paths of this folder with numpy and scipy, independently of the C++ code.

Needs numpy and scipy:  python3 make_fixtures.py

The path: walk 1 m forward in 4 frames, turn right by 90 degrees in 4
frames, walk 0.5 m on in 2 frames, then look up by 20 degrees, rise by 0.3 m and roll clockwise by
10 degrees in 2 frames. 16 frames per second, 640 x 360 pixels, a horizontal field of view of 75
degrees, square pixels.
"""
import json
import math
import pathlib

import numpy as np
from scipy.spatial.transform import Rotation

HERE = pathlib.Path(__file__).parent
FPS, WIDTH, HEIGHT, FOV = 16, 640, 360, 75.0
FOCAL = WIDTH / 2 / math.tan(math.radians(FOV) / 2)

# right, up, forward in metres; yaw to the right, pitch up, roll clockwise in degrees
STEPS = (
    [(0, 0, 0.25 * i, 0, 0, 0) for i in range(5)]
    + [(0, 0, 1, 22.5 * i, 0, 0) for i in range(1, 5)]
    + [(0.25 * i, 0, 1, 90, 0, 0) for i in (1, 2)]
    + [(0.5, 0.15 * i, 1, 90, 10 * i, 5 * i) for i in (1, 2)]
)


def unreal_axes(yaw, pitch, roll):
    """Forward, right and up of an Unreal rotator, in Unreal's x forward, y right, z up."""
    cy, sy = math.cos(math.radians(yaw)), math.sin(math.radians(yaw))
    cp, sp = math.cos(math.radians(pitch)), math.sin(math.radians(pitch))
    cr, sr = math.cos(math.radians(roll)), math.sin(math.radians(roll))
    forward = np.array([cp * cy, cp * sy, sp])
    right = np.array([sr * sp * cy - cr * sy, sr * sp * sy + cr * cy, -sr * cp])
    up = np.array([-(cr * sp * cy + sr * sy), cy * sr - cr * sp * sy, cr * cp])
    return forward, right, up


def opencv_pose(step):
    right, up, forward, yaw, pitch, roll = step
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler("YXZ", [yaw, pitch, roll], degrees=True).as_matrix()
    pose[:3, 3] = right, -up, forward
    # The same from Unreal's axes: (X, Y, Z) there is (Z, X, -Y) here.
    axes = unreal_axes(yaw, pitch, roll)
    to_opencv = np.array([[0, 1, 0], [0, 0, -1], [1, 0, 0]])
    columns = [to_opencv @ axes[1], -(to_opencv @ axes[2]), to_opencv @ axes[0]]
    assert np.allclose(pose[:3, :3], np.stack(columns, 1), atol=1e-12)
    return pose


def opengl_pose(step):
    """c2w with columns right, up, backward in a world of x right, y forward, z up."""
    forward, right, up = unreal_axes(*step[3:])
    world = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])  # from forward, right, up
    pose = np.eye(4)
    pose[:3, :3] = np.stack([world @ right, world @ up, -(world @ forward)], 1)
    pose[:3, 3] = step[0], step[2], step[1]
    return pose


def vector(x, y, z):
    return {"x": float(x), "y": float(y), "z": float(z)}


def mind_frame(index, step, third_person):
    right, up, forward, yaw, pitch, roll = step
    frame = {"time": index, "ws": 1 if 0 < index < 5 else 0, "ad": 0, "ud": 0,
             "lr": 2 if 4 < index < 9 else 0}
    position = vector(100 * forward, 100 * right, 100 * up)
    angles = vector(roll, pitch, yaw)
    if third_person:
        frame["actor_pos"] = vector(100 * forward + 300, 100 * right, 0)
        frame["actor_rpy"] = vector(0, 0, yaw)
        frame["camera_pos"], frame["camera_rpy"] = position, angles
    else:
        frame["actor_pos"], frame["actor_rpy"] = position, angles
    return frame


def write_mind(name, third_person):
    frames = [mind_frame(i, s, third_person) for i, s in enumerate(STEPS)]
    clip = {"mark_time": 5, "total_time": len(frames), "caption": "a test", "data": frames}
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    (folder / "action.json").write_text(json.dumps(clip, indent=1) + "\n")


def text(values):
    return " ".join(f"{v:.12g}" for v in values)


def write_colmap(poses):
    folder = HERE / "colmap"
    folder.mkdir(exist_ok=True)
    (folder / "cameras.txt").write_text(
        "# Camera list with one line of data per camera:\n"
        f"1 PINHOLE {WIDTH} {HEIGHT} {FOCAL!r} {FOCAL!r} {WIDTH / 2} {HEIGHT / 2}\n"
        f"2 SIMPLE_PINHOLE {WIDTH} {HEIGHT} {FOCAL!r} {WIDTH / 2} {HEIGHT / 2}\n")
    lines = ["# Image list with two lines of data per image:",
             "#   IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME",
             "#   POINTS2D[] as (X, Y, POINT3D_ID)"]
    order = np.random.default_rng(1).permutation(len(poses))
    for image_id, i in enumerate(order, 1):
        inverse = np.linalg.inv(poses[i])
        x, y, z, w = Rotation.from_matrix(inverse[:3, :3]).as_quat()
        values = [w, x, y, z, *inverse[:3, 3]]
        lines.append(f"{image_id} {text(values)} {1 + i % 2} frame {i}.jpg")
        lines.append("" if i % 3 else "12.5 13.5 -1 100.25 20 7")
    (folder / "images.txt").write_text("\n".join(lines) + "\n")
    (folder / "points3D.txt").write_text("# 3D point list\n")


def main():
    poses = np.stack([opencv_pose(s) for s in STEPS])
    frames = len(poses)
    matrix = np.array([[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1]])
    vector4 = np.array([FOCAL, FOCAL, WIDTH / 2, HEIGHT / 2])
    norm = [FOCAL / WIDTH, FOCAL / HEIGHT, 0.5, 0.5]

    # The values that every reader must return.
    (HERE / "expected.json").write_text(json.dumps(
        {"fps": FPS, "width": WIDTH, "height": HEIGHT, "fov_deg": FOV,
         "poses": poses[:, :3].reshape(frames, 12).tolist()}) + "\n")

    (HERE / "loci.json").write_text(json.dumps(
        {"x_fov_deg": FOV, "xi": 0.0, "intrinsics_norm": norm,
         "c2w": [np.round(p[:3], 6).tolist() for p in poses[::4]]}) + "\n")
    rows = [f"{round(i * 1e6 / FPS)} {text(norm)} 0 0 {text(np.linalg.inv(p)[:3].ravel())}"
            for i, p in enumerate(poses)]
    (HERE / "re10k.txt").write_text("\n".join(["https://example.com/video", *rows]) + "\n")
    write_colmap(poses)
    rows = []
    for i, p in enumerate(poses):
        rows.append(f"{1305031102 + i / FPS:.6f} {text(p[:3, 3])} "
                    f"{text(Rotation.from_matrix(p[:3, :3]).as_quat())}")
    (HERE / "tum.txt").write_text("\n".join(["# ground truth trajectory", *rows]) + "\n")
    np.savetxt(HERE / "kitti.txt", poses[:, :3].reshape(frames, 12), fmt="%.9e")
    (HERE / "transforms.json").write_text(json.dumps(
        {"camera_model": "OPENCV", "fl_x": FOCAL, "fl_y": FOCAL, "cx": WIDTH / 2,
         "cy": HEIGHT / 2, "w": WIDTH, "h": HEIGHT, "k1": 0.0,
         # not in order of time
         "frames": [{"file_path": f"images/frame_{i}.png",
                     "transform_matrix": opengl_pose(STEPS[i]).tolist()}
                    for i in reversed(range(frames))]}, indent=1) + "\n")
    lingbot = HERE / "lingbot"
    lingbot.mkdir(exist_ok=True)
    np.save(lingbot / "poses.npy", poses.astype(np.float32))
    np.save(lingbot / "intrinsics.npy", np.tile(vector4, (frames, 1)).astype(np.float32))
    np.save(HERE / "sana_pose.npy", np.asfortranarray(poses[:, :3]))
    np.save(HERE / "sana_intrinsics.npy", matrix)
    np.savez_compressed(HERE / "sana.npz", c2w=poses, intrinsics=np.tile(matrix, (frames, 1, 1)),
                        fps=np.int64(FPS), num_frames=np.int64(frames))
    np.savez(HERE / "matrix_game.npz", extrinsics_c2w=poses.astype(np.float32),
             intrinsics=vector4)
    (HERE / "worldplay.json").write_text(json.dumps(
        {str(i): {"extrinsic": p.tolist(), "K": matrix.tolist()}
         for i, p in enumerate(poses[::4])}) + "\n")
    write_mind("mind_first", False)
    write_mind("mind_third", True)


if __name__ == "__main__":
    main()
