/* Placed charts as one HTML page without anything from outside: the SVGs, moved with the mouse, a field that finds
 * operators, and a panel of kernels. What belongs together in the charts has the same model nodes (data-n): a click on
 * an operator or a kernel marks them in all charts. */
#include "driver/chart.h"

// clang-format off
static const char head[] = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>";
static const char middle[] =
"</title><style>\n"
"html,body{margin:0;height:100%;background:#fafbfd;overflow:hidden;font:13px Helvetica,Arial,sans-serif}\n"
"#bar{position:fixed;z-index:1;right:16px;top:12px;background:#fff;border:1px solid #c3cedd;border-radius:8px;"
"padding:6px 10px;\n"
"box-shadow:0 2px 8px #0001;color:#516072}#bar input{border:1px solid #c3cedd;border-radius:5px;padding:3px 6px;\n"
"margin-right:8px}#bar button,#side b{border:1px solid #c3cedd;border-radius:5px;background:#fff;padding:3px 8px;\n"
"margin-right:6px;cursor:pointer;font:inherit}#bar button.on{background:#dbe7ff}\n"
".view{position:absolute;inset:0;cursor:grab;visibility:hidden}.view.on{visibility:visible}.view.drag{"
"cursor:grabbing}\n"
".view svg{width:100%;height:100%}.n{cursor:default}.n:hover>rect{stroke-width:2.5}\n"
".dim .n{opacity:.25}.dim .n.hit{opacity:1}.n.mark>rect{stroke:#d92d20;stroke-width:3}\n"
"#tip,#info{background:#1f2a37;color:#fff;border-radius:6px;padding:8px 10px;white-space:pre-wrap;font-size:12px}\n"
"#tip{position:fixed;display:none;max-width:420px;pointer-events:none;z-index:2}\n"
"#side{position:fixed;z-index:1;left:12px;top:12px;bottom:12px;width:300px;display:none;overflow:auto;"
"background:#fff;\n"
"border:1px solid #c3cedd;border-radius:8px;box-shadow:0 2px 8px #0001;color:#1f2a37;font-size:12px}\n"
"#side.on{display:block}#info{margin:8px;display:none;overflow-wrap:anywhere}.r{padding:3px 10px;cursor:pointer;\n"
"background-repeat:no-repeat;overflow-wrap:anywhere}.r:hover,.r.mark{outline:2px solid #d92d20;outline-offset:-2px}\n"
"</style></head><body><div id=\"bar\"><span id=\"tabs\"></span><input id=\"find\" placeholder=\"find\">"
"<span id=\"count\"></span></div><div id=\"tip\"></div>"
"<div id=\"side\"><div id=\"info\"></div><div id=\"rows\"></div></div>\n";
static const char views[] =
"<script>\n"
"const $=i=>document.getElementById(i),help='wheel: zoom, drag: move, 0: all',tip=$('tip'),find=$('find');\n"
"const names=s=>(s||'').split(', ').filter(x=>x);let now=0;$('count').textContent=help;\n"
"const views=[...document.querySelectorAll('.view')].map((el,i)=>{const svg=el.querySelector('svg'),\n"
" all=svg.getAttribute('viewBox').split(' ').map(Number),v={el,svg,all,box:all.slice()};\n"
" svg.removeAttribute('width');svg.removeAttribute('height');svg.setAttribute('preserveAspectRatio',"
"'xMidYMin meet');\n"
" v.show=()=>svg.setAttribute('viewBox',v.box.join(' '));\n"
" v.scale=()=>Math.max(v.box[2]/el.clientWidth,v.box[3]/el.clientHeight);\n"
" v.box[3]=Math.min(all[3],Math.max(all[2]*el.clientHeight/el.clientWidth,900));v.show();let from=null;\n"
" el.onwheel=e=>{e.preventDefault();const k=Math.exp(e.deltaY*.0015),b=v.box,\n"
"  p=new DOMPoint(e.clientX,e.clientY).matrixTransform(svg.getScreenCTM().inverse());\n"
"  b[0]=p.x-(p.x-b[0])*k;b[1]=p.y-(p.y-b[1])*k;b[2]*=k;b[3]*=k;v.show()};\n"
" el.onpointerdown=e=>{from=[e.clientX,e.clientY,v.box[0],v.box[1],v.scale()];el.classList.add('drag')};\n"
" window.addEventListener('pointerup',()=>{from=null;el.classList.remove('drag')});\n"
" window.addEventListener('pointermove',e=>{if(!from)return;v.box[0]=from[2]-(e.clientX-from[0])*from[4];\n"
"  v.box[1]=from[3]-(e.clientY-from[1])*from[4];v.show()});\n"
" v.nodes=[...svg.querySelectorAll('.n')];for(const n of v.nodes){const t=n.querySelector('title');\n"
"  n.tip=t?t.textContent:'';if(t)t.remove();n.of=names(n.dataset.n);n.text=(n.textContent+n.tip).toLowerCase();\n"
"  n.onpointermove=e=>{if(!n.tip||from)return;tip.textContent=n.tip;tip.style.display='block';\n"
"   tip.style.left=Math.min(e.clientX+14,innerWidth-tip.offsetWidth-8)+'px';\n"
"   tip.style.top=Math.min(e.clientY+14,innerHeight-tip.offsetHeight-8)+'px'};\n"
"  n.onpointerleave=()=>tip.style.display='none';n.onclick=()=>mark(n.of,n.tip)}\n"
" if(document.querySelectorAll('.view').length>1){const b=document.createElement('button');"
"b.textContent=el.dataset.label;\n"
"  b.onclick=()=>turn(i);$('tabs').append(b);v.tab=b}return v});\n";
static const char marks[] =
"const turn=i=>{now=i;views.forEach((v,k)=>{v.el.classList.toggle('on',k===i);"
"if(v.tab)v.tab.classList.toggle('on',k===i)})};\n"
"const go=n=>{const v=views[now],r=n.querySelector('rect'),[x,y,w,h]=['x','y','width',"
"'height'].map(a=>+r.getAttribute(a)),\n"
" k=Math.max(w*1.6,520),z=Math.max(h*1.4,k*v.el.clientHeight/v.el.clientWidth);\n"
" v.box=[x+w/2-k/2,y-(z-h)/3,k,z];v.show()};\n"
"const mark=(of,text)=>{const s=new Set(of);for(const v of views)for(const n of v.nodes)\n"
" n.classList.toggle('mark',n.of.some(x=>s.has(x)));for(const r of rows)r.el.classList.toggle('mark',"
"r.of.some(x=>s.has(x)));\n"
" $('info').style.display=text?'block':'none';$('info').textContent=text;\n"
" if(text)$('side').classList.add('on')};\n"
"const last=views[views.length-1],sum=times.reduce((a,t)=>a+t[2],0);\n"
"const rows=last.nodes.filter(n=>n.classList.contains('k')).map(n=>{\n"
" const t=times.filter(t=>t[0]===n.dataset.n),us=t.reduce((a,x)=>a+x[2],0);return{n,of:n.of,us,"
"name:t.length?t[0][1]:''}});\n"
"if(sum)rows.sort((a,b)=>b.us-a.us);for(const r of rows){const el=r.el=document.createElement('div'),"
"p=sum?100*r.us/sum:0;\n"
" el.className='r';el.textContent=(sum?r.us.toFixed(1)+' \\u00b5s  '+p.toFixed(1)+' %  ':'')+\n"
"  r.n.querySelector('text').textContent+': '+r.n.dataset.n;el.title=r.name;\n"
" el.style.background=`linear-gradient(to right,#ffe3d6 ${p}%,#fff ${p}%)`;\n"
" if(sum)r.n.querySelector('rect').style.fill=`rgba(224,128,79,${Math.min(.85,p/30)})`;\n"
" el.onclick=()=>{turn(views.length-1);mark(r.of,r.n.tip+(r.name?'\\n'+r.name:''));go(r.n)};$('rows').append(el)}\n"
"if(rows.length&&views.length>1)$('side').classList.add('on');turn(views.length-1);let at=0;\n"
"find.oninput=()=>{const w=find.value.toLowerCase();let c=0;at=0;views.forEach((v,k)=>{"
"v.svg.classList.toggle('dim',!!w);\n"
" v.hits=[];for(const n of v.nodes){const hit=!!w&&n.text.includes(w);n.classList.toggle('hit',hit);"
"if(hit)v.hits.push(n)}\n"
" if(k===now)c=v.hits.length});$('count').textContent=w?c+' found':help};\n"
"find.onkeydown=e=>{const h=views[now].hits;if(e.key==='Enter'&&h&&h.length)go(h[at++%h.length])};\n"
"window.onkeydown=e=>{if(e.key==='0'&&e.target!==find){const v=views[now];v.box=v.all.slice();v.show()}};\n"
"if(location.hash.length>1){find.value=decodeURIComponent(location.hash.slice(1));find.oninput();"
"find.onkeydown({key:'Enter'})}\n"
"document.body.dataset.ready=views.map(v=>v.nodes.length).join(' ')+' '+rows.length;\n"
"</script></body></html>\n";
// clang-format on

/* Text in a script: nothing in it ends the string or the script. */
static void print_string(const char *text, tn_buf *out)
{
    tn_buf_char(out, '"');
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\' || *text == '<')
            tn_buf_printf(out, "\\u%04x", (unsigned char)*text);
        else
            tn_buf_char(out, *text);
    tn_buf_char(out, '"');
}

static void print_times(const tn_chart_page *p, tn_buf *out)
{
    tn_buf_str(out, "<script>const times=[");
    for (uint32_t i = 0; i < p->n_time; i++) {
        tn_buf_str(out, i ? ",\n[" : "[");
        print_string(p->time[i].node, out);
        tn_buf_char(out, ',');
        print_string(p->time[i].kernel, out);
        tn_buf_printf(out, ",%.3f]", p->time[i].microseconds);
    }
    tn_buf_str(out, "]</script>\n");
}

void tn_chart_html(const tn_chart_page *p, tn_buf *out)
{
    tn_buf_str(out, head);
    tn_chart_escape(p->title, out);
    tn_buf_str(out, middle);
    for (int i = 0; i < 2 && p->chart[i]; i++) {
        tn_buf_printf(out, "<div class=\"view\" data-label=\"%s\">\n", p->label[i]);
        tn_chart_svg(p->chart[i], p->title, out);
        tn_buf_str(out, "</div>\n");
    }
    print_times(p, out);
    tn_buf_str(out, views);
    tn_buf_str(out, marks);
}
