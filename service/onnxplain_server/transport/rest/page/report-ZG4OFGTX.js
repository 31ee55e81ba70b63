import{g as d,h as f}from"./chunk-ZVXVHWCA.js";import{A as u,H as p,J as h,u as g,v as c}from"./chunk-ONGUNJFP.js";import"./chunk-COGIFV5U.js";var b=`:root {
  color-scheme: light dark;
  --paper: #f6f7f9;
  --card: #ffffff;
  --ink: #202124;
  --quiet: #5f6368;
  --line: #dfe2e6;
  --accent: #0072b2;
  --caution: #8a4b00;
  --caution-paper: #fff4e2;
}

@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16181c;
    --card: #1f2227;
    --ink: #e8eaed;
    --quiet: #a5abb3;
    --line: #363b43;
    --accent: #6cb8e6;
    --caution: #ffcf8a;
    --caution-paper: #33291a;
  }
}

/* Plots are white paper in dark colours, too. */
figure { color-scheme: light; }

@page { margin: 15mm 12mm; }

@media print {
  :root {
    color-scheme: light;
    --paper: #ffffff;
    --card: #ffffff;
    --ink: #000000;
    --quiet: #444444;
    --line: #cccccc;
    --caution: #8a4b00;
    --caution-paper: #ffffff;
  }
  figure { break-inside: avoid; }
  /* A chart that is taller than a sheet would be cut. */
  .plot img, .plot svg.marks { max-width: 100%; max-height: 85vh; height: auto; }
}
`;var v=`* { box-sizing: border-box; }

body {
  margin: 0 auto;
  max-width: 84rem;
  padding: 1rem 1.5rem 1.75rem;
  background: var(--paper);
  color: var(--ink);
  font: 16px/1.5 system-ui, "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif;
  overflow-wrap: break-word;
}

h1 { margin: 0 0 0.5rem; font-size: 1.9rem; line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 1.4rem 0 1rem; font-size: 1.35rem; line-height: 1.25; }

h3 { margin: 1.25rem 0 0.5rem; font-size: 1rem; line-height: 1.3; }

a { color: var(--accent); text-underline-offset: 0.2em; }
.found { margin: 0 0 0.4rem; max-width: 77rem; }
ul.found { max-width: none; padding-left: 1.5rem; }
.key-figures b + bdi { display: inline-block; max-width: 100%; }
.key-figures { grid-template-columns: repeat(auto-fit, minmax(min(100%, 10rem), 1fr)); gap: 0.75rem; margin-bottom: 0.75rem; }
.key-figures div { padding: 0.6rem 0.9rem; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
.key-figures dd { color: var(--quiet); font-size: 0.85rem; line-height: 1.35; }
.key-figures b { color: var(--ink); font-size: 1.3rem; font-weight: 600; }

nav { margin: 0.75rem 0 0; }
nav ol { display: flex; flex-wrap: wrap; gap: 0.3rem 1.5rem; margin: 0; padding: 0; list-style: none; }
nav a { font-weight: 600; }
.question, .rows { color: var(--quiet); }
.question { margin: -0.75rem 0 1rem; }
.rows { font-size: 0.875rem; }

dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 0.5rem 1.5rem; margin: 0; }
dt { color: var(--quiet); font-size: 0.85rem; }
dd { margin: 0; }

aside {
  margin: 0.9rem 0 0;
  padding: 0.6rem 1.25rem;
  border-left: 4px solid var(--caution);
  border-radius: 0 8px 8px 0;
  background: var(--caution-paper);
}
aside h2 { margin: 0 0 0.25rem; color: var(--caution); font-size: 1rem; }
aside details { display: inline-block; vertical-align: top; max-width: 100%; margin: 0; overflow-wrap: anywhere; }
aside ul { margin: 0; padding-left: 1.2rem; }
code { color: var(--quiet); font-size: 0.85em; }

/* A figure without a neighbour fills its row. */
.figures { display: flex; flex-wrap: wrap; gap: 1.25rem; }
figure {
  flex: 1 1 min(100%, 35rem);
  min-width: 0;
  margin: 0;
  padding: 0.5rem;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: #ffffff; /* plots bring white paper of their own */
}
figure.wide { flex-basis: 100%; }
figure.own-size { flex: 0 1 auto; max-width: 100%; }
/* Two names, to win over the style that the drawing brings. */
figure .plot { display: block; min-height: 4rem; color: #202124; overflow-x: auto; }
.vega-bindings { padding: 0 1rem 0.5rem; font: 0.875rem/1.5 system-ui, "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; }
.vega-bindings label { display: inline-block; max-width: 100%; margin-right: 0.75rem; }
.hint { margin: 0; padding: 0 1rem 0.75rem; color: #5f6368; font-size: 0.875rem; }
figcaption { padding: 0 1rem 0.75rem; max-width: 40rem; color: #5f6368; font-size: 0.875rem; }
/* The drawing says the same in its title; who cannot see it still hears the caption. */
figure.drawn figcaption { position: absolute; width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%); }

/* A wide screen has room for a question beside its title. */
@media screen and (min-width: 60rem) {
  h2:has(+ .question) { display: inline-block; margin-right: 0.75rem; }
  h2 + .question { display: inline; }
}

details { margin-top: 0.8rem; }
.vega-embed details { margin: 0; }
.plot svg.marks { display: block; }
summary { cursor: pointer; color: var(--accent); }
.tables { margin-top: 0.75rem; columns: 2 35rem; column-gap: 1.25rem; }
.broad { column-span: all; }
.table { margin-bottom: 1.25rem; padding: 1rem 1.25rem; break-inside: avoid; border: 1px solid var(--line); border-radius: 10px; background: var(--card); overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
caption { padding-bottom: 0.75rem; text-align: left; }
caption b, caption span { display: block; }
.note, .limit { color: var(--quiet); font-size: 0.875rem; line-height: 1.4; }
.note { margin: 0.5rem 0 0; }
.limit::before { content: "Limit: "; color: var(--caution); }
th { color: var(--quiet); font-size: 0.85rem; font-weight: 500; text-align: left; }
th, td { padding: 0.3rem 1rem 0.3rem 0; border-bottom: 1px solid var(--line); vertical-align: baseline; }
th:last-child, td:last-child { padding-right: 0; }
tbody tr:last-child td { border-bottom: 0; }
.number { text-align: right; }
td.number { white-space: nowrap; }

/* On a phone each number stands below the name of its row, with the title of its column. */
@media (max-width: 40rem) {
  body { padding: 1.5rem 1rem; }
  .table thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .table, .table caption, .table tbody { display: block; }
  .table tr { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: 0.3rem 0; border-bottom: 1px solid var(--line); }
  .table td { padding: 0; border: 0; overflow-wrap: anywhere; }
  .table td:first-child { flex-basis: 100%; font-weight: 500; }
  .table td:not(:first-child)::before { content: attr(data-title) " "; color: var(--quiet); font-size: 0.85rem; white-space: normal; }
  .table td.number { white-space: normal; text-align: left; }
}

.limits { margin-top: 0.8rem; padding: 0.4rem 1.25rem; border-left: 4px solid var(--line); color: var(--quiet); font-size: 0.9rem; }
.limits h3 { margin: 0 0 0.25rem; color: var(--ink); font-size: 0.9rem; }
.limits ul, .remarks, .options { margin: 0; padding-left: 1.2rem; }
.limits ul { columns: 2 30rem; column-gap: 2.5rem; }
details > .figures { margin-top: 0.75rem; }

#receipt { margin-top: 3rem; border-top: 1px solid var(--line); }

footer { margin-top: 3rem; color: var(--quiet); font-size: 0.85rem; }

@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  .table tr, aside, .limits { break-inside: avoid; }
  .figures { display: block; }
  figure { margin-bottom: 1rem; }
  .tables { columns: auto; }
  .table { overflow: visible; }
  caption { break-inside: avoid; }
  h2, h3, caption, .question { break-after: avoid; }
  a { color: inherit; text-decoration: none; }
  .vega-embed details, .vega-bindings, .hint { display: none; }
}
`;var k="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",q=2e6;function W(e){return q-new TextEncoder().encode(z(e)).length}function z(e){let{title:t,notes:r,summary:n,keyFigures:o,warnings:a,sections:l,receipt:s}=e;return`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${k}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="onnxplain">
<title>${i(t)}</title>
<style>
${b}${v}
.plot img { max-width: 100%; height: auto; }
.notes { white-space: pre-wrap; }
</style>
</head>
<body>
<header><h1>${i(t)}</h1>${S(n,o)}</header>
<main>
${r===""?"":`<section><h2>Notes</h2><p class="notes">${i(r)}</p></section>`}
${a.length===0?"":`<aside aria-label="Warnings"><h2>Before you trust the numbers</h2>${m(a)}</aside>`}
${l.map(O).join(`
`)}
<section id="receipt"><h2>How these numbers were made</h2>${m(s)}</section>
</main>
<footer>Made by onnxplain. This page is complete in itself and loads nothing.</footer>
</body>
</html>
`}function S(e,t){let r=e.slice(0,p.leading_sentences),n=e.slice(r.length),a=`${r.map(l=>`<p class="found"><bdi>${i(l)}</bdi></p>`).join("")}${C(t)}`;return n.length===0?a:`${a}<div class="found">${m(n)}</div>`}function C(e){if(e.length===0)return"";let t=e.slice(0,p.most_key_figures).map(({name:o,value:a,unit:l,comparison:s})=>`<div><dt><bdi>${i(o)}</bdi></dt><dd><b>${i(a)}</b> <bdi>${i(l)}</bdi></dd>${s===""?"":`<dd>${i(s)}</dd>`}</div>`),r=h(e),n=r===""?"":`<p class="note">${r}</p>`;return`<dl class="key-figures" aria-label="Key figures">${t.join("")}</dl>${n}`}function O(e){let{title:t,question:r,pictures:n,leftOut:o,tables:a,limits:l}=e,s=o>0?`<p class="note">${o} more charts are left out.</p>`:"";return`<section>
<h2>${i(t)}</h2>
<p class="question">${i(r)}</p>
<div class="figures">${n.map(j).join("")}</div>
${s}
<div class="tables">${a.map(A).join("")}</div>
<div class="limits"><h3>${i(t)}: when not to rely on it</h3>${m(l)}</div>
</section>`}function j({description:e,svg:t}){let r=new TextEncoder().encode(t),n="";for(let a of r)n+=String.fromCharCode(a);return`<figure><div class="plot"><img src="${`data:image/svg+xml;base64,${btoa(n)}`}" alt="${i(e)}"></div></figure>`}function A({title:e,note:t="",columns:r,rows:n}){let o=r.map((s,w)=>`<th scope="col"${n.some(y=>typeof y[w]=="number")?' class="number"':""}>${i(c(s,f))}</th>`).join(""),a=n.slice(0,d).map(s=>`<tr>${s.map(E).join("")}</tr>`).join(`
`),l=n.length>d?`<p class="note">${n.length-d} more rows are left out.</p>`:"";return`<div class="table"><table><caption><b>${i(e)}</b> <span class="note">${i(t)}</span></caption>
<thead><tr>${o}</tr></thead><tbody>${a}</tbody></table>${l}</div>`}function E(e){return typeof e=="string"?`<td><bdi>${i(c(e,f))}</bdi></td>`:`<td class="number">${u(e)}</td>`}function m(e){return`<ul>${e.map(t=>`<li><bdi>${i(t)}</bdi></li>`).join("")}</ul>`}var P={"&":"&amp;","<":"&lt;",">":"&gt;",'"':"&quot;","'":"&#39;"};function i(e){return e.split(`
`).map(t=>g(t).replace(/[&<>"']/g,r=>P[r]??"")).join(`
`)}export{q as LARGEST,z as reportOf,W as roomOf};
