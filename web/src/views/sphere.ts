// SPDX-License-Identifier: Apache-2.0
// The panorama around the camera: one dot per direction, in the colour that a retained frame shows
// there. The sphere is seen from behind, so that forward is in the middle and left is left.
import {
  BufferAttribute,
  BufferGeometry,
  Color,
  PerspectiveCamera,
  Points,
  ShaderMaterial,
  Vector3,
} from "three";
import { Line2 } from "three/addons/lines/Line2.js";
import { LineGeometry } from "three/addons/lines/LineGeometry.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";

import { makeView, seenFrom, sphereDirections, type View } from "../core/coverage.js";
import { axis, heading, position, type Pose } from "../core/pose.js";
import type { Thumbnail } from "../session/thumbnails.js";
import type { Palette } from "./palette.js";
import type { MapScene } from "./map.js";
import { Stage3d } from "./stage3d.js";

const kDots = 4096;
const kVertex = `
  attribute vec4 tint;
  uniform float size;
  varying vec4 shade;
  void main() {
    vec4 eye = modelViewMatrix * vec4(position, 1.0);
    // Dots on the near half would hide the others: they are drawn faintly.
    float inner = smoothstep(-0.15, 0.25, dot(normalize(eye.xyz), normalize(normalMatrix * position)));
    shade = vec4(tint.rgb, tint.a * mix(0.05, 1.0, inner));
    gl_PointSize = size * mix(0.45, 1.3, tint.a) * (3.0 / -eye.z);
    gl_Position = projectionMatrix * eye;
  }`;
const kFragment = `
  varying vec4 shade;
  void main() {
    float rim = length(gl_PointCoord - 0.5);
    float alpha = shade.a * (1.0 - smoothstep(0.4, 0.5, rim));
    if (alpha < 0.01) discard;
    gl_FragColor = vec4(shade.rgb, alpha);
  }`;

export class SphereView {
  #stage: Stage3d;
  #camera = new PerspectiveCamera(34, 2, 0.1, 20);
  #directions = sphereDirections(kDots);
  #tints = new Float32Array(4 * kDots);
  #geometry = new BufferGeometry();
  #material: ShaderMaterial;
  #now = outline(3);
  #again = outline(3);
  #palette: Palette;
  #scene: MapScene | null = null;
  #thumbnail: (frame: number) => Thumbnail | undefined;
  #turn = { yaw: 0, pitch: 0 }; // by dragging, added to the direction of the camera

  constructor(
    canvas: HTMLCanvasElement,
    palette: Palette,
    thumbnail: (frame: number) => Thumbnail | undefined,
  ) {
    this.#palette = palette;
    this.#thumbnail = thumbnail;
    this.#stage = new Stage3d(canvas, this.#camera, (_, height) => this.#resize(height));
    const places = new Float32Array(3 * kDots);
    for (let n = 0; n < kDots; n++) places.set(toScenePoint(this.#directions, n), 3 * n);
    this.#geometry.setAttribute("position", new BufferAttribute(places, 3));
    this.#geometry.setAttribute("tint", new BufferAttribute(this.#tints, 4));
    this.#material = new ShaderMaterial({
      vertexShader: kVertex,
      fragmentShader: kFragment,
      uniforms: { size: { value: 4 } },
      transparent: true,
      depthTest: false,
      depthWrite: false,
    });
    this.#stage.scene.add(new Points(this.#geometry, this.#material), this.#now, this.#again);
    this.#drag(canvas);
    this.recolour(palette);
  }

  recolour(palette: Palette): void {
    this.#palette = palette;
    this.#now.material.color.set(palette.camera);
    this.#again.material.color.set(palette.revisited);
    this.#stage.background(palette.background);
    this.#paint();
  }

  /** New thumbnails have arrived. */
  refresh(): void {
    this.#paint();
  }

  update(scene: MapScene): void {
    this.#scene = scene;
    this.#paint();
  }

  clear(): void {
    this.#scene = null;
    this.#turn = { yaw: 0, pitch: 0 };
    this.#paint();
  }

  /** Share of the sphere that retained frames show, 0 to 1. */
  get share(): number {
    return this.#share;
  }
  #share = 0;

  #paint(): void {
    const scene = this.#scene;
    const dim = new Color(this.#palette.faint).convertLinearToSRGB();
    for (let n = 0; n < kDots; n++) this.#tints.set([dim.r, dim.g, dim.b, 0.5], 4 * n);
    this.#now.visible = this.#again.visible = false;
    this.#share = 0;
    if (scene) this.#paintScene(scene);
    (this.#geometry.getAttribute("tint") as BufferAttribute).needsUpdate = true;
    this.#aim();
  }

  #paintScene(scene: MapScene): void {
    // The revisited frame is drawn last, on top of the others.
    const frames = [...scene.retained].sort(
      (a, b) =>
        Number(a.frame === scene.revisited) - Number(b.frame === scene.revisited) ||
        a.frame - b.frame,
    );
    const views = frames.map(({ pose }) => makeView(pose, scene.fov, scene.aspect));
    const seen = seenFrom(position(scene.pose), this.#directions, views);
    this.#share = seen.share;
    const colour = new Color();
    for (let n = 0; n < kDots; n++) {
      const frame = frames[seen.by[n] ?? -1];
      if (!frame) continue;
      const thumbnail = this.#thumbnail(frame.frame);
      if (thumbnail) {
        const [r, g, b] = sample(thumbnail, seen.at[2 * n] ?? 0, seen.at[2 * n + 1] ?? 0);
        colour.setRGB(r, g, b);
      } else colour.set(this.#palette.roles[frame.role]).convertLinearToSRGB();
      this.#tints.set([colour.r, colour.g, colour.b, 1], 4 * n);
    }
    trace(this.#now, makeView(scene.pose, scene.fov, scene.aspect));
    const again = frames.find(({ frame }) => frame === scene.revisited);
    if (again) trace(this.#again, makeView(again.pose, scene.fov, scene.aspect));
  }

  #aim(): void {
    const { yaw, pitch } = this.#scene ? heading(this.#scene.pose) : { yaw: 0, pitch: 0 };
    const a = yaw + this.#turn.yaw;
    const b = 0.35 * pitch + this.#turn.pitch - 0.22; // from a little above
    const ahead = new Vector3(Math.sin(a) * Math.cos(b), Math.sin(b), -Math.cos(a) * Math.cos(b));
    this.#camera.position.copy(ahead).multiplyScalar(-3.6);
    this.#camera.lookAt(0, 0, 0);
    this.#stage.draw();
  }

  #resize(height: number): void {
    this.#material.uniforms.size = {
      value: Math.max(3, height / 30) * Math.min(devicePixelRatio, 2),
    };
  }

  #drag(canvas: HTMLCanvasElement): void {
    canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener("pointermove", (event) => {
      if (!canvas.hasPointerCapture(event.pointerId)) return;
      this.#turn.yaw -= event.movementX * 0.008;
      this.#turn.pitch = Math.max(-1.2, Math.min(1.2, this.#turn.pitch + event.movementY * 0.008));
      this.#aim();
    });
    canvas.addEventListener("dblclick", () => {
      this.#turn = { yaw: 0, pitch: 0 };
      this.#aim();
    });
  }
}

function outline(width: number): Line2 {
  const line = new Line2(
    new LineGeometry(),
    new LineMaterial({ linewidth: width, depthTest: false }),
  );
  line.frustumCulled = false;
  line.renderOrder = 1;
  line.visible = false;
  return line;
}

/** The border of a frame on the sphere. */
function trace(line: Line2, view: View): void {
  const points: number[] = [];
  const sides = 12;
  const rim: [number, number][] = [];
  for (let i = 0; i < sides; i++) rim.push([-1 + (2 * i) / sides, -1]);
  for (let i = 0; i < sides; i++) rim.push([1, -1 + (2 * i) / sides]);
  for (let i = 0; i < sides; i++) rim.push([1 - (2 * i) / sides, 1]);
  for (let i = 0; i <= sides; i++) rim.push([-1, 1 - (2 * i) / sides]);
  for (const [u, v] of rim) points.push(...direction(view.pose, u * view.tanX, v * view.tanY));
  line.geometry.dispose();
  line.geometry = new LineGeometry();
  line.geometry.setPositions(points);
  line.visible = true;
}

function direction(pose: Pose, x: number, y: number): [number, number, number] {
  const [right, down, ahead] = [axis(pose, 0), axis(pose, 1), axis(pose, 2)];
  const out = ahead.map((value, i) => value + x * (right[i] ?? 0) + y * (down[i] ?? 0));
  const length = Math.hypot(...out);
  return [(out[0] ?? 0) / length, -(out[1] ?? 0) / length, -(out[2] ?? 0) / length];
}

function toScenePoint(directions: Float32Array, n: number): [number, number, number] {
  return [directions[3 * n] ?? 0, -(directions[3 * n + 1] ?? 0), -(directions[3 * n + 2] ?? 0)];
}

function sample(
  { pixels, columns, rows }: Thumbnail,
  u: number,
  v: number,
): [number, number, number] {
  const column = Math.min(columns - 1, Math.floor(u * columns));
  const row = Math.min(rows - 1, Math.floor(v * rows));
  const at = 4 * (row * columns + column);
  return [(pixels[at] ?? 0) / 255, (pixels[at + 1] ?? 0) / 255, (pixels[at + 2] ?? 0) / 255];
}
