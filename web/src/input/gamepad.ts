// SPDX-License-Identifier: Apache-2.0
// The first connected gamepad to axes: left stick and cross walk, right stick looks.
import { clamp, kStill, withDeadZone, type Axes } from "./axes.js";

/** What is needed of a Gamepad in the browser's standard mapping. */
export interface PadState {
  axes: readonly number[];
  buttons: readonly { pressed: boolean }[];
}

export function padAxes(pad: PadState | null): Axes {
  if (!pad) return { ...kStill };
  const axis = (index: number): number => withDeadZone(pad.axes[index] ?? 0);
  const button = (index: number): number => (pad.buttons[index]?.pressed ? 1 : 0);
  return {
    forward: clamp(-axis(1) + button(12) - button(13), -1, 1) || 0,
    right: clamp(axis(0) + button(15) - button(14), -1, 1) || 0,
    yaw: axis(2) || 0,
    pitch: -axis(3) || 0,
  };
}

export function firstPad(): PadState | null {
  // Absent where the page is not a secure context.
  return navigator.getGamepads?.().find((pad) => pad?.connected) ?? null;
}
