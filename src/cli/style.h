// The style sheet of the page, for light and dark mode and for small screens.
#pragma once
#include <cstddef>

namespace tessera::cli {

// The number of axis colours. Further axes start again with the first colour.
inline constexpr size_t kColours = 8;

// It contains no `<` or `>`, so that the page is valid XML.
inline constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1c2024; --quiet: #60656c; --edge: #e0e2e6;
  --soft: #f5f6f8; --bar: #4a7dd6; --lost: #b3471b; --chip: #1c2024;
  --c0: #cfe3ff; --c1: #ffe0b8; --c2: #d1f0c8; --c3: #f9d3e8; --c4: #e4d8ff; --c5: #fbeeaa;
  --c6: #c5eee9; --c7: #ffd4cd; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --text: #e6e8eb; --quiet: #9ba1a8;
  --edge: #2c3136; --soft: #1c2024; --bar: #6c9cf0; --lost: #ff9a6b; --chip: #f4f6f8;
  --c0: #1f4a80; --c1: #704612; --c2: #27602a; --c3: #74305a; --c4: #4f3a8c; --c5: #665614;
  --c6: #175e57; --c7: #7d342a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 110rem; background: var(--back);
  color: var(--text); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { margin: 0 0 0.5rem; font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 0.5rem; font-size: 1.1rem; }
p { margin: 0.25rem 0 0.75rem; color: var(--quiet); }
pre, .why, .row, td, .sums th, .mesh .axis { font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas,
  "DejaVu Sans Mono", monospace; }
.quiet { color: var(--quiet); }
.axis { padding: 0 4px; border-radius: 4px; color: var(--chip); white-space: nowrap; }
.c0 { background: var(--c0); } .c1 { background: var(--c1); } .c2 { background: var(--c2); }
.c3 { background: var(--c3); } .c4 { background: var(--c4); } .c5 { background: var(--c5); }
.c6 { background: var(--c6); } .c7 { background: var(--c7); }
.figures, .totals { display: flex; flex-wrap: wrap; gap: 0.75rem 2.5rem; align-items: flex-start; }
.figure b { display: block; font-size: 1.35rem; font-weight: 600; white-space: nowrap; }
.figure span { color: var(--quiet); }
table { border-collapse: collapse; }
th { text-align: left; font-weight: 500; }
td, th { padding: 0.2rem 1.25rem 0.2rem 0; vertical-align: middle; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.sums { flex: 1 1 20rem; max-width: 40rem; margin-bottom: 1rem; }
.sums caption { text-align: left; color: var(--quiet); padding-bottom: 0.25rem; }
.sums td:last-child { width: 60%; padding-right: 0; }
.scroll { overflow: auto; max-height: 34rem; border: 1px solid var(--edge); border-radius: 8px; }
.events { width: 100%; }
.events th { position: sticky; top: 0; background: var(--soft); color: var(--quiet); }
.events td, .events th { padding: 0.3rem 1.25rem 0.3rem 0.75rem; white-space: nowrap; }
.events tr + tr td { border-top: 1px solid var(--edge); }
.events .wide { width: 30%; min-width: 8rem; }
.track { display: block; height: 8px; border-radius: 4px; background: var(--soft); }
.bar { display: block; height: 8px; min-width: 2px; border-radius: 4px; background: var(--bar); }
.values { border: 1px solid var(--edge); border-radius: 8px; overflow: clip; }
.row { display: grid; gap: 0 1.5ch; padding: 0.3rem 0.75rem; align-items: baseline;
  border-top: 1px solid var(--edge); grid-template-columns: 2ch var(--value) var(--type)
  var(--sharding) minmax(20ch, 1fr) var(--line); }
.row::before { content: ""; color: var(--quiet); }
summary.row::before { content: "\25B8"; }
details[open] summary.row::before { content: "\25BE"; }
.head { position: sticky; top: 0; border-top: 0; background: var(--soft); color: var(--quiet); }
.head span { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  font-weight: 500; }
.row span { overflow-wrap: anywhere; }
.row .op { max-height: 12em; overflow: auto; }
.value { font-weight: 600; }
.line { color: var(--quiet); }
.lost { color: var(--lost); white-space: nowrap; font-size: 11px; }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary:hover, details[open] summary { background: var(--soft); }
summary:focus-visible { outline: 2px solid var(--bar); outline-offset: -2px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.why { padding: 0.4rem 0.75rem 0.8rem 4ch; overflow-wrap: anywhere; background: var(--soft); }
.why div { text-indent: -2ch; }
@media (max-width: 60rem) {
  body { padding: 1rem 0.75rem; }
  .head { display: none; }
  .figures { gap: 0.5rem 1.5rem; }
  .figure b { font-size: 1.1rem; }
  .row { grid-template-columns: 2ch 1fr auto; gap: 0.1rem 1ch; padding: 0.5rem; }
  .row .value { grid-area: 1 / 2; padding-left: 0 !important; }
  .row .type { grid-area: 1 / 3; text-align: right; }
  .row .sharding { grid-area: 2 / 2 / 3 / 4; }
  .row .op { grid-area: 3 / 2; }
  .row .line { grid-area: 3 / 3; text-align: right; }
  .row span:empty { display: none; }
  .why { padding-left: 2ch; }
}
)";

}  // namespace tessera::cli
