// The look of the page: light and dark by the viewer's setting, narrow and wide, colours that WCAG 2.2 AA accepts.

/** The icon: two shores and the way between them. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="#1f4b7a"/>
<circle cx="8" cy="16" r="4" fill="#fff"/><circle cx="24" cy="16" r="4" fill="#fff"/>
<path d="M8 16 C14 8 18 24 24 16" stroke="#fff" stroke-width="2.5" fill="none"/>
</svg>`;

const COLOURS = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --panel: #ffffff; --edge: #d5dae1; --text: #1b2430; --faint: #566170; --link: #0b5cad;
  --good: #17663a; --good-back: #e0f3e7; --bad: #a3191f; --bad-back: #fde6e7; --warn: #7a4b00; --warn-back: #fdf0d5;
  --calm: #44505f; --calm-back: #e9edf2; --focus: #0b5cad; --bar: #1f3044; --bar-text: #ffffff;
  --c0: #2f6fb3; --c1: #c2571a; --c2: #2e8555; --c3: #8a56b8; --c4: #b8436b; --c5: #207f8c; --c6: #8c7213;
  --c7: #5a6b80;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11161d; --panel: #1a212b; --edge: #354050; --text: #e6ebf2; --faint: #a3afbf; --link: #7db8f5;
    --good: #84dca7; --good-back: #143524; --bad: #ff9da1; --bad-back: #43191c; --warn: #f3c26b; --warn-back: #3d2c0b;
    --calm: #c0cad7; --calm-back: #2b3543; --focus: #7db8f5; --bar: #0b1017; --bar-text: #e6ebf2;
    --c0: #5b9be0; --c1: #e8864a; --c2: #56b784; --c3: #b58ae0; --c4: #e0789b; --c5: #4fb3c1; --c6: #c2a73f;
    --c7: #8fa1b8;
  }
}`;

const FRAME = `
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 28px; padding: 10px 24px;
  background: var(--bar); color: var(--bar-text); }
.brand { font-size: 17px; letter-spacing: .02em; }
nav ul { display: flex; flex-wrap: wrap; gap: 4px; margin: 0; padding: 0; list-style: none; }
nav a { display: block; padding: 6px 14px; border-radius: 6px; color: inherit; text-decoration: none; }
nav a:hover { background: rgb(255 255 255 / 12%); }
nav a[aria-current] { background: rgb(255 255 255 / 20%); font-weight: 600; }
.connection { margin-left: auto; font-size: 13px; }
.connection::before { content: ""; display: inline-block; width: 9px; height: 9px; margin-right: 7px;
  border-radius: 50%; background: #9fb0c3; }
.connection.live::before { background: #5fd08f; }
.connection.lost { padding: 3px 10px; border-radius: 6px; background: #8f1d22; color: #fff; }
.connection.lost::before { background: #fff; }
.skip { position: absolute; left: -999px; padding: 10px; background: var(--panel); color: var(--link); }
.skip:focus { left: 8px; top: 8px; z-index: 1; }
main { max-width: 1240px; margin: 0 auto; padding: 20px 24px 60px; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 4px; }
header :focus-visible { outline-color: #fff; }
h1:focus, main:focus { outline: none; }
h1 { margin: 0 0 12px; font-size: 24px; overflow-wrap: anywhere; }
h2 { margin: 28px 0 10px; font-size: 18px; overflow-wrap: anywhere; }
h3 { font-size: 15px; }
a { color: var(--link); }
.filters { display: flex; flex-wrap: wrap; align-items: end; gap: 10px; margin-bottom: 16px; }
.filters[hidden] { display: none; }
.filters label { display: grid; font-size: 13px; color: var(--faint); }
input, button { min-height: 34px; padding: 4px 10px; border: 1px solid var(--faint); border-radius: 6px;
  background: var(--panel); color: var(--text); font: inherit; }
input { width: 170px; }
.policy input { width: 320px; max-width: 100%; } .policy details { flex-basis: 100%; }
textarea { width: 100%; min-height: 180px; padding: 8px 10px; border: 1px solid var(--faint); border-radius: 6px;
  background: var(--panel); color: var(--text); font: 13px/1.4 ui-monospace, monospace; }
button { cursor: pointer; }
button:hover { border-color: var(--link); }
.filters > a { padding: 6px; }`;

const PARTS = `
.faint { color: var(--faint); }
.summary { margin: 0 0 14px; }
small { color: var(--faint); font-size: 13px; }
.pill { display: inline-block; max-width: 24em; padding: 1px 9px; border-radius: 10px; font-size: 13px;
  font-weight: 600; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; }
.good { background: var(--good-back); color: var(--good); }
.bad { background: var(--bad-back); color: var(--bad); }
.warn { background: var(--warn-back); color: var(--warn); }
.calm { background: var(--calm-back); color: var(--calm); }
.notice, .empty, .card, .scroll, .map { background: var(--panel); border: 1px solid var(--edge); border-radius: 10px; }
.notice { margin: 0 0 14px; overflow-wrap: anywhere; padding: 10px 16px; border-left: 5px solid var(--warn); }
.empty { padding: 24px; text-align: center; }
.empty h2 { margin-top: 0; }
.empty pre { display: inline-block; max-width: 100%; margin: 0; text-align: left; }
.card { margin-bottom: 14px; padding: 4px 20px 10px; }
.card h2 { margin: 10px 0 4px; }
.card p { margin: 6px 0; overflow-wrap: anywhere; }
.big { font-size: 26px; }
.help { padding: 8px 14px; border-radius: 8px; background: var(--good-back); color: var(--good); }
.help p, .help ul { margin: 2px 0; }
pre { overflow: auto; padding: 10px 14px; border-radius: 8px; background: var(--calm-back); }
.log { max-height: 420px; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
caption { position: absolute; left: -9999px; }
th, td { padding: 8px 12px; text-align: left; vertical-align: top; overflow-wrap: break-word; }
time { white-space: nowrap; }
thead th { font-size: 13px; color: var(--faint); font-weight: 600; white-space: nowrap; }
tbody tr { border-top: 1px solid var(--edge); }
tbody th { font-weight: 500; min-width: 130px; }
.buttons { display: flex; gap: 6px; }
dialog { max-width: 34em; padding: 10px 24px 16px; border: 1px solid var(--edge); border-radius: 10px;
  background: var(--panel); color: var(--text); overflow-wrap: anywhere; }
dialog::backdrop { background: rgb(0 0 0 / 45%); }
dialog .filters { margin: 14px 0 0; }
#told > p { margin: 0 0 14px; }
tr.says { border-top: 0; }
tr.says td { padding-top: 0; color: var(--faint); }
td { min-width: 60px; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 0 24px; }
.sides section { min-width: 0; }
.more-pods { margin-top: 14px; }
.sides .scroll, .proposed .scroll { margin-bottom: 14px; }`;

const PICTURES = `
.map { display: block; width: 100%; margin-bottom: 18px; }
.map a { text-decoration: none; }
.map text { fill: var(--text); font-size: 13px; }
.map .name { font-size: 16px; font-weight: 600; }
.map .label { fill: var(--faint); }
.map .strong { fill: var(--warn); font-weight: 600; }
.box { fill: var(--page); stroke: var(--edge); stroke-width: 1.5; }
.box.source { stroke: var(--link); }
.box.lost { stroke: var(--bad); }
.box.cordoned { stroke: var(--warn); stroke-dasharray: 6 4; }
.map a:hover .box { stroke: var(--link); }
.dot.ready { fill: var(--good); } .dot.cordoned { fill: var(--warn); } .dot.lost { fill: var(--bad); }
.line { fill: none; stroke: var(--c0); opacity: .75; }
.line.lost { stroke: var(--bad); stroke-dasharray: 3 6; }
.line.cordoned { stroke: var(--warn); stroke-dasharray: 8 5; }
${ruleForEach(8, (width) => `.w${width} { stroke-width: ${Math.max(1.5, width)}px; }`)}
.bar { display: block; width: 100%; min-width: 160px; height: 12px; margin: 5px 0 3px; border-radius: 4px; }
${ruleForEach(8, (index) => `.c${index} { fill: var(--c${index}); background: var(--c${index}); }`)}
.waits { fill: var(--edge); background: var(--edge); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 0 0 12px; padding: 0; list-style: none;
  font-size: 13px; }
.swatch { display: inline-block; width: 12px; height: 12px; margin-right: 6px; border-radius: 3px;
  vertical-align: -1px; }`;

const WAY = `
.journey { display: flex; margin: 0 0 14px; padding: 18px 8px; list-style: none; overflow-x: auto;
  background: var(--panel); border: 1px solid var(--edge); border-radius: 10px; }
.stage { position: relative; flex: 1 1 0; min-width: 128px; padding: 26px 10px 0; font-size: 13px;
  overflow-wrap: anywhere; }
.stage > * { display: block; }
.stage::before { content: ""; position: absolute; top: 8px; left: 0; right: 0; border-top: 3px solid var(--edge); }
.stage:first-child::before { left: 10px; } .stage:last-child::before { right: calc(100% - 20px); }
.stage.done::before { border-color: var(--good); }
.mark { position: absolute; top: 0; left: 10px; width: 19px; height: 19px; border: 3px solid var(--edge);
  border-radius: 50%; background: var(--panel); }
.done .mark { border-color: var(--good); background: var(--good); }
.now .mark { border-color: var(--link); } .failed .mark { border-color: var(--bad); background: var(--bad); }
.unknown .mark { border-style: dotted; border-color: var(--faint); }
.stage strong { font-size: 14px; }
.where, .at { color: var(--faint); }
.state { font-weight: 600; } .done .state { color: var(--good); } .now .state { color: var(--link); }
.failed .state { color: var(--bad); } .later strong, .later .state { color: var(--faint); font-weight: 400; }
@media (max-width: 760px) {
  header { padding: 10px 14px; } main { padding: 14px 14px 50px; } .map { display: none; }
  .connection { margin-left: 0; } input, .policy input { width: 100%; } .filters label { flex: 1 1 130px; }
  .journey { flex-direction: column; padding: 12px; }
  .stage { flex: none; padding: 0 0 14px 34px; }
  .stage::before { top: 4px; bottom: 0; left: 8px; right: auto; border-top: 0; border-left: 3px solid var(--edge); }
  .stage:first-child::before, .stage:last-child::before { left: 8px; right: auto; }
  .stage:last-child::before { bottom: 50%; } .mark { left: 0; }
}
@media (prefers-reduced-motion: no-preference) { .stage.now .mark { animation: wait 1.6s ease-in-out infinite; } }
@keyframes wait { 50% { background: var(--link); } }`;

/** One rule for each number below `count`. */
function ruleForEach(count: number, rule: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => rule(index)).join('\n');
}

/** The style sheet. */
export const STYLE = [COLOURS, FRAME, PARTS, PICTURES, WAY].join('\n');
