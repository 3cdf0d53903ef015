// SPDX-License-Identifier: Apache-2.0
// Movement as axes, independent of the device.

/** Each from -1 to 1: forward, right, turn right, look up. */
export interface Axes {
  forward: number;
  right: number;
  yaw: number;
  pitch: number;
}

export const kStill: Readonly<Axes> = { forward: 0, right: 0, yaw: 0, pitch: 0 };
const kNames = ["forward", "right", "yaw", "pitch"] as const;

export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** The sum over several devices, clamped to -1..1. */
export function combine(sources: readonly Readonly<Axes>[]): Axes {
  const out = { ...kStill };
  for (const name of kNames) {
    const sum = sources.reduce((total, source) => total + source[name], 0);
    out[name] = clamp(sum, -1, 1) || 0; // no -0
  }
  return out;
}

/** Rounded to steps, so that the jitter of a stick causes no messages. */
export function quantise(axes: Readonly<Axes>, steps = 20): Axes {
  const out = { ...kStill };
  for (const name of kNames) out[name] = Math.round(axes[name] * steps) / steps || 0;
  return out;
}

export function sameAxes(a: Readonly<Axes>, b: Readonly<Axes>): boolean {
  return kNames.every((name) => a[name] === b[name]);
}

/** Deflection of a stick: 0 near the middle, then growing smoothly to 1 at the rim. */
export function withDeadZone(value: number, zone = 0.15): number {
  const size = Math.abs(value);
  if (size <= zone) return 0;
  return Math.sign(value) * clamp((size - zone) / (1 - zone), 0, 1);
}

/** A drag of (dx, dy) pixels as the deflection of a stick of this radius: x right, y up. */
export function stick(dx: number, dy: number, radius: number): { x: number; y: number } {
  const length = Math.hypot(dx, dy);
  const scale = length > radius ? radius / length : 1;
  return {
    x: withDeadZone((dx * scale) / radius, 0.12),
    y: withDeadZone((-dy * scale) / radius, 0.12),
  };
}
