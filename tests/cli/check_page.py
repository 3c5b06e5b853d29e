"""check_page.py TESSERA CHROMIUM FOLDER: opens pages of `tessera propagate --html` in a headless
Chromium, at the widths of a desktop and a phone, in light and in dark. Checks that nothing is written
to the console, that nothing overflows, that the text can be read, that the search, the keys and the
links work, and that a page of 20 000 ops is quick. Leaves the pages and pictures of them in FOLDER."""
import os
import subprocess
import sys

from browser import Browser

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
CASES = os.path.join(HERE, "..", "stablehlo", "cases")
WIDTHS = {"desktop": (1440, 900), "phone": (390, 844)}
# Milliseconds. Opening is by the clock, which other load stretches; the others are by the processor.
MOST_OPEN, MOST_SEARCH, MOST_SCROLL = 3000, 200, 60

# Text whose contrast with what is behind it is below 4.5, and text that is cut off without dots.
CONTRAST = """(() => {
  const rgb = (text) => { const m = /rgba?\\(([^)]*)\\)/.exec(text)[1].split(/[ ,\\/]+/).map(Number);
    return {c: m.slice(0, 3), a: m[3] ?? 1}; };
  const light = (c) => c.map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const faint = new Set();
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    if (!e.checkVisibility() || e.closest('.unseen, script, style, noscript')) continue;
    let behind = e;
    while (behind && rgb(getComputedStyle(behind).backgroundColor).a === 0) behind = behind.parentElement;
    const back = light(rgb(getComputedStyle(behind || document.body).backgroundColor).c);
    const front = light(rgb(getComputedStyle(e).color).c);
    const ratio = (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05);
    if (ratio < 4.5) faint.add(`${e.tagName}.${e.className} "${e.textContent.slice(0, 20)}" ${ratio.toFixed(1)}`);
  }
  return [...faint].slice(0, 5);
})()"""
# Elements that are wider than the window or than the panel that scrolls them.
OVERFLOW = """(() => {
  const wide = [];
  if (document.documentElement.scrollWidth > innerWidth) wide.push(`page ${document.documentElement.scrollWidth}`);
  for (const e of document.querySelectorAll('.panel, #detail, .head, .tools'))
    if (e.checkVisibility() && e.scrollWidth > e.clientWidth + 1) wide.push(`${e.id || e.className} ${e.scrollWidth} > ${e.clientWidth}`);
  return wide;
})()"""


def big_program(layers):
    """Returns the text of a program of 40 ops per layer and its gradient, with names, lines and scopes."""
    lines = ['mesh @mesh = <["data"=8, "model"=4]> auto={"data", "model"}',
             'func @main(%0: f32[64,256] <@mesh, [{"data"}, {}]>, '
             '%1: f32[256,1024] <@mesh, [{}, {"model"}]>, %2: f32[1024,256] <@mesh, [{"model"}, {}]>)'
             ' -> f32[64,256] {']
    value, x = 2, 0

    def add(shape, op, line, scope, name=""):
        nonlocal value
        value += 1
        lines.append(f"  %{value}: f32[{shape}] = {op} // model.py:{line} [jit(step)/{scope}] {name}".rstrip())
        return value

    for layer in range(layers):
        scope = f"transformer/layer_{layer}/mlp"
        product = " {contract=[1]x[0], batch=[]x[]}"
        h = add("64,1024", f"dot_general %{x}, %1{product}", 12, f"{scope}/up/dot_general", f"up_{layer}")
        for k in range(18):
            h = add("64,1024", f"{'tanh' if k % 2 else 'exp'} %{h}", 13 + k, f"{scope}/act/tanh")
        y = add("64,256", f"dot_general %{h}, %2{product}", 40, f"{scope}/down/dot_general", f"down_{layer}")
        for k in range(19):
            y = add("64,256", f"sin %{y}", 50 + k, f"transformer/layer_{layer}/norm/sin")
        x = add("64,256", f"add %{y}, %{x}", 80, f"transformer/layer_{layer}/add", f"out_{layer}")
    return "\n".join(lines + [f"  return %{x}", "}"]) + "\n"


class Checks:
    def __init__(self, tessera, browser, folder):
        self.tessera, self.browser, self.folder = tessera, browser, folder
        self.passed = self.failed = 0

    def that(self, what, is_so, found=""):
        if is_so:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {what}: {found}", flush=True)

    def page(self, name, program, *options):
        path = os.path.join(self.folder, f"{name}.html")
        subprocess.run([self.tessera, "propagate", program, *options, "--html", path],
                       cwd=PROGRAMS, check=True, stdout=subprocess.DEVNULL)
        return path

    def looks(self, name, path):
        """Every view at each width and in each scheme."""
        for width, size in WIDTHS.items():
            for scheme in ("light", "dark"):
                self.browser.open(path, *size, scheme)
                for view in ("program", "comm", "memory"):
                    what = f"{name}, {width}, {scheme}, {view}"
                    self.browser.click(f"#tab-{view}")
                    self.browser.evaluate(f"document.querySelector('#{view} .row:not(.group)')?.click()")
                    self.browser.screenshot(os.path.join(self.folder, f"{name}_{width}_{scheme}_{view}.png"))
                    overflow, faint = self.browser.evaluate(OVERFLOW), self.browser.evaluate(CONTRAST)
                    self.that(f"{what}: nothing overflows", overflow == [], overflow)
                    self.that(f"{what}: text can be read", faint == [], faint)
                    self.browser.evaluate("document.querySelector('#detail .close').click()")
                errors = self.browser.errors()
                self.that(f"{name}, {width}, {scheme}: nothing is written to the console", errors == [], errors)

    def selected(self):
        return self.browser.evaluate(
            "document.querySelector('.panel:not([hidden]) [aria-selected=true]')?.textContent || ''")

    def works(self, path, query, row, text):
        """Search, keys and links, without a pointer."""
        b = self.browser
        for width, size in WIDTHS.items():
            b.open(path, *size)
            b.press("/", "Slash", "/")
            self.that(f"{width}: / goes to the search", b.evaluate("document.activeElement.id") == "query")
            b.type(query)
            b.press("ArrowDown")
            self.that(f"{width}: the search finds {row}", row in self.selected(), self.selected())
            b.press("Enter")
            detail = b.evaluate("document.getElementById('detail').innerText")
            self.that(f"{width}: details explain", text in detail, detail)
            self.that(f"{width}: details are visible", b.evaluate(
                "document.getElementById('detail').checkVisibility()"))
            link = b.evaluate("document.querySelector('#detail [data-row]')?.textContent || ''")
            b.evaluate("document.querySelector('#detail [data-row]').click()")
            title = b.evaluate("document.querySelector('#detail h2').textContent")
            self.that(f"{width}: a link goes to its value", title and title in link, f"{link} {title}")
            self.that(f"{width}: the list has one active row", b.evaluate(
                "document.getElementById(document.querySelector('#values').getAttribute('aria-activedescendant'))"
                "?.getAttribute('aria-selected')") == "true")
            b.press("Escape")
            b.evaluate("document.getElementById('tab-program').focus()")
            b.press("ArrowRight")
            self.that(f"{width}: arrows change the view", b.evaluate(
                "document.getElementById('comm').checkVisibility()"))
            b.press("ArrowRight")
            before = b.evaluate("document.querySelector('#memory h2').textContent")
            b.evaluate("document.getElementById('step').focus()")
            b.press("Home")
            after = b.evaluate("document.querySelector('#memory h2').textContent")
            self.that(f"{width}: keys change the step", before != after and "step 0" in after, after)
            b.open(path, *size, anchor="#tab=comm&search=nothing_of_that_name")
            self.that(f"{width}: the address has the view and the search",
                      "No collective matches" in b.evaluate("document.getElementById('comm').innerText"))
            b.press("/", "Slash", "/")
            b.press("Escape")
            self.that(f"{width}: Escape clears the search", b.evaluate(
                "document.getElementById('query').value") == "")
            self.that(f"{width}: every control has a name", b.evaluate(
                "[...document.querySelectorAll('button, input')].every((e) => e.textContent.trim() || "
                "e.getAttribute('aria-label') || e.labels?.length)"))
            errors = b.errors()
            self.that(f"{width}: nothing is written to the console", errors == [], errors)

    def without_scripts(self, path):
        for width, size in WIDTHS.items():
            self.browser.open(path, *size, scripts=False)
            text = self.browser.evaluate("document.body.innerText")
            for what in ("sent", "peak memory", "all_reduce", "By line", "arguments"):
                self.that(f"{width}: without scripts there is {what}", what in text, text)
            overflow = self.browser.evaluate(OVERFLOW)
            self.that(f"{width}: without scripts nothing overflows", overflow == [], overflow)
            self.browser.screenshot(os.path.join(self.folder, f"plain_{width}.png"))

    def is_quick(self, path, layers):
        took = "performance.getEntriesByName('tessera:{0}').at(-1).duration"
        b = self.browser

        def search(query):
            b.evaluate(f"document.getElementById('query').value = {query!r}; search()")

        for width, size in WIDTHS.items():
            opening, answered = 1e9, 0
            for _ in range(4):
                b.open(path, *size)
                opening = min(opening, b.evaluate(took.format("open")))
            stretch = max(1, os.getloadavg()[0] / os.cpu_count())
            self.that(f"{width}: the large page opens in {MOST_OPEN} ms", opening < MOST_OPEN * stretch, opening)
            searching = 0
            for query in (f"down_{layers - 1}", "axis:model", "op:dot_general line:model.py:12",
                          "sends:all_reduce", f"scope:layer_{layers - 1}/norm", "e"):
                searching = max(searching, b.milliseconds(lambda: search(query)))
                answered = max(answered, b.evaluate(took.format("search")))
                b.evaluate("document.getElementById('query').focus()")
                b.press("ArrowDown")
                self.that(f"{width}: {query} finds something", self.selected() != "")
            self.that(f"{width}: a search takes less than {MOST_SEARCH} ms", searching < MOST_SEARCH, searching)
            search("")
            b.evaluate("for (const node of nodes) node.open = true; showProgram()")
            # With the frame that shows it.
            scrolling = b.milliseconds(lambda: b.evaluate("""(async () => {
              const panel = document.getElementById('program');
              for (let k = 0; k < 20; ++k) {
                panel.scrollTop = panel.scrollHeight * k / 20;
                await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
              }
            })()""")) / 20
            self.that(f"{width}: a scroll takes less than {MOST_SCROLL} ms", scrolling < MOST_SCROLL, scrolling)
            rows = b.evaluate("document.querySelectorAll('.row').length")
            self.that(f"{width}: only visible rows are in the page", rows < 400, rows)
            self.that(f"{width}: nothing is written to the console", b.errors() == [], b.errors())
            if os.getloadavg()[0] < os.cpu_count():
                self.that(f"{width}: a search is answered in {MOST_SEARCH} ms", answered < MOST_SEARCH, answered)
            print(f"{width}: {os.path.getsize(path) / 1e6:.1f} MB open in {opening:.0f} ms; a search takes "
                  f"{searching:.0f} ms ({answered:.0f} by the clock); a scroll {scrolling:.0f} ms", flush=True)


def main():
    tessera, chromium, folder = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    browser = Browser(chromium)
    try:
        checks = Checks(tessera, browser, folder)
        page = checks.page("mlp", "scopes.mlir")
        checks.works(page, "op:tanh", "tanh", "dim 0 has data")
        checks.without_scripts(page)
        for name, program in {"scopes": "scopes.mlir", "explicit": "explicit.txt", "loop": "loop.txt",
                              "empty": "empty.txt", "no_mesh": "no_mesh.txt", "escapes": "escapes.txt",
                              "reshape": "reshape.txt", "train": "mlp.mlir",
                              "manual": os.path.join(CASES, "form_manual.mlir")}.items():
            checks.looks(name, checks.page(name, program))
        checks.looks("stopped", checks.page("stopped", "mlp.txt", "--stop-after", "basic"))
        layers = 500
        source = os.path.join(folder, "large.txt")
        with open(source, "w", encoding="utf-8") as file:
            file.write(big_program(layers))
        large = checks.page("large", source)
        checks.is_quick(large, layers)
        checks.looks("large", large)
    finally:
        browser.close()
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
