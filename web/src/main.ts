// SPDX-License-Identifier: Apache-2.0
import { App } from "./app.js";
import { adoptToken } from "./ui/token.js";

adoptToken();
void new App(document.body).open();
