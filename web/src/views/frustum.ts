// SPDX-License-Identifier: Apache-2.0
// A camera in the map: the edges of its frustum and, if there is one, its picture.
import {
  BufferGeometry,
  CanvasTexture,
  DoubleSide,
  Float32BufferAttribute,
  Group,
  LinearFilter,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  SRGBColorSpace,
} from "three";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import { LineSegments2 } from "three/addons/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/addons/lines/LineSegmentsGeometry.js";

import { toScene, type Pose } from "../core/pose.js";
import type { Thumbnail } from "../session/thumbnails.js";

export interface FrustumLook {
  colour: string;
  width: number; // of the edges, in pixels
  opacity: number;
  depth: number; // distance from the camera to the picture in metres
}

/** The edges of the picture, then the edges from its corners to the camera. */
function corners(tanX: number, tanY: number, depth: number): number[][] {
  const [x, y, z] = [tanX * depth, tanY * depth, -depth];
  return [
    [-x, y, z],
    [x, y, z],
    [x, -y, z],
    [-x, -y, z],
  ];
}

export class Frustum {
  readonly group = new Group();
  #edges: LineSegments2;
  #material = new LineMaterial({ transparent: true });
  #plane: Mesh<BufferGeometry, MeshBasicMaterial> | null = null;
  #corners: number[][] = [];
  #shape = "";

  constructor() {
    this.#edges = new LineSegments2(new LineSegmentsGeometry(), this.#material);
    this.group.add(this.#edges);
    this.group.matrixAutoUpdate = false;
  }

  place(pose: Pose): void {
    this.group.matrix = new Matrix4().set(...(toScene(pose) as Parameters<Matrix4["set"]>));
    this.group.matrixWorldNeedsUpdate = true;
  }

  look(look: FrustumLook, tanX: number, tanY: number): void {
    this.#material.color.set(look.colour);
    this.#material.linewidth = look.width;
    this.#material.opacity = look.opacity;
    const shape = [tanX, tanY, look.depth].join();
    if (shape !== this.#shape) {
      this.#shape = shape;
      this.#corners = corners(tanX, tanY, look.depth);
      const points = this.#corners.flatMap((corner, i) => [
        0,
        0,
        0,
        ...corner,
        ...corner,
        ...(this.#corners[(i + 1) % 4] ?? corner),
      ]);
      this.#edges.geometry.dispose();
      this.#edges.geometry = new LineSegmentsGeometry();
      this.#edges.geometry.setPositions(points);
      this.#plane?.geometry.dispose();
      if (this.#plane) this.#plane.geometry = this.#quad();
    }
    if (this.#plane) this.#plane.material.opacity = Math.min(1, look.opacity + 0.1);
  }

  show(thumbnail: Thumbnail | undefined): void {
    if (!thumbnail || this.#plane) return;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [thumbnail.picture.width, thumbnail.picture.height];
    canvas.getContext("2d")?.drawImage(thumbnail.picture, 0, 0);
    const map = new CanvasTexture(canvas);
    map.colorSpace = SRGBColorSpace;
    map.minFilter = LinearFilter;
    map.generateMipmaps = false;
    this.#plane = new Mesh(
      this.#quad(),
      new MeshBasicMaterial({ map, side: DoubleSide, transparent: true }),
    );
    this.group.add(this.#plane);
  }

  dispose(): void {
    this.#edges.geometry.dispose();
    this.#material.dispose();
    this.#plane?.geometry.dispose();
    this.#plane?.material.map?.dispose();
    this.#plane?.material.dispose();
    this.group.removeFromParent();
  }

  #quad(): BufferGeometry {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new Float32BufferAttribute(this.#corners.flat(), 3));
    geometry.setAttribute("uv", new Float32BufferAttribute([0, 1, 1, 1, 1, 0, 0, 0], 2));
    geometry.setIndex([0, 3, 2, 0, 2, 1]);
    return geometry;
  }
}
