// SPDX-License-Identifier: Apache-2.0
import { App } from "./app.js";

void new App(document.body).open();
