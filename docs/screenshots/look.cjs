// Takes one picture of a page: node look.cjs URL FILE WIDTH HEIGHT [light|dark] [SELECTOR]
// HEIGHT is the most; a shorter page gives a shorter picture. With SELECTOR it begins at that element. A page that is wider
// than WIDTH is an error. Speaks to Chromium through pipes (--remote-debugging-pipe), so it needs no package.
const { spawn } = require("node:child_process");
const { mkdtempSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");

const [url, file, width, height, scheme = "light", selector = ""] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "look-"));
const args = ["--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server", "--no-first-run", "--hide-scrollbars"];
const browser = spawn(
    process.env.PHASEGATE_CHROMIUM || "chromium",
    [...args, "--remote-debugging-pipe", `--user-data-dir=${home}`, "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
);
const [, , , to, from] = browser.stdio;
const waiting = new Map();
const events = new Map();
let last = 0;
let rest = "";
from.on("data", (bytes) => {
    const parts = (rest + bytes).split("\0");
    rest = parts.pop();
    for (const told of parts.map((part) => JSON.parse(part))) {
        const done = told.id ? waiting.get(told.id) : events.get(told.method);
        if (done) done(told);
    }
});

function ask(method, params = {}, sessionId) {
    last += 1;
    const id = last;
    to.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => {
        waiting.set(id, (told) => (told.error ? reject(new Error(`${method}: ${told.error.message}`)) : resolve(told.result)));
    });
}

async function look() {
    const { targetId } = await ask("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await ask("Target.attachToTarget", { targetId, flatten: true });
    const page = (method, params) => ask(method, params, sessionId);
    await page("Page.enable");
    const metrics = { width: Number(width), height: 900, deviceScaleFactor: 1, mobile: false };
    await page("Emulation.setDeviceMetricsOverride", metrics);
    await page("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    const loaded = new Promise((resolve) => events.set("Page.loadEventFired", resolve));
    await page("Page.navigate", { url });
    await loaded;
    const measure = `JSON.stringify([document.documentElement.scrollWidth, document.documentElement.scrollHeight,
        ${selector ? `document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().top + scrollY` : 0}])`;
    const { result } = await page("Runtime.evaluate", { expression: measure });
    const [wide, high, top] = JSON.parse(result.value);
    if (wide > Number(width)) throw new Error(`${url} is ${wide} wide on a screen of ${width}`);
    const clip = { x: 0, y: Math.max(0, top - 12), width: Number(width), scale: 1 };
    clip.height = Math.min(Number(height), high - clip.y);
    const { data } = await page("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip });
    writeFileSync(file, Buffer.from(data, "base64"));
}

look()
    .catch((error) => {
        console.error(error.message);
        process.exitCode = 1;
    })
    .finally(() => {
        browser.on("exit", () => {
            try {
                rmSync(home, { recursive: true, force: true, maxRetries: 5 });
            } catch {
                // A child of the browser's still writes there; it is a temporary folder.
            }
        });
        browser.kill();
    });
