// SPDX-License-Identifier: Apache-2.0
// The map: the path from above, the camera, and every retained frame with its picture.
import {
  Box3,
  BufferGeometry,
  Float32BufferAttribute,
  LineBasicMaterial,
  LineSegments,
  PerspectiveCamera,
  Vector3,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Line2 } from "three/addons/lines/Line2.js";
import { LineGeometry } from "three/addons/lines/LineGeometry.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";

import { position, type Pose } from "../core/pose.js";
import type { Thumbnail } from "../session/thumbnails.js";
import type { Retained } from "../session/retained.js";
import { Frustum } from "./frustum.js";
import type { Palette } from "./palette.js";
import { Stage3d } from "./stage3d.js";

export interface MapScene {
  path: readonly Pose[];
  pose: Pose;
  retained: readonly Retained[];
  revisited: number | null;
  fov: number; // degrees
  aspect: number;
}

const kGridCells = 60; // 1 m each
const kTilt = 0.75; // radians from straight above
const kGround = -0.9; // height in metres, relative to the camera of the first frame

export class MapView {
  #stage: Stage3d;
  #camera = new PerspectiveCamera(36, 1, 0.1, 500);
  #controls: OrbitControls;
  #grid = new LineSegments(gridLines(), new LineBasicMaterial());
  #path = new Line2(new LineGeometry(), new LineMaterial({ linewidth: 2.5 }));
  #walker = new Frustum();
  #frusta = new Map<number, Frustum>();
  #palette: Palette;
  #scene: MapScene | null = null;
  #thumbnail: (frame: number) => Thumbnail | undefined;
  #free = false; // the user has rotated or moved the map
  #zoomed = false; // the user has zoomed

  constructor(
    canvas: HTMLCanvasElement,
    palette: Palette,
    thumbnail: (frame: number) => Thumbnail | undefined,
  ) {
    this.#palette = palette;
    this.#thumbnail = thumbnail;
    this.#stage = new Stage3d(canvas, this.#camera);
    this.#controls = new OrbitControls(this.#camera, canvas);
    this.#controls.enableDamping = false;
    this.#controls.zoomToCursor = false;
    this.#controls.maxPolarAngle = 1.45;
    this.#controls.minDistance = 2;
    this.#controls.maxDistance = 120;
    this.#controls.addEventListener("change", () => this.#stage.draw());
    this.#controls.addEventListener("start", () => (this.#free = true));
    canvas.addEventListener("wheel", () => (this.#zoomed = true), { passive: true });
    this.#grid.position.y = kGround;
    this.#path.frustumCulled = false;
    this.#stage.scene.add(this.#grid, this.#path, this.#walker.group);
    this.recentre();
    this.recolour(palette);
  }

  get works(): boolean {
    return this.#stage.works;
  }

  /** Default view: from above and slightly behind the first frame, following the camera. */
  recentre(): void {
    this.#free = this.#zoomed = false;
    this.#controls.target.set(0, 0, 0);
    this.#camera.position.set(0, 9 * Math.cos(kTilt), 9 * Math.sin(kTilt));
    this.#controls.update();
    if (this.#scene) this.update(this.#scene);
    this.#stage.draw();
  }

  /** Straight from above, or tilted. */
  tilt(flat: boolean): void {
    const offset = this.#camera.position.clone().sub(this.#controls.target);
    const distance = offset.length();
    const angle = flat ? 0.001 : kTilt;
    offset.set(0, Math.cos(angle) * distance, Math.sin(angle) * distance);
    this.#camera.position.copy(this.#controls.target).add(offset);
    this.#controls.update();
    this.#stage.draw();
  }

  recolour(palette: Palette): void {
    this.#palette = palette;
    this.#grid.material.color.set(palette.grid);
    this.#path.material.color.set(palette.path);
    this.#stage.background(palette.background);
    if (this.#scene) this.update(this.#scene);
  }

  /** New thumbnails have arrived. */
  refresh(): void {
    for (const [frame, frustum] of this.#frusta) frustum.show(this.#thumbnail(frame));
    this.#stage.draw();
  }

  update(scene: MapScene): void {
    this.#scene = scene;
    this.#drawPath(scene);
    const tanX = Math.tan((Math.min(scene.fov, 150) * Math.PI) / 360);
    const tanY = tanX / scene.aspect;
    if (!this.#free) this.#follow(scene);
    // Pictures grow with the distance, so that they stay recognisable.
    const size = Math.min(
      4,
      Math.max(0.8, this.#camera.position.distanceTo(this.#controls.target) / 9),
    );
    this.#drawFrames(scene, tanX, tanY, size);
    this.#walker.place(scene.pose);
    this.#walker.look(
      { colour: this.#palette.camera, width: 3, opacity: 1, depth: 0.75 * size },
      tanX,
      tanY,
    );
    const [x, , z] = position(scene.pose);
    this.#grid.position.x = Math.round(x);
    this.#grid.position.z = Math.round(-z);
    this.#stage.draw();
  }

  clear(): void {
    for (const frustum of this.#frusta.values()) frustum.dispose();
    this.#frusta.clear();
    this.#scene = null;
    this.recentre();
  }

  #drawPath({ path }: MapScene): void {
    const points = path.flatMap((pose) => {
      const [x, y, z] = position(pose);
      return [x, -y + kGround / 2, -z];
    });
    this.#path.visible = path.length > 1;
    if (path.length < 2) return;
    this.#path.geometry.dispose();
    this.#path.geometry = new LineGeometry();
    this.#path.geometry.setPositions(points);
  }

  #drawFrames({ retained, revisited }: MapScene, tanX: number, tanY: number, size: number): void {
    const present = new Set(retained.map(({ frame }) => frame));
    for (const [frame, frustum] of this.#frusta) {
      if (present.has(frame)) continue;
      frustum.dispose();
      this.#frusta.delete(frame);
    }
    for (const { frame, role, pose, seen } of retained) {
      let frustum = this.#frusta.get(frame);
      if (!frustum) {
        frustum = new Frustum();
        this.#frusta.set(frame, frustum);
        this.#stage.scene.add(frustum.group);
      }
      const chosen = frame === revisited;
      frustum.show(this.#thumbnail(frame));
      frustum.place(pose);
      frustum.look(
        {
          colour: chosen ? this.#palette.revisited : this.#palette.roles[role],
          width: chosen ? 4 : role === "recent" ? 1 : 1.75,
          opacity: chosen ? 1 : role === "recent" ? 0.45 : seen ? 0.9 : 0.55,
          depth: size * (chosen ? 0.75 : role === "recent" ? 0.35 : 0.55),
        },
        tanX,
        tanY,
      );
    }
  }

  #follow({ pose, retained }: MapScene): void {
    const box = new Box3();
    for (const place of [pose, ...retained.map((entry) => entry.pose)]) {
      const [x, y, z] = position(place);
      box.expandByPoint(new Vector3(x, -y, -z));
    }
    const offset = this.#camera.position.clone().sub(this.#controls.target);
    const reach = box.getSize(new Vector3()).length() / 2;
    if (!this.#zoomed) offset.setLength(Math.min(80, 3 * reach + 5));
    box.getCenter(this.#controls.target);
    this.#camera.position.copy(this.#controls.target).add(offset);
    this.#controls.update();
  }
}

/** A grid of 1 m. The lines are short pieces: some drivers drop long lines that pass the camera. */
function gridLines(): BufferGeometry {
  const points: number[] = [];
  const half = kGridCells / 2;
  for (let i = -half; i <= half; i++)
    for (let j = -half; j < half; j++) points.push(i, 0, j, i, 0, j + 1, j, 0, i, j + 1, 0, i);
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new Float32BufferAttribute(points, 3));
  return geometry;
}
