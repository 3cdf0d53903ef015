// SPDX-License-Identifier: Apache-2.0
// Scales a picture of the user for sending.

/** Longest side in pixels; models use much smaller frames. */
const kLongest = 1280;

/** The size at which a picture is sent. */
export function fitWithin(width: number, height: number, longest = kLongest): [number, number] {
  const scale = Math.min(1, longest / Math.max(width, height, 1));
  return [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
}

/** The picture as an upright JPEG. Throws an error whose message is for the user. */
export async function readPicture(file: Blob): Promise<Blob> {
  const picture = await createImageBitmap(file, { imageOrientation: "from-image" }).catch(() => {
    throw new Error("This file is not a picture that the browser can read.");
  });
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = fitWithin(picture.width, picture.height);
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  const blob = await new Promise<Blob | null>((resolve) =>
    canvas.toBlob(resolve, "image/jpeg", 0.93),
  );
  if (!blob) throw new Error("The browser could not convert this picture.");
  return blob;
}

/** The first picture among dropped or pasted files. */
export function pictureIn(files: FileList | null | undefined): File | null {
  return [...(files ?? [])].find((file) => file.type.startsWith("image/")) ?? null;
}
