//! A Chromium without a window that tests ask about pages: by the protocol of its developer tools, over a pipe.
//!
//! It reaches no host, whatever a page wants. Pages are opened from disk at a width and in light or dark colours; what they ask
//! for and what they say on the console is noted from the beginning on.

use base64::Engine;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Names the browser; where it is set, tests do not go without.
const VARIABLE: &str = "PELOTON_CHROMIUM";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A browser of its own, with an empty profile.
pub struct Chromium {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    last: u64,
    /// What has happened and was not asked for.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// The browser that the environment names, or `chromium`; none, with a word about it, when there is none.
fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Some(named.into());
    }
    let folders = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&folders).map(|folder| folder.join("chromium")).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: there is no chromium to open pages in (install it, or name one in {VARIABLE})");
    }
    found
}

impl Chromium {
    /// Starts one; none where there is none.
    pub fn start() -> Option<Self> {
        let program = program()?;
        let profile = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        // The browser reads commands from its file 3 and writes answers to its file 4.
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"]);
        command.arg(&program).args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--disable-quic",
            "--force-color-profile=srgb",
            "--hide-scrollbars",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.env("HOME", profile.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let (to, answers) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let (mut answers, mut text) = (BufReader::new(answers), Vec::new());
            while answers.read_until(0, &mut text).is_ok_and(|length| length > 0) {
                let answer = serde_json::from_slice(text.strip_suffix(b"\0").unwrap_or(&text));
                if answer.map(|answer| sender.send(answer)).is_err() {
                    break;
                }
                text.clear();
            }
        });
        Some(Self { child, to, from, last: 0, events: Vec::new(), _profile: profile })
    }

    /// Asks the browser, or one of its pages, to do something.
    fn ask(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        self.to.write_all(format!("{command}\0").as_bytes()).expect("the browser listens");
        loop {
            let answer = self.from.recv_timeout(PATIENCE);
            let answer = answer.unwrap_or_else(|e| panic!("chromium does not answer to {method}: {e}"));
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file at a width and height of the window.
    pub fn open(&mut self, file: &Path, size: [u32; 2], dark: bool) -> Tab<'_> {
        let file = file.canonicalize().expect("the page is there");
        self.open_address(&format!("file://{}", file.display()), size, dark)
    }

    /// The same with an address, which may end in a fragment.
    pub fn open_address(&mut self, address: &str, [width, height]: [u32; 2], dark: bool) -> Tab<'_> {
        let target =
            self.ask(None, "Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let session = self.ask(None, "Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        let session = session["sessionId"].as_str().expect("a session").to_string();
        self.events.clear();
        let mut tab = Tab { browser: self, session, target };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.ask(&format!("{domain}.enable"), json!({}));
        }
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        tab.ask("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        tab.ask("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
        tab.ask("Page.navigate", json!({ "url": address }));
        let start = Instant::now();
        let is_ready = |tab: &mut Tab<'_>| {
            let state = tab.evaluate("[location.href, document.readyState]");
            state[0] != "about:blank" && state[1] == "complete"
        };
        while !is_ready(&mut tab) {
            assert!(start.elapsed() < PATIENCE, "{address} does not load");
            std::thread::sleep(Duration::from_millis(20));
        }
        tab
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Its children end when it does, which it does when nobody can command it any more.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A page that is open; closed when dropped.
pub struct Tab<'a> {
    browser: &'a mut Chromium,
    session: String,
    target: Value,
}

impl Tab<'_> {
    /// Has the page do something, by the protocol's name, such as `Input.dispatchMouseEvent`.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.browser.ask(Some(&self.session), method, parameters)
    }

    /// The value of an expression in JavaScript.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// How many elements a selector finds.
    pub fn count(&mut self, selector: &str) -> u64 {
        let found = self.evaluate(&format!("document.querySelectorAll({}).length", json!(selector)));
        found.as_u64().expect("a number")
    }

    /// Presses a button of the mouse and lets go, in pixels of the window.
    pub fn click(&mut self, x: f64, y: f64) {
        for (kind, buttons) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)] {
            let event = json!({
                "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1,
            });
            self.ask("Input.dispatchMouseEvent", event);
        }
    }

    /// Writes a picture of the whole page as PNG.
    pub fn screenshot(&mut self, file: &Path) {
        let picture = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.ask("Page.captureScreenshot", picture);
        let data = answer["data"].as_str().expect("a picture");
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).expect("base64");
        std::fs::write(file, bytes).expect("a file");
    }

    fn noted(&self, method: &str) -> impl Iterator<Item = &Value> {
        self.browser
            .events
            .iter()
            .filter(move |event| event["method"] == method)
            .map(|event| &event["params"])
    }

    /// Addresses that the page has asked for, its own first; `data:` stands for no request.
    pub fn requests(&self) -> Vec<String> {
        let all =
            self.noted("Network.requestWillBeSent").filter_map(|event| event["request"]["url"].as_str());
        all.filter(|address| !address.starts_with("data:")).map(String::from).collect()
    }

    /// Errors and warnings on the console, from scripts and from the browser, and exceptions that nobody caught.
    pub fn problems(&self) -> Vec<String> {
        let said = self.noted("Runtime.consoleAPICalled");
        let said =
            said.filter(|event| matches!(event["type"].as_str(), Some("error" | "warning" | "assert")));
        let logged = self.noted("Log.entryAdded");
        let logged =
            logged.filter(|event| matches!(event["entry"]["level"].as_str(), Some("error" | "warning")));
        let thrown = self.noted("Runtime.exceptionThrown");
        said.chain(logged).chain(thrown).map(Value::to_string).collect()
    }

    /// Checks what every page must be: silent, asking for itself alone, and no wider than its window.
    pub fn check(&mut self) {
        assert_eq!(self.problems(), [""; 0]);
        let requests = self.requests();
        assert!(requests.len() == 1 && requests[0].starts_with("file://"), "{requests:?}");
        let widths = self.evaluate("[document.documentElement.scrollWidth, window.innerWidth]");
        assert!(widths[0].as_f64() <= widths[1].as_f64(), "the page is wider than its window: {widths}");
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let target = self.target.clone();
            self.browser.ask(None, "Target.closeTarget", json!({ "targetId": target }));
        }
    }
}
