// SPDX-License-Identifier: Apache-2.0
// The light or dark theme: the system's setting until the user chooses one.

type Theme = "light" | "dark";
const kKey = "loci-theme";

const systemDark = matchMedia("(prefers-color-scheme: dark)");

/** Access to local storage may be forbidden. */
function stored(): Theme | null {
  try {
    const value = localStorage.getItem(kKey);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null;
  }
}

export function theme(): Theme {
  return stored() ?? (systemDark.matches ? "dark" : "light");
}

export function toggleTheme(): void {
  const next: Theme = theme() === "dark" ? "light" : "dark";
  try {
    if (next === (systemDark.matches ? "dark" : "light")) localStorage.removeItem(kKey);
    else localStorage.setItem(kKey, next);
  } catch {
    document.documentElement.dataset.theme = next;
  }
  dispatchEvent(new Event("loci-theme"));
}

/** Calls `onChange` now and with every change of the theme. */
export function watchTheme(onChange: (theme: Theme) => void): void {
  const apply = (): void => {
    document.documentElement.dataset.theme = theme();
    onChange(theme());
  };
  systemDark.addEventListener("change", apply);
  addEventListener("loci-theme", apply);
  apply();
}
