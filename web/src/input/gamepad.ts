// SPDX-License-Identifier: Apache-2.0
// Axes of the first connected gamepad: the left stick and the cross walk, the right stick looks.
import { clamp, kStill, withDeadZone, type Axes } from "./axes.js";

/** The part of the Gamepad interface that is used here, in the standard mapping. */
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
  // The function is missing if the page is not a secure context.
  return navigator.getGamepads?.().find((pad) => pad?.connected) ?? null;
}
