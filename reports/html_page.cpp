#include "reports/html_page.h"

#include <fmt/format.h>

#include "reports/run_summary.h"

namespace lsecheck::html {
namespace {

constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--fg:#1a1c1f;--bg:#fff;--soft:#f2f4f7;--line:#d5d9e0;--dim:#5a616b;--bar:#3b6fb6;--good:#1a7f37;--bad:#c62828;--warn:#9a6700}
@media(prefers-color-scheme:dark){:root{--fg:#e4e6ea;--bg:#15181c;--soft:#1f242a;--line:#3a414a;--dim:#9aa3ae;--bar:#6ea3e8;--good:#56c271;--bad:#ff7b72;--warn:#e0b341}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:80rem;padding:1rem;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
h1{margin:.2em 0;font-size:2rem}h2{margin:2rem 0 .5rem;font-size:1.25rem}h3{margin:1rem 0 .3rem;font-size:1rem}
.clean{color:var(--good)}.failed{color:var(--bad)}.nothing{color:var(--warn)}.dim{color:var(--dim)}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th.l,td.l{text-align:left}
th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid var(--bar)}
th[aria-sort=ascending] button::after{content:" \25B2"}th[aria-sort=descending] button::after{content:" \25BC"}
.text{display:inline-block;white-space:normal;width:max-content;max-width:16rem}
small{color:var(--dim)}
.wide:focus-visible,button:focus-visible,summary:focus-visible{outline:2px solid var(--bar)}
.heat td{text-align:center;background:color-mix(in srgb,var(--bar) calc(var(--heat)*1%),transparent)}
.figures{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr))}figure{min-width:0}
article{border-left:3px solid var(--bad);background:var(--soft);padding:.6rem .9rem;margin:.8rem 0}
pre{margin:.3rem 0;white-space:pre-wrap;overflow-wrap:anywhere;font:.85rem/1.45 ui-monospace,monospace}
.copy{display:flex;gap:.5rem;align-items:start;margin:.2rem 0}.copy pre{flex:1;min-width:0}
td .copy{min-width:16rem;max-width:34rem;text-align:left}
.copy button{font:inherit;font-size:.8rem;padding:.1rem .6rem;cursor:pointer}
figure{margin:.8rem 0}figcaption{font-size:.9rem}
figure img{width:100%;height:auto;display:block}
)css";

// Copying falls back to selecting the line where the page has no clipboard (an insecure origin).
constexpr const char* kScript = R"js(
document.addEventListener("click",async e=>{
  const copy=e.target.closest(".copy button"),sort=e.target.closest("th button");
  if(copy){
    const line=copy.previousElementSibling;
    try{await navigator.clipboard.writeText(line.textContent);copy.textContent="copied"}
    catch{getSelection().selectAllChildren(line);copy.textContent="selected"}
    setTimeout(()=>copy.textContent="copy",1500);
  }
  if(sort){
    const th=sort.parentElement,i=th.cellIndex,body=th.closest("table").tBodies[0];
    const up=th.getAttribute("aria-sort")==="descending";
    const key=r=>{const c=r.cells[i];return c.dataset.k===undefined?c.textContent:c.dataset.k==="inf"?Infinity:Number(c.dataset.k)};
    const order=(a,b)=>{const x=key(a),y=key(b);return x<y?-1:x>y?1:0};
    for(const other of th.parentElement.cells)other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort",up?"ascending":"descending");
    body.append(...[...body.rows].sort((a,b)=>up?order(a,b):order(b,a)));
  }
});
)js";

}  // namespace

std::string escape(const std::string& text) {
  std::string safe;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n<main>\n{}\n</main>\n<script>{}</script>\n</body></html>\n",
      escape(title), kStyle, body, kScript);
}

std::string copyable(const std::string& text) {
  return fmt::format("<div class=\"copy\"><pre>{}</pre><button type=\"button\">copy</button></div>", escape(text));
}

std::string table(const std::vector<std::string>& header, const std::vector<std::vector<TableCell>>& rows,
                  std::size_t left_aligned) {
  const auto side = [&](std::size_t column) { return column < left_aligned ? " class=\"l\"" : ""; };
  // A box that scrolls must be reachable by keyboard.
  std::string text = "<div class=\"wide\" tabindex=\"0\"><table><thead><tr>";
  for (std::size_t i = 0; i < header.size(); ++i) {
    text += fmt::format("<th scope=\"col\"{}><button type=\"button\">{}</button></th>", side(i), escape(header[i]));
  }
  text += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string key = row[i].sort_key.empty() ? "" : fmt::format(" data-k=\"{}\"", escape(row[i].sort_key));
      text += fmt::format("<td{}{}>{}</td>", side(i), key, row[i].content);
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace lsecheck::html
