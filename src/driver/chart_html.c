/* A placed chart as one HTML page: the SVG, moved with the mouse, and a field that finds operators. */
#include "driver/chart.h"

static const char head[] = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>";
static const char middle[] =
    "</title><style>\n"
    "html,body{margin:0;height:100%;background:#fafbfd;overflow:hidden;font:13px "
    "Helvetica,Arial,sans-serif}\n"
    "#bar{position:fixed;right:16px;top:12px;background:#fff;border:1px solid #c3cedd;border-radius:8px;"
    "padding:6px 10px;box-shadow:0 2px 8px #0001;color:#516072}#bar input{border:1px solid "
    "#c3cedd;border-radius:5px;padding:3px 6px;"
    "margin-right:8px}\n#view{width:100%;height:100%;cursor:grab}#view.drag{cursor:grabbing}#view svg{"
    "width:100%;height:100%}\n.n{cursor:default}.n:hover>rect{stroke-width:2.5}.dim .n{opacity:.25}.dim "
    ".n.hit{opacity:1}\n"
    "#tip{position:fixed;display:none;max-width:420px;background:#1f2a37;color:#fff;border-radius:6px;"
    "padding:8px 10px;"
    "white-space:pre-wrap;font-size:12px;pointer-events:none;z-index:2}\n"
    "</style></head><body><div id=\"bar\"><input id=\"find\" placeholder=\"find\"><span id=\"count\">"
    "wheel: zoom, drag: move, 0: all</span></div><div id=\"tip\"></div><div id=\"view\">\n";
static const char tail[] =
    "</div><script>\n"
    "const "
    "view=document.getElementById('view'),svg=view.querySelector('svg'),tip=document.getElementById('tip');\n"
    "const all=svg.getAttribute('viewBox').split(' ').map(Number);let box=all.slice();\n"
    "svg.removeAttribute('width');svg.removeAttribute('height');svg.setAttribute('preserveAspectRatio','"
    "xMidYMin meet');\n"
    "const show=()=>svg.setAttribute('viewBox',box.join(' '));\n"
    "const scale=()=>Math.max(box[2]/view.clientWidth,box[3]/view.clientHeight);\n"
    "const begin=()=>{box=all.slice();const h=Math.min(all[3],Math.max(all[2]*view.clientHeight/"
    "view.clientWidth,900));box[3]=h;show()};begin();\n"
    "view.onwheel=e=>{e.preventDefault();const k=Math.exp(e.deltaY*.0015),p=new "
    "DOMPoint(e.clientX,e.clientY)."
    "matrixTransform(svg.getScreenCTM().inverse());box[0]=p.x-(p.x-box[0])*k;box[1]=p.y-(p.y-box[1])*k;box[2]"
    "*=k;"
    "box[3]*=k;show()};\n"
    "let "
    "from=null;view.onpointerdown=e=>{from=[e.clientX,e.clientY,box[0],box[1],scale()];view.classList.add('"
    "drag')};\n"
    "window.onpointerup=()=>{from=null;view.classList.remove('drag')};\n"
    "window.onpointermove=e=>{if(from){box[0]=from[2]-(e.clientX-from[0])*from[4];box[1]=from[3]-(e.clientY-"
    "from[1])*"
    "from[4];show()}};\n"
    "const nodes=[...svg.querySelectorAll('.n')];for(const n of nodes){const "
    "t=n.querySelector('title');n.dataset.tip="
    "t?t.textContent:'';if(t)t.remove();n.onpointermove=e=>{if(!n.dataset.tip)return;tip.textContent=n."
    "dataset.tip;"
    "tip.style.display='block';"
    "tip.style.left=Math.min(e.clientX+14,innerWidth-tip.offsetWidth-8)+'px';tip.style.top=Math.min(e."
    "clientY+14,innerHeight-tip.offsetHeight-8)+'px'};n.onpointerleave=()=>tip.style.display='none'}\n"
    "const find=document.getElementById('find');find.oninput=()=>{const "
    "w=find.value.toLowerCase();svg.classList.toggle("
    "'dim',!!w);let c=0;for(const n of nodes){const "
    "hit=!!w&&(n.textContent+n.dataset.tip).toLowerCase().includes(w);"
    "n.classList.toggle('hit',hit);c+=hit}document.getElementById('count').textContent=w?c+' found':"
    "'wheel: zoom, drag: move, 0: all'};\n"
    "window.onkeydown=e=>{if(e.key==='0'&&e.target!==find){box=all.slice();show()}};\n"
    "</script></body></html>\n";

void tn_chart_html(const tn_chart *c, const char *title, tn_buf *out)
{
    tn_buf_str(out, head);
    tn_chart_escape(title, out);
    tn_buf_str(out, middle);
    tn_chart_svg(c, title, out);
    tn_buf_str(out, tail);
}
