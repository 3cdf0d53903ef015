// SPDX-License-Identifier: Apache-2.0
// A three.js scene on a canvas. It is drawn only after a change, because the page often shares its
// processor with the model.
import { Color, type PerspectiveCamera, Scene, WebGLRenderer } from "three";

import { fitCanvas } from "../core/dom.js";

export class Stage3d {
  readonly scene = new Scene();
  #renderer: WebGLRenderer | null = null;
  #camera: PerspectiveCamera;
  #canvas: HTMLCanvasElement;
  #pending = false;
  #onResize: (width: number, height: number) => void;

  constructor(
    canvas: HTMLCanvasElement,
    camera: PerspectiveCamera,
    onResize: (width: number, height: number) => void = () => undefined,
  ) {
    this.#canvas = canvas;
    this.#camera = camera;
    this.#onResize = onResize;
    try {
      this.#renderer = new WebGLRenderer({ canvas, antialias: true, powerPreference: "low-power" });
    } catch {
      canvas.dataset.unavailable = "";
    }
    new ResizeObserver(() => this.draw()).observe(canvas);
    canvas.addEventListener("webglcontextrestored", () => this.draw());
  }

  /** False if the browser has no WebGL. */
  get works(): boolean {
    return this.#renderer !== null;
  }

  background(colour: string): void {
    this.scene.background = new Color(colour);
    this.draw();
  }

  /** Draws once at the next refresh of the screen. */
  draw(): void {
    if (this.#pending || !this.#renderer) return;
    this.#pending = true;
    requestAnimationFrame(() => {
      this.#pending = false;
      this.#render();
    });
  }

  #render(): void {
    const renderer = this.#renderer;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (!renderer || width === 0 || height === 0) return; // the panel is collapsed
    if (fitCanvas(this.#canvas)) {
      renderer.setViewport(0, 0, this.#canvas.width, this.#canvas.height);
      this.#camera.aspect = width / height;
      this.#camera.updateProjectionMatrix();
      this.#onResize(width, height);
    }
    renderer.render(this.scene, this.#camera);
  }
}
