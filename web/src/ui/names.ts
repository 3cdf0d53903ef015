// SPDX-License-Identifier: Apache-2.0
// Labels for identifiers of the protocol.

interface Named {
  label: string;
  short: string;
  hint: string;
}

const kHistories: Record<string, Named> = {
  sparse: {
    label: "Panorama bank",
    short: "Bank",
    hint: "first frame, frames that show directions no other frame shows, newest frames",
  },
  pinned: {
    label: "Bank with anchors",
    short: "Anchored",
    hint: "the bank, with early frames that are never replaced",
  },
  dense: {
    label: "Everything (dense)",
    short: "Everything",
    hint: "attends to every earlier frame; grows with the walk",
  },
  window: {
    label: "Sliding window",
    short: "Window",
    hint: "first and newest frames only",
  },
  overlap: {
    label: "Retrieval by overlap",
    short: "Overlap",
    hint: "frames that overlap most with the next view",
  },
  plain_overlap: {
    label: "Retrieval by plain overlap",
    short: "Plain overlap",
    hint: "frames that overlap most with the next view, whatever their distance and origin",
  },
  landmarks: {
    label: "Landmarks",
    short: "Landmarks",
    hint: "frames at the nearest places",
  },
  frustum: {
    label: "Retrieval by view",
    short: "View",
    hint: "the first frames, and frames that overlap with the end of the next chunk",
  },
  content: {
    label: "Retrieval by content",
    short: "Content",
    hint: "frames whose keys match the queries best",
  },
};

export function historyName(id: string): Named {
  return kHistories[id] ?? { label: id, short: id, hint: "" };
}

/** Short names of the memories of a walk: their models if these differ, else their policies. */
export function memoryNames(views: readonly { model: string; history: string }[]): string[] {
  const differ = views.some(({ model }) => model !== views[0]?.model);
  return views.map(({ model, history }) => (differ ? model : historyName(history).short));
}

export const kReadouts: Record<string, string> = {
  on: "State on",
  off: "State off",
  random: "State random",
};

const kReasons: Record<string, string> = {
  idle: "No input for a while. Any key resumes the walk.",
  max_chunks: "The requested number of chunks is complete.",
  storage: "The server's disk is full.",
};

export function pauseReason(reason: string): string {
  return kReasons[reason] ?? "";
}

export function seconds(value: number): string {
  if (value < 60) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${size.toFixed(size >= 10 || unit === 0 ? 0 : 1)} ${units[unit] ?? ""}`;
}

/** "just now", "5 minutes ago", or a date. `then` and `now` are Unix times in seconds. */
export function ago(then: number, now: number): string {
  const passed = Math.max(0, now - then);
  if (passed < 60) return "just now";
  const steps: [number, Intl.RelativeTimeFormatUnit][] = [
    [3600, "minute"],
    [86400, "hour"],
    [7 * 86400, "day"],
  ];
  const sizes: Partial<Record<Intl.RelativeTimeFormatUnit, number>> = {
    minute: 60,
    hour: 3600,
    day: 86400,
  };
  for (const [limit, unit] of steps)
    if (passed < limit)
      return new Intl.RelativeTimeFormat("en").format(
        -Math.floor(passed / (sizes[unit] ?? 1)),
        unit,
      );
  return new Date(then * 1000).toLocaleDateString("en", {
    year: "numeric",
    month: "short",
    day: "numeric",
  });
}
