var parts=(()=>{var ml=Object.defineProperty;var ac=Object.getOwnPropertyDescriptor;var fc=Object.getOwnPropertyNames;var sc=Object.prototype.hasOwnProperty;var cc=(t,e)=>{for(var n in e)ml(t,n,{get:e[n],enumerable:!0})},hc=(t,e,n,r)=>{if(e&&typeof e=="object"||typeof e=="function")for(let i of fc(e))!sc.call(
t,i)&&i!==n&&ml(t,i,{get:()=>e[i],enumerable:!(r=ac(e,i))||r.enumerable});return t};var pc=t=>hc(ml({},"__esModule",{value:!0}),t);var Zg={};cc(Zg,{flamegraph:()=>lf,select:()=>vn,uPlot:()=>Qt});var jr="http://www.w3.org/1999/xhtml",yl={svg:"http://www.w3.org/2000/svg",xhtml:jr,xlink:"http://www.w3.org/1999/xlink",xml:"http://www.w3.org/XML/19\
98/namespace",xmlns:"http://www.w3.org/2000/xmlns/"};function on(t){var e=t+="",n=e.indexOf(":");return n>=0&&(e=t.slice(0,n))!=="xmlns"&&(t=t.slice(n+1)),yl.hasOwnProperty(e)?{space:yl[e],local:t}:t}function dc(t){return function(){var e=this.ownerDocument,n=this.namespaceURI;return n===jr&&e.documentElement.namespaceURI===jr?e.createElement(t):e.
createElementNS(n,t)}}function gc(t){return function(){return this.ownerDocument.createElementNS(t.space,t.local)}}function Xr(t){var e=on(t);return(e.
local?gc:dc)(e)}function mc(){}function wn(t){return t==null?mc:function(){return this.querySelector(t)}}function iu(t){typeof t!="function"&&(t=wn(t));for(var e=this._groups,n=e.length,r=new Array(n),i=0;i<n;++i)for(var l=e[i],o=l.length,a=r[i]=new Array(
o),s,f,g=0;g<o;++g)(s=l[g])&&(f=t.call(s,s.__data__,g,l))&&("__data__"in s&&(f.__data__=s.__data__),a[g]=f);return new Lt(r,this._parents)}function wl(t){return t==null?[]:Array.isArray(t)?t:Array.from(t)}function yc(){return[]}function br(t){return t==null?yc:function(){return this.querySelectorAll(t)}}function wc(t){return function(){return wl(t.apply(this,arguments))}}function lu(t){typeof t=="function"?t=wc(t):t=br(t);for(var e=this._groups,n=e.length,
r=[],i=[],l=0;l<n;++l)for(var o=e[l],a=o.length,s,f=0;f<a;++f)(s=o[f])&&(r.push(t.call(s,s.__data__,f,o)),i.push(s));return new Lt(r,i)}function Mr(t){return function(){return this.matches(t)}}function ti(t){return function(e){return e.matches(t)}}var xc=Array.prototype.find;function vc(t){return function(){return xc.call(this.children,t)}}function _c(){return this.firstElementChild}function ou(t){
return this.select(t==null?_c:vc(typeof t=="function"?t:ti(t)))}var bc=Array.prototype.filter;function Mc(){return Array.from(this.children)}function Sc(t){return function(){return bc.call(this.children,t)}}function uu(t){
return this.selectAll(t==null?Mc:Sc(typeof t=="function"?t:ti(t)))}function au(t){typeof t!="function"&&(t=Mr(t));for(var e=this._groups,n=e.length,r=new Array(n),i=0;i<n;++i)for(var l=e[i],o=l.length,a=r[i]=[],s,f=0;f<
o;++f)(s=l[f])&&t.call(s,s.__data__,f,l)&&a.push(s);return new Lt(r,this._parents)}function ei(t){return new Array(t.length)}function fu(){return new Lt(this._enter||this._groups.map(ei),this._parents)}function Sr(t,e){this.ownerDocument=t.ownerDocument,this.namespaceURI=t.namespaceURI,
this._next=null,this._parent=t,this.__data__=e}Sr.prototype={constructor:Sr,appendChild:function(t){return this._parent.insertBefore(t,this._next)},insertBefore:function(t,e){
return this._parent.insertBefore(t,e)},querySelector:function(t){return this._parent.querySelector(t)},querySelectorAll:function(t){return this._parent.
querySelectorAll(t)}};function su(t){return function(){return t}}function kc(t,e,n,r,i,l){for(var o=0,a,s=e.length,f=l.length;o<f;++o)(a=e[o])?(a.__data__=l[o],r[o]=a):n[o]=new Sr(t,l[o]);for(;o<s;++o)(a=e[o])&&(i[o]=
a)}function Ac(t,e,n,r,i,l,o){var a,s,f=new Map,g=e.length,p=l.length,m=new Array(g),v;for(a=0;a<g;++a)(s=e[a])&&(m[a]=v=o.call(s,s.__data__,a,e)+"",f.
has(v)?i[a]=s:f.set(v,s));for(a=0;a<p;++a)v=o.call(t,l[a],a,l)+"",(s=f.get(v))?(r[a]=s,s.__data__=l[a],f.delete(v)):n[a]=new Sr(t,l[a]);for(a=0;a<g;++a)
(s=e[a])&&f.get(m[a])===s&&(i[a]=s)}function Nc(t){return t.__data__}function cu(t,e){if(!arguments.length)return Array.from(this,Nc);var n=e?Ac:kc,r=this.
_parents,i=this._groups;typeof t!="function"&&(t=su(t));for(var l=i.length,o=new Array(l),a=new Array(l),s=new Array(l),f=0;f<l;++f){var g=r[f],p=i[f],
m=p.length,v=Ec(t.call(g,g&&g.__data__,f,r)),M=v.length,S=a[f]=new Array(M),C=o[f]=new Array(M),F=s[f]=new Array(m);n(g,p,S,C,F,v,e);for(var b=0,O=0,k,
W;b<M;++b)if(k=S[b]){for(b>=O&&(O=b+1);!(W=C[O])&&++O<M;);k._next=W||null}}return o=new Lt(o,r),o._enter=a,o._exit=s,o}function Ec(t){return typeof t==
"object"&&"length"in t?t:Array.from(t)}function hu(){return new Lt(this._exit||this._groups.map(ei),this._parents)}function pu(t,e,n){var r=this.enter(),i=this,l=this.exit();return typeof t=="function"?(r=t(r),r&&(r=r.selection())):r=r.append(t+""),e!=null&&(i=e(i),
i&&(i=i.selection())),n==null?l.remove():n(l),r&&i?r.merge(i).order():i}function du(t){for(var e=t.selection?t.selection():t,n=this._groups,r=e._groups,i=n.length,l=r.length,o=Math.min(i,l),a=new Array(i),s=0;s<o;++s)for(var f=n[s],
g=r[s],p=f.length,m=a[s]=new Array(p),v,M=0;M<p;++M)(v=f[M]||g[M])&&(m[M]=v);for(;s<i;++s)a[s]=n[s];return new Lt(a,this._parents)}function gu(){for(var t=this._groups,e=-1,n=t.length;++e<n;)for(var r=t[e],i=r.length-1,l=r[i],o;--i>=0;)(o=r[i])&&(l&&o.compareDocumentPosition(l)^4&&
l.parentNode.insertBefore(o,l),l=o);return this}function mu(t){t||(t=Tc);function e(p,m){return p&&m?t(p.__data__,m.__data__):!p-!m}for(var n=this._groups,r=n.length,i=new Array(r),l=0;l<r;++l){for(var o=n[l],
a=o.length,s=i[l]=new Array(a),f,g=0;g<a;++g)(f=o[g])&&(s[g]=f);s.sort(e)}return new Lt(i,this._parents).order()}function Tc(t,e){return t<e?-1:t>e?1:
t>=e?0:NaN}function yu(){var t=arguments[0];return arguments[0]=this,t.apply(null,arguments),this}function wu(){return Array.from(this)}function xu(){for(var t=this._groups,e=0,n=t.length;e<n;++e)for(var r=t[e],i=0,l=r.length;i<l;++i){var o=r[i];if(o)return o}return null}function vu(){let t=0;for(let e of this)++t;return t}function _u(){return!this.node()}function bu(t){for(var e=this._groups,n=0,r=e.length;n<r;++n)for(var i=e[n],l=0,o=i.length,a;l<o;++l)(a=i[l])&&t.call(a,a.__data__,l,i);return this}function Cc(t){return function(){this.removeAttribute(t)}}function Dc(t){return function(){this.removeAttributeNS(t.space,t.local)}}function Pc(t,e){return function(){
this.setAttribute(t,e)}}function Lc(t,e){return function(){this.setAttributeNS(t.space,t.local,e)}}function Ic(t,e){return function(){var n=e.apply(this,
arguments);n==null?this.removeAttribute(t):this.setAttribute(t,n)}}function Rc(t,e){return function(){var n=e.apply(this,arguments);n==null?this.removeAttributeNS(
t.space,t.local):this.setAttributeNS(t.space,t.local,n)}}function Mu(t,e){var n=on(t);if(arguments.length<2){var r=this.node();return n.local?r.getAttributeNS(
n.space,n.local):r.getAttribute(n)}return this.each((e==null?n.local?Dc:Cc:typeof e=="function"?n.local?Rc:Ic:n.local?Lc:Pc)(n,e))}function ni(t){return t.ownerDocument&&t.ownerDocument.defaultView||t.document&&t||t.defaultView}function Oc(t){return function(){this.style.removeProperty(t)}}function zc(t,e,n){return function(){this.style.setProperty(t,e,n)}}function Hc(t,e,n){
return function(){var r=e.apply(this,arguments);r==null?this.style.removeProperty(t):this.style.setProperty(t,r,n)}}function Su(t,e,n){return arguments.
length>1?this.each((e==null?Oc:typeof e=="function"?Hc:zc)(t,e,n??"")):un(this.node(),t)}function un(t,e){return t.style.getPropertyValue(e)||ni(t).getComputedStyle(
t,null).getPropertyValue(e)}function Fc(t){return function(){delete this[t]}}function Vc(t,e){return function(){this[t]=e}}function qc(t,e){return function(){var n=e.apply(this,arguments);
n==null?delete this[t]:this[t]=n}}function ku(t,e){return arguments.length>1?this.each((e==null?Fc:typeof e=="function"?qc:Vc)(t,e)):this.node()[t]}function Au(t){return t.trim().split(/^|\s+/)}function xl(t){return t.classList||new Nu(t)}function Nu(t){this._node=t,this._names=Au(t.getAttribute("\
class")||"")}Nu.prototype={add:function(t){var e=this._names.indexOf(t);e<0&&(this._names.push(t),this._node.setAttribute("class",this._names.join(" ")))},
remove:function(t){var e=this._names.indexOf(t);e>=0&&(this._names.splice(e,1),this._node.setAttribute("class",this._names.join(" ")))},contains:function(t){
return this._names.indexOf(t)>=0}};function Eu(t,e){for(var n=xl(t),r=-1,i=e.length;++r<i;)n.add(e[r])}function Tu(t,e){for(var n=xl(t),r=-1,i=e.length;++r<
i;)n.remove(e[r])}function $c(t){return function(){Eu(this,t)}}function Bc(t){return function(){Tu(this,t)}}function Wc(t,e){return function(){(e.apply(
this,arguments)?Eu:Tu)(this,t)}}function Cu(t,e){var n=Au(t+"");if(arguments.length<2){for(var r=xl(this.node()),i=-1,l=n.length;++i<l;)if(!r.contains(
n[i]))return!1;return!0}return this.each((typeof e=="function"?Wc:e?$c:Bc)(n,e))}function Yc(){this.textContent=""}function Gc(t){return function(){this.textContent=t}}function Uc(t){return function(){var e=t.apply(this,arguments);
this.textContent=e??""}}function Du(t){return arguments.length?this.each(t==null?Yc:(typeof t=="function"?Uc:Gc)(t)):this.node().textContent}function Kc(){this.innerHTML=""}function Zc(t){return function(){this.innerHTML=t}}function Qc(t){return function(){var e=t.apply(this,arguments);this.
innerHTML=e??""}}function Pu(t){return arguments.length?this.each(t==null?Kc:(typeof t=="function"?Qc:Zc)(t)):this.node().innerHTML}function Jc(){this.nextSibling&&this.parentNode.appendChild(this)}function Lu(){return this.each(Jc)}function jc(){this.previousSibling&&this.parentNode.insertBefore(this,this.parentNode.firstChild)}function Iu(){return this.each(jc)}function Ru(t){var e=typeof t=="function"?t:Xr(t);return this.select(function(){return this.appendChild(e.apply(this,arguments))})}function Xc(){return null}function Ou(t,e){var n=typeof t=="function"?t:Xr(t),r=e==null?Xc:typeof e=="function"?e:wn(e);return this.select(function(){
return this.insertBefore(n.apply(this,arguments),r.apply(this,arguments)||null)})}function th(){var t=this.parentNode;t&&t.removeChild(this)}function zu(){return this.each(th)}function eh(){var t=this.cloneNode(!1),e=this.parentNode;return e?e.insertBefore(t,this.nextSibling):t}function nh(){var t=this.cloneNode(!0),e=this.parentNode;
return e?e.insertBefore(t,this.nextSibling):t}function Hu(t){return this.select(t?nh:eh)}function Fu(t){return arguments.length?this.property("__data__",t):this.node().__data__}function rh(t){return function(e){t.call(this,e,this.__data__)}}function ih(t){return t.trim().split(/^|\s+/).map(function(e){var n="",r=e.indexOf(".");
return r>=0&&(n=e.slice(r+1),e=e.slice(0,r)),{type:e,name:n}})}function lh(t){return function(){var e=this.__on;if(e){for(var n=0,r=-1,i=e.length,l;n<
i;++n)l=e[n],(!t.type||l.type===t.type)&&l.name===t.name?this.removeEventListener(l.type,l.listener,l.options):e[++r]=l;++r?e.length=r:delete this.__on}}}
function oh(t,e,n){return function(){var r=this.__on,i,l=rh(e);if(r){for(var o=0,a=r.length;o<a;++o)if((i=r[o]).type===t.type&&i.name===t.name){this.removeEventListener(
i.type,i.listener,i.options),this.addEventListener(i.type,i.listener=l,i.options=n),i.value=e;return}}this.addEventListener(t.type,l,n),i={type:t.type,
name:t.name,value:e,listener:l,options:n},r?r.push(i):this.__on=[i]}}function Vu(t,e,n){var r=ih(t+""),i,l=r.length,o;if(arguments.length<2){var a=this.
node().__on;if(a){for(var s=0,f=a.length,g;s<f;++s)for(i=0,g=a[s];i<l;++i)if((o=r[i]).type===g.type&&o.name===g.name)return g.value}return}for(a=e?oh:
lh,i=0;i<l;++i)this.each(a(r[i],e,n));return this}function qu(t,e,n){var r=ni(t),i=r.CustomEvent;typeof i=="function"?i=new i(e,n):(i=r.document.createEvent("Event"),n?(i.initEvent(e,n.bubbles,n.cancelable),
i.detail=n.detail):i.initEvent(e,!1,!1)),t.dispatchEvent(i)}function uh(t,e){return function(){return qu(this,t,e)}}function ah(t,e){return function(){
return qu(this,t,e.apply(this,arguments))}}function $u(t,e){return this.each((typeof e=="function"?ah:uh)(t,e))}function*Bu(){for(var t=this._groups,e=0,n=t.length;e<n;++e)for(var r=t[e],i=0,l=r.length,o;i<l;++i)(o=r[i])&&(yield o)}var vl=[null];function Lt(t,e){this._groups=t,this._parents=e}function Wu(){return new Lt([[document.documentElement]],vl)}function fh(){return this}Lt.
prototype=Wu.prototype={constructor:Lt,select:iu,selectAll:lu,selectChild:ou,selectChildren:uu,filter:au,data:cu,enter:fu,exit:hu,join:pu,merge:du,selection:fh,
order:gu,sort:mu,call:yu,nodes:wu,node:xu,size:vu,empty:_u,each:bu,attr:Mu,style:Su,property:ku,classed:Cu,text:Du,html:Pu,raise:Lu,lower:Iu,append:Ru,
insert:Ou,remove:zu,clone:Hu,datum:Fu,on:Vu,dispatch:$u,[Symbol.iterator]:Bu};var xn=Wu;function vn(t){return typeof t=="string"?new Lt([[document.querySelector(t)]],[document.documentElement]):new Lt([[t]],vl)}function sh(t){return Math.abs(t=Math.round(t))>=1e21?t.toLocaleString("en").replace(/,/g,""):t.toString(10)}function ii(t,e){if(!isFinite(t)||t===0)return null;
var n=(t=e?t.toExponential(e-1):t.toExponential()).indexOf("e"),r=t.slice(0,n);return[r.length>1?r[0]+r.slice(2):r,+t.slice(n+1)]}function Kn(t){return t=
ii(Math.abs(t)),t?t[1]:NaN}function ch(t,e){return function(n,r){for(var i=n.length,l=[],o=0,a=t[0],s=0;i>0&&a>0&&(s+a+1>r&&(a=Math.max(1,r-s)),l.push(
n.substring(i-=a,i+a)),!((s+=a+1)>r));)a=t[o=(o+1)%t.length];return l.reverse().join(e)}}function hh(t){return function(e){return e.replace(/[0-9]/g,function(n){
return t[+n]})}}var ph=/^(?:(.)?([<>=^]))?([+\-( ])?([$#])?(0)?(\d+)?(,)?(\.\d+)?(~)?([a-z%])?$/i;function kr(t){if(!(e=ph.exec(t)))throw new Error("i\
nvalid format: "+t);var e;return new _l({fill:e[1],align:e[2],sign:e[3],symbol:e[4],zero:e[5],width:e[6],comma:e[7],precision:e[8]&&e[8].slice(1),trim:e[9],
type:e[10]})}kr.prototype=_l.prototype;function _l(t){this.fill=t.fill===void 0?" ":t.fill+"",this.align=t.align===void 0?">":t.align+"",this.sign=t.sign===
void 0?"-":t.sign+"",this.symbol=t.symbol===void 0?"":t.symbol+"",this.zero=!!t.zero,this.width=t.width===void 0?void 0:+t.width,this.comma=!!t.comma,
this.precision=t.precision===void 0?void 0:+t.precision,this.trim=!!t.trim,this.type=t.type===void 0?"":t.type+""}_l.prototype.toString=function(){return this.
fill+this.align+this.sign+this.symbol+(this.zero?"0":"")+(this.width===void 0?"":Math.max(1,this.width|0))+(this.comma?",":"")+(this.precision===void 0?
"":"."+Math.max(0,this.precision|0))+(this.trim?"~":"")+this.type};function dh(t){t:for(var e=t.length,n=1,r=-1,i;n<e;++n)switch(t[n]){case".":r=i=n;break;case"\
0":r===0&&(r=n),i=n;break;default:if(!+t[n])break t;r>0&&(r=0);break}return r>0?t.slice(0,r)+t.slice(i+1):t}var li;function gh(t,e){var n=ii(t,e);if(!n)
return li=void 0,t.toPrecision(e);var r=n[0],i=n[1],l=i-(li=Math.max(-8,Math.min(8,Math.floor(i/3)))*3)+1,o=r.length;return l===o?r:l>o?r+new Array(l-
o+1).join("0"):l>0?r.slice(0,l)+"."+r.slice(l):"0."+new Array(1-l).join("0")+ii(t,Math.max(0,e+l-1))[0]}function Yu(t,e){var n=ii(t,e);if(!n)return t+
"";var r=n[0],i=n[1];return i<0?"0."+new Array(-i).join("0")+r:r.length>i+1?r.slice(0,i+1)+"."+r.slice(i+1):r+new Array(i-r.length+2).join("0")}var Gu={
"%":(t,e)=>(t*100).toFixed(e),b:t=>Math.round(t).toString(2),c:t=>t+"",d:sh,e:(t,e)=>t.toExponential(e),f:(t,e)=>t.toFixed(e),g:(t,e)=>t.toPrecision(e),
o:t=>Math.round(t).toString(8),p:(t,e)=>Yu(t*100,e),r:Yu,s:gh,X:t=>Math.round(t).toString(16).toUpperCase(),x:t=>Math.round(t).toString(16)};function Uu(t){
return t}var Ku=Array.prototype.map,Zu=["y","z","a","f","p","n","\xB5","m","","k","M","G","T","P","E","Z","Y"];function mh(t){var e=t.grouping===void 0||
t.thousands===void 0?Uu:ch(Ku.call(t.grouping,Number),t.thousands+""),n=t.currency===void 0?"":t.currency[0]+"",r=t.currency===void 0?"":t.currency[1]+
"",i=t.decimal===void 0?".":t.decimal+"",l=t.numerals===void 0?Uu:hh(Ku.call(t.numerals,String)),o=t.percent===void 0?"%":t.percent+"",a=t.minus===void 0?
"\u2212":t.minus+"",s=t.nan===void 0?"NaN":t.nan+"";function f(p,m){p=kr(p);var v=p.fill,M=p.align,S=p.sign,C=p.symbol,F=p.zero,b=p.width,O=p.comma,k=p.
precision,W=p.trim,N=p.type;N==="n"?(O=!0,N="g"):Gu[N]||(k===void 0&&(k=12),W=!0,N="g"),(F||v==="0"&&M==="=")&&(F=!0,v="0",M="=");var X=(m&&m.prefix!==
void 0?m.prefix:"")+(C==="$"?n:C==="#"&&/[boxX]/.test(N)?"0"+N.toLowerCase():""),j=(C==="$"?r:/[%p]/.test(N)?o:"")+(m&&m.suffix!==void 0?m.suffix:""),
et=Gu[N],J=/[defgprs%]/.test(N);k=k===void 0?6:/[gprs]/.test(N)?Math.max(1,Math.min(21,k)):Math.max(0,Math.min(20,k));function P(L){var V=X,$=j,U,ot,Y;
if(N==="c")$=et(L)+$,L="";else{L=+L;var Ct=L<0||1/L<0;if(L=isNaN(L)?s:et(Math.abs(L),k),W&&(L=dh(L)),Ct&&+L==0&&S!=="+"&&(Ct=!1),V=(Ct?S==="("?S:a:S===
"-"||S==="("?"":S)+V,$=(N==="s"&&!isNaN(L)&&li!==void 0?Zu[8+li/3]:"")+$+(Ct&&S==="("?")":""),J){for(U=-1,ot=L.length;++U<ot;)if(Y=L.charCodeAt(U),48>
Y||Y>57){$=(Y===46?i+L.slice(U+1):L.slice(U))+$,L=L.slice(0,U);break}}}O&&!F&&(L=e(L,1/0));var dt=V.length+L.length+$.length,rt=dt<b?new Array(b-dt+1).
join(v):"";switch(O&&F&&(L=e(rt+L,rt.length?b-$.length:1/0),rt=""),M){case"<":L=V+L+$+rt;break;case"=":L=V+rt+L+$;break;case"^":L=rt.slice(0,dt=rt.length>>
1)+V+L+$+rt.slice(dt);break;default:L=rt+V+L+$;break}return l(L)}return P.toString=function(){return p+""},P}function g(p,m){var v=Math.max(-8,Math.min(
8,Math.floor(Kn(m)/3)))*3,M=Math.pow(10,-v),S=f((p=kr(p),p.type="f",p),{suffix:Zu[8+v/3]});return function(C){return S(M*C)}}return{format:f,formatPrefix:g}}
var ri,Zn,bl;yh({thousands:",",grouping:[3],currency:["$",""]});function yh(t){return ri=mh(t),Zn=ri.format,bl=ri.formatPrefix,ri}function Qu(t){return Math.
max(0,-Kn(Math.abs(t)))}function Ju(t,e){return Math.max(0,Math.max(-8,Math.min(8,Math.floor(Kn(e)/3)))*3-Kn(Math.abs(t)))}function ju(t,e){return t=Math.
abs(t),e=Math.abs(e)-t,Math.max(0,Kn(e)-Kn(t))+1}function _n(t,e){return t==null||e==null?NaN:t<e?-1:t>e?1:t>=e?0:NaN}function wh(t,e){return t==null||e==null?NaN:e<t?-1:e>t?1:e>=t?0:NaN}function Xu(t){
let e,n,r;t.length!==2?(e=_n,n=(a,s)=>_n(t(a),s),r=(a,s)=>t(a)-s):(e=t===_n||t===wh?t:xh,n=t,r=t);function i(a,s,f=0,g=a.length){if(f<g){if(e(s,s)!==0)
return g;do{let p=f+g>>>1;n(a[p],s)<0?f=p+1:g=p}while(f<g)}return f}function l(a,s,f=0,g=a.length){if(f<g){if(e(s,s)!==0)return g;do{let p=f+g>>>1;n(a[p],
s)<=0?f=p+1:g=p}while(f<g)}return f}function o(a,s,f=0,g=a.length){let p=i(a,s,f,g-1);return p>f&&r(a[p-1],s)>-r(a[p],s)?p-1:p}return{left:i,center:o,
right:l}}function xh(){return 0}function vh(t){return t===null?NaN:+t}var ta=Xu(_n),ea=ta.right,ay=ta.left,fy=Xu(vh).center;var sy=na(ra),cy=na(_h);function na(t){return function(e,n,r=n){if(!((n=+n)>=0))throw new RangeError("invalid rx");if(!((r=+r)>=0))throw new RangeError(
"invalid ry");let{data:i,width:l,height:o}=e;if(!((l=Math.floor(l))>=0))throw new RangeError("invalid width");if(!((o=Math.floor(o!==void 0?o:i.length/
l))>=0))throw new RangeError("invalid height");if(!l||!o||!n&&!r)return e;let a=n&&t(n),s=r&&t(r),f=i.slice();return a&&s?(Qn(a,f,i,l,o),Qn(a,i,f,l,o),
Qn(a,f,i,l,o),Jn(s,i,f,l,o),Jn(s,f,i,l,o),Jn(s,i,f,l,o)):a?(Qn(a,i,f,l,o),Qn(a,f,i,l,o),Qn(a,i,f,l,o)):s&&(Jn(s,i,f,l,o),Jn(s,f,i,l,o),Jn(s,i,f,l,o)),
e}}function Qn(t,e,n,r,i){for(let l=0,o=r*i;l<o;)t(e,n,l,l+=r,1)}function Jn(t,e,n,r,i){for(let l=0,o=r*i;l<r;++l)t(e,n,l,l+o,r)}function _h(t){let e=ra(
t);return(n,r,i,l,o)=>{i<<=2,l<<=2,o<<=2,e(n,r,i+0,l+0,o),e(n,r,i+1,l+1,o),e(n,r,i+2,l+2,o),e(n,r,i+3,l+3,o)}}function ra(t){let e=Math.floor(t);if(e===
t)return bh(t);let n=t-e,r=2*t+1;return(i,l,o,a,s)=>{if(!((a-=s)>=o))return;let f=e*l[o],g=s*e,p=g+s;for(let m=o,v=o+g;m<v;m+=s)f+=l[Math.min(a,m)];for(let m=o,
v=a;m<=v;m+=s)f+=l[Math.min(a,m+g)],i[m]=(f+n*(l[Math.max(o,m-p)]+l[Math.min(a,m+p)]))/r,f-=l[Math.max(o,m-g)]}}function bh(t){let e=2*t+1;return(n,r,i,l,o)=>{
if(!((l-=o)>=i))return;let a=t*r[i],s=o*t;for(let f=i,g=i+s;f<g;f+=o)a+=r[Math.min(l,f)];for(let f=i,g=l;f<=g;f+=o)a+=r[Math.min(l,f+s)],n[f]=a/e,a-=r[Math.
max(i,f-s)]}}var Mh=Array.prototype,hy=Mh.slice;var Sh=Math.sqrt(50),kh=Math.sqrt(10),Ah=Math.sqrt(2);function oi(t,e,n){let r=(e-t)/Math.max(0,n),i=Math.floor(Math.log10(r)),l=r/Math.pow(10,i),o=l>=
Sh?10:l>=kh?5:l>=Ah?2:1,a,s,f;return i<0?(f=Math.pow(10,-i)/o,a=Math.round(t*f),s=Math.round(e*f),a/f<t&&++a,s/f>e&&--s,f=-f):(f=Math.pow(10,i)*o,a=Math.
round(t/f),s=Math.round(e/f),a*f<t&&++a,s*f>e&&--s),s<a&&.5<=n&&n<2?oi(t,e,n*2):[a,s,f]}function ia(t,e,n){if(e=+e,t=+t,n=+n,!(n>0))return[];if(t===e)
return[t];let r=e<t,[i,l,o]=r?oi(e,t,n):oi(t,e,n);if(!(l>=i))return[];let a=l-i+1,s=new Array(a);if(r)if(o<0)for(let f=0;f<a;++f)s[f]=(l-f)/-o;else for(let f=0;f<
a;++f)s[f]=(l-f)*o;else if(o<0)for(let f=0;f<a;++f)s[f]=(i+f)/-o;else for(let f=0;f<a;++f)s[f]=(i+f)*o;return s}function ui(t,e,n){return e=+e,t=+t,n=
+n,oi(t,e,n)[2]}function la(t,e,n){e=+e,t=+t,n=+n;let r=e<t,i=r?ui(e,t,n):ui(t,e,n);return(r?-1:1)*(i<0?1/-i:i)}var py=Nh(Math.random);function Nh(t){return function(n,r=0,i=n.length){let l=i-(r=+r);for(;l;){let o=t()*l--|0,a=n[l+r];n[l+r]=n[o+r],n[o+r]=a}return n}}function Eh(t){var e=0,n=t.children,r=n&&n.length;if(!r)e=1;else for(;--r>=0;)e+=n[r].value;t.value=e}function Th(){return this.eachAfter(Eh)}function Ch(t,e){
let n=-1;for(let r of this)t.call(e,r,++n,this);return this}function Dh(t,e){for(var n=this,r=[n],i,l,o=-1;n=r.pop();)if(t.call(e,n,++o,this),i=n.children)
for(l=i.length-1;l>=0;--l)r.push(i[l]);return this}function Ph(t,e){for(var n=this,r=[n],i=[],l,o,a,s=-1;n=r.pop();)if(i.push(n),l=n.children)for(o=0,
a=l.length;o<a;++o)r.push(l[o]);for(;n=i.pop();)t.call(e,n,++s,this);return this}function Lh(t,e){let n=-1;for(let r of this)if(t.call(e,r,++n,this))return r}
function Ih(t){return this.eachAfter(function(e){for(var n=+t(e.data)||0,r=e.children,i=r&&r.length;--i>=0;)n+=r[i].value;e.value=n})}function Rh(t){return this.
eachBefore(function(e){e.children&&e.children.sort(t)})}function Oh(t){for(var e=this,n=zh(e,t),r=[e];e!==n;)e=e.parent,r.push(e);for(var i=r.length;t!==
n;)r.splice(i,0,t),t=t.parent;return r}function zh(t,e){if(t===e)return t;var n=t.ancestors(),r=e.ancestors(),i=null;for(t=n.pop(),e=r.pop();t===e;)i=
t,t=n.pop(),e=r.pop();return i}function Hh(){for(var t=this,e=[t];t=t.parent;)e.push(t);return e}function Fh(){return Array.from(this)}function Vh(){var t=[];
return this.eachBefore(function(e){e.children||t.push(e)}),t}function qh(){var t=this,e=[];return t.each(function(n){n!==t&&e.push({source:n.parent,target:n})}),
e}function*$h(){var t=this,e,n=[t],r,i,l;do for(e=n.reverse(),n=[];t=e.pop();)if(yield t,r=t.children)for(i=0,l=r.length;i<l;++i)n.push(r[i]);while(n.
length)}function ai(t,e){t instanceof Map?(t=[void 0,t],e===void 0&&(e=Yh)):e===void 0&&(e=Wh);for(var n=new Ar(t),r,i=[n],l,o,a,s;r=i.pop();)if((o=e(
r.data))&&(s=(o=Array.from(o)).length))for(r.children=o,a=s-1;a>=0;--a)i.push(l=o[a]=new Ar(o[a])),l.parent=r,l.depth=r.depth+1;return n.eachBefore(Uh)}
function Bh(){return ai(this).eachBefore(Gh)}function Wh(t){return t.children}function Yh(t){return Array.isArray(t)?t[1]:null}function Gh(t){t.data.value!==
void 0&&(t.value=t.data.value),t.data=t.data.data}function Uh(t){var e=0;do t.height=e;while((t=t.parent)&&t.height<++e)}function Ar(t){this.data=t,this.
depth=this.height=0,this.parent=null}Ar.prototype=ai.prototype={constructor:Ar,count:Th,each:Ch,eachAfter:Ph,eachBefore:Dh,find:Lh,sum:Ih,sort:Rh,path:Oh,
ancestors:Hh,descendants:Fh,leaves:Vh,links:qh,copy:Bh,[Symbol.iterator]:$h};function Kh(t){t.x0=Math.round(t.x0),t.y0=Math.round(t.y0),t.x1=Math.round(t.x1),t.y1=Math.round(t.y1)}function Ml(t,e,n,r,i){for(var l=t.children,o,a=-1,
s=l.length,f=t.value&&(r-e)/t.value;++a<s;)o=l[a],o.y0=n,o.y1=i,o.x0=e,o.x1=e+=o.value*f}function oa(){var t=1,e=1,n=0,r=!1;function i(o){var a=o.height+
1;return o.x0=o.y0=n,o.x1=t,o.y1=e/a,o.eachBefore(l(e,a)),r&&o.eachBefore(Kh),o}function l(o,a){return function(s){s.children&&Ml(s,s.x0,o*(s.depth+1)/
a,s.x1,o*(s.depth+2)/a);var f=s.x0,g=s.y0,p=s.x1-n,m=s.y1-n;p<f&&(f=p=(f+p)/2),m<g&&(g=m=(g+m)/2),s.x0=f,s.y0=g,s.x1=p,s.y1=m}}return i.round=function(o){
return arguments.length?(r=!!o,i):r},i.size=function(o){return arguments.length?(t=+o[0],e=+o[1],i):[t,e]},i.padding=function(o){return arguments.length?
(n=+o,i):n},i}function Zh(t,e){this._=t,this.parent=null,this.children=null,this.A=null,this.a=this,this.z=0,this.m=0,this.c=0,this.s=0,this.t=null,this.i=e}Zh.prototype=
Object.create(Ar.prototype);function ua(t,e,n,r,i){for(var l=t.children,o,a=-1,s=l.length,f=t.value&&(i-n)/t.value;++a<s;)o=l[a],o.x0=e,o.x1=r,o.y0=n,o.y1=n+=o.value*f}var aa=(1+
Math.sqrt(5))/2;function fa(t,e,n,r,i,l){for(var o=[],a=e.children,s,f,g=0,p=0,m=a.length,v,M,S=e.value,C,F,b,O,k,W,N;g<m;){v=i-n,M=l-r;do C=a[p++].value;while(!C&&
p<m);for(F=b=C,W=Math.max(M/v,v/M)/(S*t),N=C*C*W,k=Math.max(b/N,N/F);p<m;++p){if(C+=f=a[p].value,f<F&&(F=f),f>b&&(b=f),N=C*C*W,O=Math.max(b/N,N/F),O>k){
C-=f;break}k=O}o.push(s={value:C,dice:v<M,children:a.slice(g,p)}),s.dice?Ml(s,n,r,i,S?r+=M*C/S:l):ua(s,n,r,S?n+=v*C/S:i,l),S-=C,g=p}return o}var gy=(function t(e){
function n(r,i,l,o,a){fa(e,r,i,l,o,a)}return n.ratio=function(r){return t((r=+r)>1?r:1)},n})(aa);var my=(function t(e){function n(r,i,l,o,a){if((s=r._squarify)&&s.ratio===e)for(var s,f,g,p,m=-1,v,M=s.length,S=r.value;++m<M;){for(f=s[m],g=f.children,
p=f.value=0,v=g.length;p<v;++p)f.value+=g[p].value;f.dice?Ml(f,i,l,o,S?l+=(a-l)*f.value/S:a):ua(f,i,l,S?i+=(o-i)*f.value/S:o,a),S-=f.value}else r._squarify=
s=fa(e,r,i,l,o,a),s.ratio=e}return n.ratio=function(r){return t((r=+r)>1?r:1)},n})(aa);function er(t,e,n){t.prototype=e.prototype=n,n.constructor=t}function Tr(t,e){var n=Object.create(t.prototype);for(var r in e)n[r]=e[r];return n}function an(){}
var kn=.7,tr=1/kn,jn="\\s*([+-]?\\d+)\\s*",Nr="\\s*([+-]?(?:\\d*\\.)?\\d+(?:[eE][+-]?\\d+)?)\\s*",$e="\\s*([+-]?(?:\\d*\\.)?\\d+(?:[eE][+-]?\\d+)?)%\\s*",
Qh=/^#([0-9a-f]{3,8})$/,Jh=new RegExp(`^rgb\\(${jn},${jn},${jn}\\)$`),jh=new RegExp(`^rgb\\(${$e},${$e},${$e}\\)$`),Xh=new RegExp(`^rgba\\(${jn},${jn}\
,${jn},${Nr}\\)$`),t0=new RegExp(`^rgba\\(${$e},${$e},${$e},${Nr}\\)$`),e0=new RegExp(`^hsl\\(${Nr},${$e},${$e}\\)$`),n0=new RegExp(`^hsla\\(${Nr},${$e}\
,${$e},${Nr}\\)$`),sa={aliceblue:15792383,antiquewhite:16444375,aqua:65535,aquamarine:8388564,azure:15794175,beige:16119260,bisque:16770244,black:0,blanchedalmond:16772045,
blue:255,blueviolet:9055202,brown:10824234,burlywood:14596231,cadetblue:6266528,chartreuse:8388352,chocolate:13789470,coral:16744272,cornflowerblue:6591981,
cornsilk:16775388,crimson:14423100,cyan:65535,darkblue:139,darkcyan:35723,darkgoldenrod:12092939,darkgray:11119017,darkgreen:25600,darkgrey:11119017,darkkhaki:12433259,
darkmagenta:9109643,darkolivegreen:5597999,darkorange:16747520,darkorchid:10040012,darkred:9109504,darksalmon:15308410,darkseagreen:9419919,darkslateblue:4734347,
darkslategray:3100495,darkslategrey:3100495,darkturquoise:52945,darkviolet:9699539,deeppink:16716947,deepskyblue:49151,dimgray:6908265,dimgrey:6908265,
dodgerblue:2003199,firebrick:11674146,floralwhite:16775920,forestgreen:2263842,fuchsia:16711935,gainsboro:14474460,ghostwhite:16316671,gold:16766720,goldenrod:14329120,
gray:8421504,green:32768,greenyellow:11403055,grey:8421504,honeydew:15794160,hotpink:16738740,indianred:13458524,indigo:4915330,ivory:16777200,khaki:15787660,
lavender:15132410,lavenderblush:16773365,lawngreen:8190976,lemonchiffon:16775885,lightblue:11393254,lightcoral:15761536,lightcyan:14745599,lightgoldenrodyellow:16448210,
lightgray:13882323,lightgreen:9498256,lightgrey:13882323,lightpink:16758465,lightsalmon:16752762,lightseagreen:2142890,lightskyblue:8900346,lightslategray:7833753,
lightslategrey:7833753,lightsteelblue:11584734,lightyellow:16777184,lime:65280,limegreen:3329330,linen:16445670,magenta:16711935,maroon:8388608,mediumaquamarine:6737322,
mediumblue:205,mediumorchid:12211667,mediumpurple:9662683,mediumseagreen:3978097,mediumslateblue:8087790,mediumspringgreen:64154,mediumturquoise:4772300,
mediumvioletred:13047173,midnightblue:1644912,mintcream:16121850,mistyrose:16770273,moccasin:16770229,navajowhite:16768685,navy:128,oldlace:16643558,olive:8421376,
olivedrab:7048739,orange:16753920,orangered:16729344,orchid:14315734,palegoldenrod:15657130,palegreen:10025880,paleturquoise:11529966,palevioletred:14381203,
papayawhip:16773077,peachpuff:16767673,peru:13468991,pink:16761035,plum:14524637,powderblue:11591910,purple:8388736,rebeccapurple:6697881,red:16711680,
rosybrown:12357519,royalblue:4286945,saddlebrown:9127187,salmon:16416882,sandybrown:16032864,seagreen:3050327,seashell:16774638,sienna:10506797,silver:12632256,
skyblue:8900331,slateblue:6970061,slategray:7372944,slategrey:7372944,snow:16775930,springgreen:65407,steelblue:4620980,tan:13808780,teal:32896,thistle:14204888,
tomato:16737095,turquoise:4251856,violet:15631086,wheat:16113331,white:16777215,whitesmoke:16119285,yellow:16776960,yellowgreen:10145074};er(an,Ze,{copy(t){
return Object.assign(new this.constructor,this,t)},displayable(){return this.rgb().displayable()},hex:ca,formatHex:ca,formatHex8:r0,formatHsl:i0,formatRgb:ha,
toString:ha});function ca(){return this.rgb().formatHex()}function r0(){return this.rgb().formatHex8()}function i0(){return _a(this).formatHsl()}function ha(){
return this.rgb().formatRgb()}function Ze(t){var e,n;return t=(t+"").trim().toLowerCase(),(e=Qh.exec(t))?(n=e[1].length,e=parseInt(e[1],16),n===6?pa(e):
n===3?new Ut(e>>8&15|e>>4&240,e>>4&15|e&240,(e&15)<<4|e&15,1):n===8?fi(e>>24&255,e>>16&255,e>>8&255,(e&255)/255):n===4?fi(e>>12&15|e>>8&240,e>>8&15|e>>
4&240,e>>4&15|e&240,((e&15)<<4|e&15)/255):null):(e=Jh.exec(t))?new Ut(e[1],e[2],e[3],1):(e=jh.exec(t))?new Ut(e[1]*255/100,e[2]*255/100,e[3]*255/100,1):
(e=Xh.exec(t))?fi(e[1],e[2],e[3],e[4]):(e=t0.exec(t))?fi(e[1]*255/100,e[2]*255/100,e[3]*255/100,e[4]):(e=e0.exec(t))?ma(e[1],e[2]/100,e[3]/100,1):(e=n0.
exec(t))?ma(e[1],e[2]/100,e[3]/100,e[4]):sa.hasOwnProperty(t)?pa(sa[t]):t==="transparent"?new Ut(NaN,NaN,NaN,0):null}function pa(t){return new Ut(t>>16&
255,t>>8&255,t&255,1)}function fi(t,e,n,r){return r<=0&&(t=e=n=NaN),new Ut(t,e,n,r)}function Tl(t){return t instanceof an||(t=Ze(t)),t?(t=t.rgb(),new Ut(
t.r,t.g,t.b,t.opacity)):new Ut}function Cr(t,e,n,r){return arguments.length===1?Tl(t):new Ut(t,e,n,r??1)}function Ut(t,e,n,r){this.r=+t,this.g=+e,this.
b=+n,this.opacity=+r}er(Ut,Cr,Tr(an,{brighter(t){return t=t==null?tr:Math.pow(tr,t),new Ut(this.r*t,this.g*t,this.b*t,this.opacity)},darker(t){return t=
t==null?kn:Math.pow(kn,t),new Ut(this.r*t,this.g*t,this.b*t,this.opacity)},rgb(){return this},clamp(){return new Ut(Mn(this.r),Mn(this.g),Mn(this.b),ci(
this.opacity))},displayable(){return-.5<=this.r&&this.r<255.5&&-.5<=this.g&&this.g<255.5&&-.5<=this.b&&this.b<255.5&&0<=this.opacity&&this.opacity<=1},
hex:da,formatHex:da,formatHex8:l0,formatRgb:ga,toString:ga}));function da(){return`#${bn(this.r)}${bn(this.g)}${bn(this.b)}`}function l0(){return`#${bn(
this.r)}${bn(this.g)}${bn(this.b)}${bn((isNaN(this.opacity)?1:this.opacity)*255)}`}function ga(){let t=ci(this.opacity);return`${t===1?"rgb(":"rgba("}${Mn(
this.r)}, ${Mn(this.g)}, ${Mn(this.b)}${t===1?")":`, ${t})`}`}function ci(t){return isNaN(t)?1:Math.max(0,Math.min(1,t))}function Mn(t){return Math.max(
0,Math.min(255,Math.round(t)||0))}function bn(t){return t=Mn(t),(t<16?"0":"")+t.toString(16)}function ma(t,e,n,r){return r<=0?t=e=n=NaN:n<=0||n>=1?t=e=
NaN:e<=0&&(t=NaN),new De(t,e,n,r)}function _a(t){if(t instanceof De)return new De(t.h,t.s,t.l,t.opacity);if(t instanceof an||(t=Ze(t)),!t)return new De;
if(t instanceof De)return t;t=t.rgb();var e=t.r/255,n=t.g/255,r=t.b/255,i=Math.min(e,n,r),l=Math.max(e,n,r),o=NaN,a=l-i,s=(l+i)/2;return a?(e===l?o=(n-
r)/a+(n<r)*6:n===l?o=(r-e)/a+2:o=(e-n)/a+4,a/=s<.5?l+i:2-l-i,o*=60):a=s>0&&s<1?0:o,new De(o,a,s,t.opacity)}function pi(t,e,n,r){return arguments.length===
1?_a(t):new De(t,e,n,r??1)}function De(t,e,n,r){this.h=+t,this.s=+e,this.l=+n,this.opacity=+r}er(De,pi,Tr(an,{brighter(t){return t=t==null?tr:Math.pow(
tr,t),new De(this.h,this.s,this.l*t,this.opacity)},darker(t){return t=t==null?kn:Math.pow(kn,t),new De(this.h,this.s,this.l*t,this.opacity)},rgb(){var t=this.
h%360+(this.h<0)*360,e=isNaN(t)||isNaN(this.s)?0:this.s,n=this.l,r=n+(n<.5?n:1-n)*e,i=2*n-r;return new Ut(Sl(t>=240?t-240:t+120,i,r),Sl(t,i,r),Sl(t<120?
t+240:t-120,i,r),this.opacity)},clamp(){return new De(ya(this.h),si(this.s),si(this.l),ci(this.opacity))},displayable(){return(0<=this.s&&this.s<=1||isNaN(
this.s))&&0<=this.l&&this.l<=1&&0<=this.opacity&&this.opacity<=1},formatHsl(){let t=ci(this.opacity);return`${t===1?"hsl(":"hsla("}${ya(this.h)}, ${si(
this.s)*100}%, ${si(this.l)*100}%${t===1?")":`, ${t})`}`}}));function ya(t){return t=(t||0)%360,t<0?t+360:t}function si(t){return Math.max(0,Math.min(
1,t||0))}function Sl(t,e,n){return(t<60?e+(n-e)*t/60:t<180?n:t<240?e+(n-e)*(240-t)/60:e)*255}var ba=Math.PI/180,Ma=180/Math.PI,hi=18,Sa=.96422,ka=1,Aa=.82521,
Na=4/29,Xn=6/29,Ea=3*Xn*Xn,o0=Xn*Xn*Xn;function Ta(t){if(t instanceof Be)return new Be(t.l,t.a,t.b,t.opacity);if(t instanceof Ke)return Da(t);t instanceof
Ut||(t=Tl(t));var e=El(t.r),n=El(t.g),r=El(t.b),i=kl((.2225045*e+.7168786*n+.0606169*r)/ka),l,o;return e===n&&n===r?l=o=i:(l=kl((.4360747*e+.3850649*n+
.1430804*r)/Sa),o=kl((.0139322*e+.0971045*n+.7141733*r)/Aa)),new Be(116*i-16,500*(l-i),200*(i-o),t.opacity)}function Ca(t,e,n,r){return arguments.length===1?Ta(t):new Be(t,e,n,r??1)}function Be(t,e,n,r){this.l=+t,this.a=+e,this.b=+n,this.opacity=+r}er(Be,Ca,
Tr(an,{brighter(t){return new Be(this.l+hi*(t??1),this.a,this.b,this.opacity)},darker(t){return new Be(this.l-hi*(t??1),this.a,this.b,this.opacity)},rgb(){
var t=(this.l+16)/116,e=isNaN(this.a)?t:t+this.a/500,n=isNaN(this.b)?t:t-this.b/200;return e=Sa*Al(e),t=ka*Al(t),n=Aa*Al(n),new Ut(Nl(3.1338561*e-1.6168667*
t-.4906146*n),Nl(-.9787684*e+1.9161415*t+.033454*n),Nl(.0719453*e-.2289914*t+1.4052427*n),this.opacity)}}));function kl(t){return t>o0?Math.pow(t,1/3):
t/Ea+Na}function Al(t){return t>Xn?t*t*t:Ea*(t-Na)}function Nl(t){return 255*(t<=.0031308?12.92*t:1.055*Math.pow(t,1/2.4)-.055)}function El(t){return(t/=
255)<=.04045?t/12.92:Math.pow((t+.055)/1.055,2.4)}function u0(t){if(t instanceof Ke)return new Ke(t.h,t.c,t.l,t.opacity);if(t instanceof Be||(t=Ta(t)),
t.a===0&&t.b===0)return new Ke(NaN,0<t.l&&t.l<100?0:NaN,t.l,t.opacity);var e=Math.atan2(t.b,t.a)*Ma;return new Ke(e<0?e+360:e,Math.sqrt(t.a*t.a+t.b*t.
b),t.l,t.opacity)}function di(t,e,n,r){return arguments.length===1?u0(t):new Ke(t,e,n,r??1)}function Ke(t,e,n,r){this.h=+t,this.c=+e,this.l=+n,this.opacity=+r}function Da(t){
if(isNaN(t.h))return new Be(t.l,0,0,t.opacity);var e=t.h*ba;return new Be(t.l,Math.cos(e)*t.c,Math.sin(e)*t.c,t.opacity)}er(Ke,di,Tr(an,{brighter(t){return new Ke(
this.h,this.c,this.l+hi*(t??1),this.opacity)},darker(t){return new Ke(this.h,this.c,this.l-hi*(t??1),this.opacity)},rgb(){return Da(this).rgb()}}));var Pa=-.14861,
Cl=1.78277,Dl=-.29227,gi=-.90649,Er=1.97294,wa=Er*gi,xa=Er*Cl,va=Cl*Dl-gi*Pa;function a0(t){if(t instanceof Sn)return new Sn(t.h,t.s,t.l,t.opacity);t instanceof
Ut||(t=Tl(t));var e=t.r/255,n=t.g/255,r=t.b/255,i=(va*r+wa*e-xa*n)/(va+wa-xa),l=r-i,o=(Er*(n-i)-Dl*l)/gi,a=Math.sqrt(o*o+l*l)/(Er*i*(1-i)),s=a?Math.atan2(
o,l)*Ma-120:NaN;return new Sn(s<0?s+360:s,a,i,t.opacity)}function mi(t,e,n,r){return arguments.length===1?a0(t):new Sn(t,e,n,r??1)}function Sn(t,e,n,r){
this.h=+t,this.s=+e,this.l=+n,this.opacity=+r}er(Sn,mi,Tr(an,{brighter(t){return t=t==null?tr:Math.pow(tr,t),new Sn(this.h,this.s,this.l*t,this.opacity)},
darker(t){return t=t==null?kn:Math.pow(kn,t),new Sn(this.h,this.s,this.l*t,this.opacity)},rgb(){var t=isNaN(this.h)?0:(this.h+120)*ba,e=+this.l,n=isNaN(
this.s)?0:this.s*e*(1-e),r=Math.cos(t),i=Math.sin(t);return new Ut(255*(e+n*(Pa*r+Cl*i)),255*(e+n*(Dl*r+gi*i)),255*(e+n*(Er*r)),this.opacity)}}));function Ra(t,e,n,r,i){var l=t*t,o=l*t;return((1-3*t+3*l-o)*e+(4-6*l+3*o)*n+(1+3*t+3*l-3*o)*r+o*i)/6}function f0(t){var e=t.length-1;return function(n){
var r=n<=0?n=0:n>=1?(n=1,e-1):Math.floor(n*e),i=t[r],l=t[r+1],o=r>0?t[r-1]:2*i-l,a=r<e-1?t[r+2]:2*l-i;return Ra((n-r/e)*e,o,i,l,a)}}function s0(t){var e=t.
length;return function(n){var r=Math.floor(((n%=1)<0?++n:n)*e),i=t[(r+e-1)%e],l=t[r%e],o=t[(r+1)%e],a=t[(r+2)%e];return Ra((n-r/e)*e,i,l,o,a)}}var wi=t=>()=>t;
function Oa(t,e){return function(n){return t+n*e}}function c0(t,e,n){return t=Math.pow(t,n),e=Math.pow(e,n)-t,n=1/n,function(r){return Math.pow(t+r*e,
n)}}function Rl(t,e){var n=e-t;return n?Oa(t,n>180||n<-180?n-360*Math.round(n/360):n):wi(isNaN(t)?e:t)}function h0(t){return(t=+t)==1?oe:function(e,n){
return n-e?c0(e,n,t):wi(isNaN(e)?n:e)}}function oe(t,e){var n=e-t;return n?Oa(t,n):wi(isNaN(t)?e:t)}var Dr=(function t(e){var n=h0(e);function r(i,l){
var o=n((i=Cr(i)).r,(l=Cr(l)).r),a=n(i.g,l.g),s=n(i.b,l.b),f=oe(i.opacity,l.opacity);return function(g){return i.r=o(g),i.g=a(g),i.b=s(g),i.opacity=f(
g),i+""}}return r.gamma=t,r})(1);function za(t){return function(e){var n=e.length,r=new Array(n),i=new Array(n),l=new Array(n),o,a;for(o=0;o<n;++o)a=Cr(
e[o]),r[o]=a.r||0,i[o]=a.g||0,l[o]=a.b||0;return r=t(r),i=t(i),l=t(l),a.opacity=1,function(s){return a.r=r(s),a.g=i(s),a.b=l(s),a+""}}}var vy=za(f0),_y=za(
s0);function p0(t,e){e||(e=[]);var n=t?Math.min(e.length,t.length):0,r=e.slice(),i;return function(l){for(i=0;i<n;++i)r[i]=t[i]*(1-l)+e[i]*l;return r}}
function d0(t){return ArrayBuffer.isView(t)&&!(t instanceof DataView)}function g0(t,e){var n=e?e.length:0,r=t?Math.min(n,t.length):0,i=new Array(r),l=new Array(n),o;for(o=0;o<r;++o)i[o]=xi(t[o],e[o]);for(;o<n;++o)l[o]=e[o];
return function(a){for(o=0;o<r;++o)l[o]=i[o](a);return l}}function m0(t,e){var n=new Date;return t=+t,e=+e,function(r){return n.setTime(t*(1-r)+e*r),n}}
function pe(t,e){return t=+t,e=+e,function(n){return t*(1-n)+e*n}}function y0(t,e){var n={},r={},i;(t===null||typeof t!="object")&&(t={}),(e===null||typeof e!=
"object")&&(e={});for(i in e)i in t?n[i]=xi(t[i],e[i]):r[i]=e[i];return function(l){for(i in n)r[i]=n[i](l);return r}}var Ll=/[-+]?(?:\d+\.?\d*|\.?\d+)(?:[eE][-+]?\d+)?/g,
Pl=new RegExp(Ll.source,"g");function w0(t){return function(){return t}}function x0(t){return function(e){return t(e)+""}}function Ol(t,e){var n=Ll.lastIndex=
Pl.lastIndex=0,r,i,l,o=-1,a=[],s=[];for(t=t+"",e=e+"";(r=Ll.exec(t))&&(i=Pl.exec(e));)(l=i.index)>n&&(l=e.slice(n,l),a[o]?a[o]+=l:a[++o]=l),(r=r[0])===
(i=i[0])?a[o]?a[o]+=i:a[++o]=i:(a[++o]=null,s.push({i:o,x:pe(r,i)})),n=Pl.lastIndex;return n<e.length&&(l=e.slice(n),a[o]?a[o]+=l:a[++o]=l),a.length<2?
s[0]?x0(s[0].x):w0(e):(e=s.length,function(f){for(var g=0,p;g<e;++g)a[(p=s[g]).i]=p.x(f);return a.join("")})}function xi(t,e){var n=typeof e,r;return e==
null||n==="boolean"?wi(e):(n==="number"?pe:n==="string"?(r=Ze(e))?(e=r,Dr):Ol:e instanceof Ze?Dr:e instanceof Date?m0:d0(e)?p0:Array.isArray(e)?g0:typeof e.
valueOf!="function"&&typeof e.toString!="function"||isNaN(e)?y0:pe)(t,e)}function Ha(t,e){return t=+t,e=+e,function(n){return Math.round(t*(1-n)+e*n)}}var La=180/Math.PI,Il={translateX:0,translateY:0,rotate:0,skewX:0,scaleX:1,
scaleY:1};function Fa(t,e,n,r,i,l){var o,a,s;return(o=Math.sqrt(t*t+e*e))&&(t/=o,e/=o),(s=t*n+e*r)&&(n-=t*s,r-=e*s),(a=Math.sqrt(n*n+r*r))&&(n/=a,r/=a,
s/=a),t*r<e*n&&(t=-t,e=-e,s=-s,o=-o),{translateX:i,translateY:l,rotate:Math.atan2(e,t)*La,skewX:Math.atan(s)*La,scaleX:o,scaleY:a}}var yi;function v0(t){
let e=new(typeof DOMMatrix=="function"?DOMMatrix:WebKitCSSMatrix)(t+"");return e.isIdentity?Il:Fa(e.a,e.b,e.c,e.d,e.e,e.f)}function _0(t){return t==null||
(yi||(yi=document.createElementNS("http://www.w3.org/2000/svg","g")),yi.setAttribute("transform",t),!(t=yi.transform.baseVal.consolidate()))?Il:(t=t.matrix,
Fa(t.a,t.b,t.c,t.d,t.e,t.f))}function Va(t,e,n,r){function i(f){return f.length?f.pop()+" ":""}function l(f,g,p,m,v,M){if(f!==p||g!==m){var S=v.push("\
translate(",null,e,null,n);M.push({i:S-4,x:pe(f,p)},{i:S-2,x:pe(g,m)})}else(p||m)&&v.push("translate("+p+e+m+n)}function o(f,g,p,m){f!==g?(f-g>180?g+=
360:g-f>180&&(f+=360),m.push({i:p.push(i(p)+"rotate(",null,r)-2,x:pe(f,g)})):g&&p.push(i(p)+"rotate("+g+r)}function a(f,g,p,m){f!==g?m.push({i:p.push(
i(p)+"skewX(",null,r)-2,x:pe(f,g)}):g&&p.push(i(p)+"skewX("+g+r)}function s(f,g,p,m,v,M){if(f!==p||g!==m){var S=v.push(i(v)+"scale(",null,",",null,")");
M.push({i:S-4,x:pe(f,p)},{i:S-2,x:pe(g,m)})}else(p!==1||m!==1)&&v.push(i(v)+"scale("+p+","+m+")")}return function(f,g){var p=[],m=[];return f=t(f),g=t(
g),l(f.translateX,f.translateY,g.translateX,g.translateY,p,m),o(f.rotate,g.rotate,p,m),a(f.skewX,g.skewX,p,m),s(f.scaleX,f.scaleY,g.scaleX,g.scaleY,p,
m),f=g=null,function(v){for(var M=-1,S=m.length,C;++M<S;)p[(C=m[M]).i]=C.x(v);return p.join("")}}}var qa=Va(v0,"px, ","px)","deg)"),$a=Va(_0,", ",")",
")"),b0=1e-12;function Ia(t){return((t=Math.exp(t))+1/t)/2}function M0(t){return((t=Math.exp(t))-1/t)/2}function S0(t){return((t=Math.exp(2*t))-1)/(t+
1)}var by=(function t(e,n,r){function i(l,o){var a=l[0],s=l[1],f=l[2],g=o[0],p=o[1],m=o[2],v=g-a,M=p-s,S=v*v+M*M,C,F;if(S<b0)F=Math.log(m/f)/e,C=function(X){
return[a+X*v,s+X*M,f*Math.exp(e*X*F)]};else{var b=Math.sqrt(S),O=(m*m-f*f+r*S)/(2*f*n*b),k=(m*m-f*f-r*S)/(2*m*n*b),W=Math.log(Math.sqrt(O*O+1)-O),N=Math.
log(Math.sqrt(k*k+1)-k);F=(N-W)/e,C=function(X){var j=X*F,et=Ia(W),J=f/(n*b)*(et*S0(e*j+W)-M0(W));return[a+J*v,s+J*M,f*et/Ia(e*j+W)]}}return C.duration=
Math.abs(F)*1e3*e/Math.SQRT2,C}return i.rho=function(l){var o=Math.max(.001,+l),a=o*o,s=a*a;return t(o,a,s)},i})(Math.SQRT2,2,4);function Ba(t){return function(e,n){
var r=t((e=pi(e)).h,(n=pi(n)).h),i=oe(e.s,n.s),l=oe(e.l,n.l),o=oe(e.opacity,n.opacity);return function(a){return e.h=r(a),e.s=i(a),e.l=l(a),e.opacity=
o(a),e+""}}}var My=Ba(Rl),Sy=Ba(oe);function Wa(t){return function(e,n){var r=t((e=di(e)).h,(n=di(n)).h),i=oe(e.c,n.c),l=oe(e.l,n.l),o=oe(e.opacity,n.opacity);return function(a){return e.
h=r(a),e.c=i(a),e.l=l(a),e.opacity=o(a),e+""}}}var ky=Wa(Rl),Ay=Wa(oe);function Ya(t){return(function e(n){n=+n;function r(i,l){var o=t((i=mi(i)).h,(l=
mi(l)).h),a=oe(i.s,l.s),s=oe(i.l,l.l),f=oe(i.opacity,l.opacity);return function(g){return i.h=o(g),i.s=a(g),i.l=s(Math.pow(g,n)),i.opacity=f(g),i+""}}
return r.gamma=e,r})(1)}var Ny=Ya(Rl),Ey=Ya(oe);function k0(t,e){switch(arguments.length){case 0:break;case 1:this.range(t);break;default:this.range(e).domain(t);break}return this}function A0(t){return function(){return t}}function N0(t){return+t}var Ga=[0,1];function nr(t){return t}function zl(t,e){return(e-=t=+t)?function(n){return(n-
t)/e}:A0(isNaN(e)?NaN:.5)}function E0(t,e){var n;return t>e&&(n=t,t=e,e=n),function(r){return Math.max(t,Math.min(e,r))}}function T0(t,e,n){var r=t[0],
i=t[1],l=e[0],o=e[1];return i<r?(r=zl(i,r),l=n(o,l)):(r=zl(r,i),l=n(l,o)),function(a){return l(r(a))}}function C0(t,e,n){var r=Math.min(t.length,e.length)-
1,i=new Array(r),l=new Array(r),o=-1;for(t[r]<t[0]&&(t=t.slice().reverse(),e=e.slice().reverse());++o<r;)i[o]=zl(t[o],t[o+1]),l[o]=n(e[o],e[o+1]);return function(a){
var s=ea(t,a,1,r)-1;return l[s](i[s](a))}}function D0(t,e){return e.domain(t.domain()).range(t.range()).interpolate(t.interpolate()).clamp(t.clamp()).
unknown(t.unknown())}function P0(){var t=Ga,e=Ga,n=xi,r,i,l,o=nr,a,s,f;function g(){var m=Math.min(t.length,e.length);return o!==nr&&(o=E0(t[0],t[m-1])),
a=m>2?C0:T0,s=f=null,p}function p(m){return m==null||isNaN(m=+m)?l:(s||(s=a(t.map(r),e,n)))(r(o(m)))}return p.invert=function(m){return o(i((f||(f=a(e,
t.map(r),pe)))(m)))},p.domain=function(m){return arguments.length?(t=Array.from(m,N0),g()):t.slice()},p.range=function(m){return arguments.length?(e=Array.
from(m),g()):e.slice()},p.rangeRound=function(m){return e=Array.from(m),n=Ha,g()},p.clamp=function(m){return arguments.length?(o=m?!0:nr,g()):o!==nr},
p.interpolate=function(m){return arguments.length?(n=m,g()):n},p.unknown=function(m){return arguments.length?(l=m,p):l},function(m,v){return r=m,i=v,g()}}
function L0(){return P0()(nr,nr)}function I0(t,e,n,r){var i=la(t,e,n),l;switch(r=kr(r??",f"),r.type){case"s":{var o=Math.max(Math.abs(t),Math.abs(e));
return r.precision==null&&!isNaN(l=Ju(i,o))&&(r.precision=l),bl(r,o)}case"":case"e":case"g":case"p":case"r":{r.precision==null&&!isNaN(l=ju(i,Math.max(
Math.abs(t),Math.abs(e))))&&(r.precision=l-(r.type==="e"));break}case"f":case"%":{r.precision==null&&!isNaN(l=Qu(i))&&(r.precision=l-(r.type==="%")*2);
break}}return Zn(r)}function R0(t){var e=t.domain;return t.ticks=function(n){var r=e();return ia(r[0],r[r.length-1],n??10)},t.tickFormat=function(n,r){
var i=e();return I0(i[0],i[i.length-1],n??10,r)},t.nice=function(n){n==null&&(n=10);var r=e(),i=0,l=r.length-1,o=r[i],a=r[l],s,f,g=10;for(a<o&&(f=o,o=
a,a=f,f=i,i=l,l=f);g-- >0;){if(f=ui(o,a,n),f===s)return r[i]=o,r[l]=a,e(r);if(f>0)o=Math.floor(o/f)*f,a=Math.ceil(a/f)*f;else if(f<0)o=Math.ceil(o*f)/
f,a=Math.floor(a*f)/f;else break;s=f}return t},t}function vi(){var t=L0();return t.copy=function(){return D0(t,vi())},k0.apply(t,arguments),R0(t)}function bi(t){return((t*=2)<=1?t*t*t:(t-=2)*t*t+2)/2}var Hl=3,Fy=(function t(e){e=+e;function n(r){return Math.pow(r,e)}return n.exponent=t,n})(Hl),Vy=(function t(e){
e=+e;function n(r){return 1-Math.pow(1-r,e)}return n.exponent=t,n})(Hl),qy=(function t(e){e=+e;function n(r){return((r*=2)<=1?Math.pow(r,e):2-Math.pow(
2-r,e))/2}return n.exponent=t,n})(Hl),O0=Math.PI,$y=O0/2;function _i(t){return(Math.pow(2,-10*t)-.0009765625)*1.0009775171065494}var Ua=4/11,By=6/11,Wy=8/11,Yy=3/4,Gy=9/11,Uy=10/11,Ky=15/16,Zy=21/22,Qy=63/64,Jy=1/Ua/Ua;var Fl=1.70158,jy=(function t(e){e=+e;function n(r){return(r=+r)*r*(e*(r-1)+r)}return n.overshoot=t,n})(Fl),Xy=(function t(e){e=+e;function n(r){return--r*
r*((r+1)*e+r)+1}return n.overshoot=t,n})(Fl),tw=(function t(e){e=+e;function n(r){return((r*=2)<1?r*r*((e+1)*r-e):(r-=2)*r*((e+1)*r+e)+2)/2}return n.overshoot=
t,n})(Fl),rr=2*Math.PI,Vl=1,ql=.3,ew=(function t(e,n){var r=Math.asin(1/(e=Math.max(1,e)))*(n/=rr);function i(l){return e*_i(- --l)*Math.sin((r-l)/n)}
return i.amplitude=function(l){return t(l,n*rr)},i.period=function(l){return t(e,l)},i})(Vl,ql),nw=(function t(e,n){var r=Math.asin(1/(e=Math.max(1,e)))*
(n/=rr);function i(l){return 1-e*_i(l=+l)*Math.sin((l+r)/n)}return i.amplitude=function(l){return t(l,n*rr)},i.period=function(l){return t(e,l)},i})(Vl,
ql),rw=(function t(e,n){var r=Math.asin(1/(e=Math.max(1,e)))*(n/=rr);function i(l){return((l=l*2-1)<0?e*_i(-l)*Math.sin((r-l)/n):2-e*_i(l)*Math.sin((r+
l)/n))/2}return i.amplitude=function(l){return t(l,n*rr)},i.period=function(l){return t(e,l)},i})(Vl,ql);var z0={value:()=>{}};function $l(){for(var t=0,e=arguments.length,n={},r;t<e;++t){if(!(r=arguments[t]+"")||r in n||/[\s.]/.test(r))throw new Error("i\
llegal type: "+r);n[r]=[]}return new Mi(n)}function Mi(t){this._=t}function H0(t,e){return t.trim().split(/^|\s+/).map(function(n){var r="",i=n.indexOf(
".");if(i>=0&&(r=n.slice(i+1),n=n.slice(0,i)),n&&!e.hasOwnProperty(n))throw new Error("unknown type: "+n);return{type:n,name:r}})}Mi.prototype=$l.prototype=
{constructor:Mi,on:function(t,e){var n=this._,r=H0(t+"",n),i,l=-1,o=r.length;if(arguments.length<2){for(;++l<o;)if((i=(t=r[l]).type)&&(i=F0(n[i],t.name)))
return i;return}if(e!=null&&typeof e!="function")throw new Error("invalid callback: "+e);for(;++l<o;)if(i=(t=r[l]).type)n[i]=Ka(n[i],t.name,e);else if(e==
null)for(i in n)n[i]=Ka(n[i],t.name,null);return this},copy:function(){var t={},e=this._;for(var n in e)t[n]=e[n].slice();return new Mi(t)},call:function(t,e){
if((i=arguments.length-2)>0)for(var n=new Array(i),r=0,i,l;r<i;++r)n[r]=arguments[r+2];if(!this._.hasOwnProperty(t))throw new Error("unknown type: "+t);
for(l=this._[t],r=0,i=l.length;r<i;++r)l[r].value.apply(e,n)},apply:function(t,e,n){if(!this._.hasOwnProperty(t))throw new Error("unknown type: "+t);for(var r=this.
_[t],i=0,l=r.length;i<l;++i)r[i].value.apply(e,n)}};function F0(t,e){for(var n=0,r=t.length,i;n<r;++n)if((i=t[n]).name===e)return i.value}function Ka(t,e,n){
for(var r=0,i=t.length;r<i;++r)if(t[r].name===e){t[r]=z0,t=t.slice(0,r).concat(t.slice(r+1));break}return n!=null&&t.push({name:e,value:n}),t}var ir=0,Lr=0,Pr=0,Qa=1e3,Si,Ir,ki=0,An=0,Ni=0,Rr=typeof performance=="object"&&performance.now?performance:Date,Ja=typeof window=="object"&&window.requestAnimationFrame?
window.requestAnimationFrame.bind(window):function(t){setTimeout(t,17)};function Ei(){return An||(Ja(V0),An=Rr.now()+Ni)}function V0(){An=0}function Ai(){
this._call=this._time=this._next=null}Ai.prototype=Wl.prototype={constructor:Ai,restart:function(t,e,n){if(typeof t!="function")throw new TypeError("c\
allback is not a function");n=(n==null?Ei():+n)+(e==null?0:+e),!this._next&&Ir!==this&&(Ir?Ir._next=this:Si=this,Ir=this),this._call=t,this._time=n,Bl()},
stop:function(){this._call&&(this._call=null,this._time=1/0,Bl())}};function Wl(t,e,n){var r=new Ai;return r.restart(t,e,n),r}function q0(){Ei(),++ir;
for(var t=Si,e;t;)(e=An-t._time)>=0&&t._call.call(void 0,e),t=t._next;--ir}function Za(){An=(ki=Rr.now())+Ni,ir=Lr=0;try{q0()}finally{ir=0,B0(),An=0}}
function $0(){var t=Rr.now(),e=t-ki;e>Qa&&(Ni-=e,ki=t)}function B0(){for(var t,e=Si,n,r=1/0;e;)e._call?(r>e._time&&(r=e._time),t=e,e=e._next):(n=e._next,
e._next=null,e=t?t._next=n:Si=n);Ir=t,Bl(r)}function Bl(t){if(!ir){Lr&&(Lr=clearTimeout(Lr));var e=t-An;e>24?(t<1/0&&(Lr=setTimeout(Za,Math.ceil(t-Rr.
now()-Ni)+1)),Pr&&(Pr=clearInterval(Pr))):(Pr||(ki=Rr.now(),Pr=setInterval($0,Qa)),ir=1,Ja(Za))}}function Yl(t,e,n){var r=new Ai;return e=e==null?0:+e,
r.restart(i=>{r.stop(),t(i+e)},e,n),r}var W0=$l("start","end","cancel","interrupt"),Y0=[],tf=0,ja=1,Gl=2,Ti=3,Xa=4,Ul=5,Ci=6;function Di(t,e,n,r,i,l){var o=t.__transition;if(!o)t.__transition=
{};else if(n in o)return;G0(t,n,{name:e,index:r,group:i,on:W0,tween:Y0,time:l.time,delay:l.delay,duration:l.duration,ease:l.ease,timer:null,state:tf})}
function Kl(t,e){var n=Pe(t,e);if(n.state>tf)throw new Error("too late; already scheduled");return n}function We(t,e){var n=Pe(t,e);if(n.state>Ti)throw new Error(
"too late; already running");return n}function Pe(t,e){var n=t.__transition;if(!n||!(n=n[e]))throw new Error("transition not found");return n}function G0(t,e,n){
var r=t.__transition,i;r[e]=n,n.timer=Wl(l,0,n.time);function l(f){n.state=ja,n.timer.restart(o,n.delay,n.time),n.delay<=f&&o(f-n.delay)}function o(f){
var g,p,m,v;if(n.state!==ja)return s();for(g in r)if(v=r[g],v.name===n.name){if(v.state===Ti)return Yl(o);v.state===Xa?(v.state=Ci,v.timer.stop(),v.on.
call("interrupt",t,t.__data__,v.index,v.group),delete r[g]):+g<e&&(v.state=Ci,v.timer.stop(),v.on.call("cancel",t,t.__data__,v.index,v.group),delete r[g])}
if(Yl(function(){n.state===Ti&&(n.state=Xa,n.timer.restart(a,n.delay,n.time),a(f))}),n.state=Gl,n.on.call("start",t,t.__data__,n.index,n.group),n.state===
Gl){for(n.state=Ti,i=new Array(m=n.tween.length),g=0,p=-1;g<m;++g)(v=n.tween[g].value.call(t,t.__data__,n.index,n.group))&&(i[++p]=v);i.length=p+1}}function a(f){
for(var g=f<n.duration?n.ease.call(null,f/n.duration):(n.timer.restart(s),n.state=Ul,1),p=-1,m=i.length;++p<m;)i[p].call(t,g);n.state===Ul&&(n.on.call(
"end",t,t.__data__,n.index,n.group),s())}function s(){n.state=Ci,n.timer.stop(),delete r[e];for(var f in r)return;delete t.__transition}}function U0(t,e){
var n=t.__transition,r,i,l=!0,o;if(n){e=e==null?null:e+"";for(o in n){if((r=n[o]).name!==e){l=!1;continue}i=r.state>Gl&&r.state<Ul,r.state=Ci,r.timer.
stop(),r.on.call(i?"interrupt":"cancel",t,t.__data__,r.index,r.group),delete n[o]}l&&delete t.__transition}}function K0(t){return this.each(function(){
U0(this,t)})}function Z0(t,e){var n,r;return function(){var i=We(this,t),l=i.tween;if(l!==n){r=n=l;for(var o=0,a=r.length;o<a;++o)if(r[o].name===e){r=
r.slice(),r.splice(o,1);break}}i.tween=r}}function Q0(t,e,n){var r,i;if(typeof n!="function")throw new Error;return function(){var l=We(this,t),o=l.tween;
if(o!==r){i=(r=o).slice();for(var a={name:e,value:n},s=0,f=i.length;s<f;++s)if(i[s].name===e){i[s]=a;break}s===f&&i.push(a)}l.tween=i}}function J0(t,e){
var n=this._id;if(t+="",arguments.length<2){for(var r=Pe(this.node(),n).tween,i=0,l=r.length,o;i<l;++i)if((o=r[i]).name===t)return o.value;return null}
return this.each((e==null?Z0:Q0)(n,t,e))}function Zl(t,e,n){var r=t._id;return t.each(function(){var i=We(this,r);(i.value||(i.value={}))[e]=n.apply(this,
arguments)}),function(i){return Pe(i,r).value[e]}}function ef(t,e){var n;return(typeof e=="number"?pe:e instanceof Ze?Dr:(n=Ze(e))?(e=n,Dr):Ol)(t,e)}function j0(t){
return function(){this.removeAttribute(t)}}function X0(t){return function(){this.removeAttributeNS(t.space,t.local)}}function tp(t,e,n){var r,i=n+"",l;
return function(){var o=this.getAttribute(t);return o===i?null:o===r?l:l=e(r=o,n)}}function ep(t,e,n){var r,i=n+"",l;return function(){var o=this.getAttributeNS(
t.space,t.local);return o===i?null:o===r?l:l=e(r=o,n)}}function np(t,e,n){var r,i,l;return function(){var o,a=n(this),s;return a==null?void this.removeAttribute(
t):(o=this.getAttribute(t),s=a+"",o===s?null:o===r&&s===i?l:(i=s,l=e(r=o,a)))}}function rp(t,e,n){var r,i,l;return function(){var o,a=n(this),s;return a==
null?void this.removeAttributeNS(t.space,t.local):(o=this.getAttributeNS(t.space,t.local),s=a+"",o===s?null:o===r&&s===i?l:(i=s,l=e(r=o,a)))}}function ip(t,e){
var n=on(t),r=n==="transform"?$a:ef;return this.attrTween(t,typeof e=="function"?(n.local?rp:np)(n,r,Zl(this,"attr."+t,e)):e==null?(n.local?X0:j0)(n):
(n.local?ep:tp)(n,r,e))}function lp(t,e){return function(n){this.setAttribute(t,e.call(this,n))}}function op(t,e){return function(n){this.setAttributeNS(
t.space,t.local,e.call(this,n))}}function up(t,e){var n,r;function i(){var l=e.apply(this,arguments);return l!==r&&(n=(r=l)&&op(t,l)),n}return i._value=
e,i}function ap(t,e){var n,r;function i(){var l=e.apply(this,arguments);return l!==r&&(n=(r=l)&&lp(t,l)),n}return i._value=e,i}function fp(t,e){var n="\
attr."+t;if(arguments.length<2)return(n=this.tween(n))&&n._value;if(e==null)return this.tween(n,null);if(typeof e!="function")throw new Error;var r=on(
t);return this.tween(n,(r.local?up:ap)(r,e))}function sp(t,e){return function(){Kl(this,t).delay=+e.apply(this,arguments)}}function cp(t,e){return e=+e,
function(){Kl(this,t).delay=e}}function hp(t){var e=this._id;return arguments.length?this.each((typeof t=="function"?sp:cp)(e,t)):Pe(this.node(),e).delay}
function pp(t,e){return function(){We(this,t).duration=+e.apply(this,arguments)}}function dp(t,e){return e=+e,function(){We(this,t).duration=e}}function gp(t){
var e=this._id;return arguments.length?this.each((typeof t=="function"?pp:dp)(e,t)):Pe(this.node(),e).duration}function mp(t,e){if(typeof e!="function")
throw new Error;return function(){We(this,t).ease=e}}function yp(t){var e=this._id;return arguments.length?this.each(mp(e,t)):Pe(this.node(),e).ease}function wp(t,e){
return function(){var n=e.apply(this,arguments);if(typeof n!="function")throw new Error;We(this,t).ease=n}}function xp(t){if(typeof t!="function")throw new Error;
return this.each(wp(this._id,t))}function vp(t){typeof t!="function"&&(t=Mr(t));for(var e=this._groups,n=e.length,r=new Array(n),i=0;i<n;++i)for(var l=e[i],
o=l.length,a=r[i]=[],s,f=0;f<o;++f)(s=l[f])&&t.call(s,s.__data__,f,l)&&a.push(s);return new Je(r,this._parents,this._name,this._id)}function _p(t){if(t.
_id!==this._id)throw new Error;for(var e=this._groups,n=t._groups,r=e.length,i=n.length,l=Math.min(r,i),o=new Array(r),a=0;a<l;++a)for(var s=e[a],f=n[a],
g=s.length,p=o[a]=new Array(g),m,v=0;v<g;++v)(m=s[v]||f[v])&&(p[v]=m);for(;a<r;++a)o[a]=e[a];return new Je(o,this._parents,this._name,this._id)}function bp(t){
return(t+"").trim().split(/^|\s+/).every(function(e){var n=e.indexOf(".");return n>=0&&(e=e.slice(0,n)),!e||e==="start"})}function Mp(t,e,n){var r,i,l=bp(
e)?Kl:We;return function(){var o=l(this,t),a=o.on;a!==r&&(i=(r=a).copy()).on(e,n),o.on=i}}function Sp(t,e){var n=this._id;return arguments.length<2?Pe(
this.node(),n).on.on(t):this.each(Mp(n,t,e))}function kp(t){return function(){var e=this.parentNode;for(var n in this.__transition)if(+n!==t)return;e&&
e.removeChild(this)}}function Ap(){return this.on("end.remove",kp(this._id))}function Np(t){var e=this._name,n=this._id;typeof t!="function"&&(t=wn(t));
for(var r=this._groups,i=r.length,l=new Array(i),o=0;o<i;++o)for(var a=r[o],s=a.length,f=l[o]=new Array(s),g,p,m=0;m<s;++m)(g=a[m])&&(p=t.call(g,g.__data__,
m,a))&&("__data__"in g&&(p.__data__=g.__data__),f[m]=p,Di(f[m],e,n,m,f,Pe(g,n)));return new Je(l,this._parents,e,n)}function Ep(t){var e=this._name,n=this.
_id;typeof t!="function"&&(t=br(t));for(var r=this._groups,i=r.length,l=[],o=[],a=0;a<i;++a)for(var s=r[a],f=s.length,g,p=0;p<f;++p)if(g=s[p]){for(var m=t.
call(g,g.__data__,p,s),v,M=Pe(g,n),S=0,C=m.length;S<C;++S)(v=m[S])&&Di(v,e,n,S,m,M);l.push(m),o.push(g)}return new Je(l,o,e,n)}var Tp=xn.prototype.constructor;
function Cp(){return new Tp(this._groups,this._parents)}function Dp(t,e){var n,r,i;return function(){var l=un(this,t),o=(this.style.removeProperty(t),
un(this,t));return l===o?null:l===n&&o===r?i:i=e(n=l,r=o)}}function nf(t){return function(){this.style.removeProperty(t)}}function Pp(t,e,n){var r,i=n+
"",l;return function(){var o=un(this,t);return o===i?null:o===r?l:l=e(r=o,n)}}function Lp(t,e,n){var r,i,l;return function(){var o=un(this,t),a=n(this),
s=a+"";return a==null&&(s=a=(this.style.removeProperty(t),un(this,t))),o===s?null:o===r&&s===i?l:(i=s,l=e(r=o,a))}}function Ip(t,e){var n,r,i,l="style\
."+e,o="end."+l,a;return function(){var s=We(this,t),f=s.on,g=s.value[l]==null?a||(a=nf(e)):void 0;(f!==n||i!==g)&&(r=(n=f).copy()).on(o,i=g),s.on=r}}
function Rp(t,e,n){var r=(t+="")=="transform"?qa:ef;return e==null?this.styleTween(t,Dp(t,r)).on("end.style."+t,nf(t)):typeof e=="function"?this.styleTween(
t,Lp(t,r,Zl(this,"style."+t,e))).each(Ip(this._id,t)):this.styleTween(t,Pp(t,r,e),n).on("end.style."+t,null)}function Op(t,e,n){return function(r){this.
style.setProperty(t,e.call(this,r),n)}}function zp(t,e,n){var r,i;function l(){var o=e.apply(this,arguments);return o!==i&&(r=(i=o)&&Op(t,o,n)),r}return l.
_value=e,l}function Hp(t,e,n){var r="style."+(t+="");if(arguments.length<2)return(r=this.tween(r))&&r._value;if(e==null)return this.tween(r,null);if(typeof e!=
"function")throw new Error;return this.tween(r,zp(t,e,n??""))}function Fp(t){return function(){this.textContent=t}}function Vp(t){return function(){var e=t(
this);this.textContent=e??""}}function qp(t){return this.tween("text",typeof t=="function"?Vp(Zl(this,"text",t)):Fp(t==null?"":t+""))}function $p(t){return function(e){
this.textContent=t.call(this,e)}}function Bp(t){var e,n;function r(){var i=t.apply(this,arguments);return i!==n&&(e=(n=i)&&$p(i)),e}return r._value=t,
r}function Wp(t){var e="text";if(arguments.length<1)return(e=this.tween(e))&&e._value;if(t==null)return this.tween(e,null);if(typeof t!="function")throw new Error;
return this.tween(e,Bp(t))}function Yp(){for(var t=this._name,e=this._id,n=rf(),r=this._groups,i=r.length,l=0;l<i;++l)for(var o=r[l],a=o.length,s,f=0;f<
a;++f)if(s=o[f]){var g=Pe(s,e);Di(s,t,n,f,o,{time:g.time+g.delay+g.duration,delay:0,duration:g.duration,ease:g.ease})}return new Je(r,this._parents,t,
n)}function Gp(){var t,e,n=this,r=n._id,i=n.size();return new Promise(function(l,o){var a={value:o},s={value:function(){--i===0&&l()}};n.each(function(){
var f=We(this,r),g=f.on;g!==t&&(e=(t=g).copy(),e._.cancel.push(a),e._.interrupt.push(a),e._.end.push(s)),f.on=e}),i===0&&l()})}var Up=0;function Je(t,e,n,r){
this._groups=t,this._parents=e,this._name=n,this._id=r}function Kp(t){return xn().transition(t)}function rf(){return++Up}var Qe=xn.prototype;Je.prototype=
Kp.prototype={constructor:Je,select:Np,selectAll:Ep,selectChild:Qe.selectChild,selectChildren:Qe.selectChildren,filter:vp,merge:_p,selection:Cp,transition:Yp,
call:Qe.call,nodes:Qe.nodes,node:Qe.node,size:Qe.size,empty:Qe.empty,each:Qe.each,on:Sp,attr:ip,attrTween:fp,style:Rp,styleTween:Hp,text:qp,textTween:Wp,
remove:Ap,tween:J0,delay:hp,duration:gp,ease:yp,easeVarying:xp,end:Gp,[Symbol.iterator]:Qe[Symbol.iterator]};var Zp={time:null,delay:0,duration:250,ease:bi};
function Qp(t,e){for(var n;!(n=t.__transition)||!(n=n[e]);)if(!(t=t.parentNode))throw new Error(`transition ${e} not found`);return n}function Jp(t){var e,
n;t instanceof Je?(e=t._id,t=t._name):(e=rf(),(n=Zp).time=Ei(),t=t==null?null:t+"");for(var r=this._groups,i=r.length,l=0;l<i;++l)for(var o=r[l],a=o.length,
s,f=0;f<a;++f)(s=o[f])&&Di(s,t,e,f,o,n||Qp(s,e));return new Je(r,this._parents,t,e)}xn.prototype.interrupt=K0;xn.prototype.transition=Jp;function jp(t){let n=0,r=0,i=1,l=10;if(t){for(let o=0;o<t.length&&!(o>6);o++)n+=i*(t.charCodeAt(o)%l),r+=i*(l-1),i*=.7;r>0&&(n=n/r)}return n}function Xp(t){
let e=0;if(t){let n=t.split("`");n.length>1&&(t=n[n.length-1]),t=t.split("(")[0],e=jp(t)}return e}function td(t,e){let n,r,i;return t==="red"?(n=200+Math.
round(55*e),r=50+Math.round(80*e),i=r):t==="orange"?(n=190+Math.round(65*e),r=90+Math.round(65*e),i=0):t==="yellow"?(n=175+Math.round(55*e),r=n,i=50+Math.
round(20*e)):t==="green"?(n=50+Math.round(60*e),r=200+Math.round(55*e),i=n):t==="pastelgreen"?(n=163+Math.round(75*e),r=195+Math.round(49*e),i=72+Math.
round(149*e)):t==="blue"?(n=91+Math.round(126*e),r=156+Math.round(76*e),i=221+Math.round(26*e)):t==="aqua"?(n=50+Math.round(60*e),r=165+Math.round(55*
e),i=r):t==="cold"?(n=0+Math.round(55*(1-e)),r=0+Math.round(230*(1-e)),i=200+Math.round(55*e)):(n=200+Math.round(55*e),r=0+Math.round(230*(1-e)),i=0+Math.
round(55*(1-e))),"rgb("+n+","+r+","+i+")"}function lf(){let t=960,e=null,n=18,r=null,i=null,l="",o=750,a=bi,s=!1,f=!1,g=null,p=null,m=0,v=null,M=null,S=!1,C=!1,F=!1,b=null,O=!1,k=null,W=function(w){
return w.data.n||w.data.name},N=function(w){return"v"in w?w.v:w.value},X=function(w){return w.c||w.children},j=function(w){return w.data.l||w.data.libtype},
et=function(w){return"d"in w.data?w.data.d:w.data.delta},J=function(w,R,D){M=()=>{v&&(v.textContent="search: "+R+" of "+D+" total samples ( "+Zn(".3f")(
100*(R/D),3)+"%)")},M()},P=J,L=(w,R,D=!1)=>{if(!R)return!1;let G=W(w);D&&(R=R.toLowerCase(),G=G.toLowerCase());let nt=new RegExp(R);return typeof G<"u"&&
G&&G.match(nt)},V=L,$=function(w){v&&(w?v.textContent=w:typeof M=="function"?M():v.textContent="")},U=$,ot=function(w){return W(w)+" ("+Zn(".3f")(100*
(w.x1-w.x0),3)+"%, "+N(w)+" samples)"},Y=function(w){return w.highlight?"#E600E6":dt(W(w),j(w))},Ct=Y;function dt(w,R){let D=k||"warm";!k&&!(typeof R>
"u"||R==="")&&(D="red",typeof w<"u"&&w&&w.match(/::/)&&(D="yellow"),R==="kernel"?D="orange":R==="jit"?D="green":R==="inlined"&&(D="aqua"));let G=Xp(w);
return td(D,G)}function rt(w){w.data.fade=!1,w.data.hide=!1,w.children&&w.children.forEach(rt)}function yt(w){let R=w,D=R.parent,G,nt,lt;for(;D;){for(G=
D.children,nt=G.length;nt--;)lt=G[nt],lt!==R&&(lt.data.hide=!0);R=D,D=R.parent}}function ut(w){w.parent&&(w.parent.data.fade=!0,ut(w.parent))}function Z(w,R){
if(i&&i.hide(),yt(w),rt(w),ut(w),wt(),F){let D=R.parentNode.offsetTop,G=(window.innerHeight-D)/n,nt=(w.height-G+10)*n;window.scrollTo({top:D+nt,left:0,
behavior:"smooth"})}typeof g=="function"&&g(w)}function It(w,R){let D=[],G=0;function nt(lt,St){let q=!1;L(lt,R)?(lt.highlight=!0,q=!0,St||(G+=N(lt)),
D.push(lt)):lt.highlight=!1,lt.children&&lt.children.forEach(function(I){nt(I,St||q)})}return nt(w,!1),[D,G]}function Ft(w,R){if(w.id===R)return w;{let D=w.
children;if(D)for(let G=0;G<D.length;G++){let nt=Ft(D[G],R);if(nt)return nt}}}function _t(w){w.highlight=!1,w.children&&w.children.forEach(function(R){
_t(R)})}function ct(w,R){if(typeof s=="function")return s(w,R);if(s)return _n(W(w),W(R))}let ue=oa();function jt(w){let R=w.descendants();if(m>0){let D=t/
(w.x1-w.x0);R=R.filter(function(G){return(G.x1-G.x0)*D>m})}return R}function wt(){r.each(function(w){let R=vi().range([0,t]),D=vi().range([0,n]);s&&w.
sort(ct),Ae(w),ue(w);let G=t/(w.x1-w.x0);function nt(K){return(K.x1-K.x0)*G}let lt=jt(w),St=vn(this).select("svg");St.attr("width",t);let q=St.selectAll(
"g").data(lt,function(K){return K.id});if(!e||C){let K=0;for(let st=0;st<lt.length;++st)lt[st].depth>K&&(K=lt[st].depth);e=(K+3)*n,e<b&&(e=b),St.attr(
"height",e)}q.transition().duration(o).ease(a).attr("transform",function(K){return"translate("+R(K.x0)+","+(f?D(K.depth):e-D(K.depth)-n)+")"}),q.select(
"rect").transition().duration(o).ease(a).attr("width",nt);let I=q.enter().append("svg:g").attr("transform",function(K){return"translate("+R(K.x0)+","+
(f?D(K.depth):e-D(K.depth)-n)+")"});I.append("svg:rect").transition().delay(o/2).attr("width",nt),i||I.append("svg:title"),I.append("foreignObject").append(
"xhtml:div"),q=St.selectAll("g").data(lt,function(K){return K.id}),q.attr("width",nt).attr("height",function(K){return n}).attr("name",function(K){return W(
K)}).attr("class",function(K){return K.data.fade?"frame fade":"frame"}),q.select("rect").attr("height",function(K){return n}).attr("fill",function(K){
return Y(K)}),i||q.select("title").text(ot),q.select("foreignObject").attr("width",nt).attr("height",function(K){return n}).style("pointer-events","no\
ne").select("div").attr("class","d3-flame-graph-label").style("display",function(K){return nt(K)<35?"none":"block"}).transition().delay(o).text(W),q.on(
"click",function(K,st){Z(st,this)}),q.exit().remove(),q.on("mouseover",function(K,st){i&&i.show(K,st),$(ot(st)),typeof p=="function"&&p(st)}).on("mous\
eout",function(){i&&i.hide(),$(null)})})}function ae(w,R){R.forEach(function(D){let G=w.find(function(nt){return nt.name===D.name});G?(G.value+=D.value,
D.children&&(G.children||(G.children=[]),ae(G.children,D.children))):w.push(D)})}function ke(w,R){R(w);let D=w.children;if(D){let G=[D],nt,lt,St;for(;G.
length;)for(D=G.pop(),nt=D.length;nt--;)lt=D[nt],R(lt),St=lt.children,St&&G.push(St)}}function re(w){let R=0;ke(w,function(D){D.id=R++})}function Ae(w){
let R,D,G,nt,lt,St,q,I,K=[],st=[],ye=[],Ge=!S,Vt=w.data;for(Vt.hide?(w.value=0,D=w.children,D&&ye.push(D)):(w.value=Vt.fade?0:N(Vt),K.push(w));R=K.pop();)
if(D=R.children,D&&(lt=D.length)){for(nt=0;lt--;){if(q=D[lt],Vt=q.data,Vt.hide){q.value=0,G=q.children,G&&ye.push(G);continue}Vt.fade?q.value=0:(I=N(Vt),
q.value=I,nt+=I),K.push(q)}Ge&&R.value&&(R.value-=nt),st.push(D)}for(lt=st.length;lt--;){for(D=st[lt],nt=0,St=D.length;St--;)nt+=D[St].value;D[0].parent.
value+=nt}for(;ye.length;)for(D=ye.pop(),St=D.length;St--;)q=D[St],q.value=0,G=q.children,G&&ye.push(G)}function Oe(){r.datum(w=>{if(w.constructor.name!==
"Node"){let R=ai(w,X);return re(R),Ae(R),R.originalValue=R.value,O&&R.eachAfter(D=>{let G=et(D),nt=D.children,lt=nt&&nt.length;for(;--lt>=0;)G+=nt[lt].
delta;D.delta=G}),R}})}function E(w){if(!arguments.length)return E;r=w,Oe(),r.each(function(R){if(vn(this).select("svg").size()===0){let D=vn(this).append(
"svg:svg").attr("width",t).attr("class","partition d3-flame-graph");e&&(e<b&&(e=b),D.attr("height",e)),D.append("svg:text").attr("class","title").attr(
"text-anchor","middle").attr("y","25").attr("x",t/2).attr("fill","#808080").text(l),i&&D.call(i)}}),wt()}return E.height=function(w){return arguments.
length?(e=w,E):e},E.minHeight=function(w){return arguments.length?(b=w,E):b},E.width=function(w){return arguments.length?(t=w,E):t},E.cellHeight=function(w){
return arguments.length?(n=w,E):n},E.tooltip=function(w){return arguments.length?(typeof w=="function"&&(i=w),E):i},E.title=function(w){return arguments.
length?(l=w,E):l},E.transitionDuration=function(w){return arguments.length?(o=w,E):o},E.transitionEase=function(w){return arguments.length?(a=w,E):a},
E.sort=function(w){return arguments.length?(s=w,E):s},E.inverted=function(w){return arguments.length?(f=w,E):f},E.computeDelta=function(w){return arguments.
length?(O=w,E):O},E.setLabelHandler=function(w){return arguments.length?(ot=w,E):ot},E.label=E.setLabelHandler,E.search=function(w){let R=[],D=0,G=0;r.
each(function(nt){let lt=It(nt,w);R.push(...lt[0]),D+=lt[1],G+=nt.originalValue}),J(R,D,G),wt()},E.findById=function(w){if(typeof w>"u"||w===null)return null;
let R=null;return r.each(function(D){R===null&&(R=Ft(D,w))}),R},E.clear=function(){$(null),r.each(function(w){_t(w),wt()})},E.zoomTo=function(w){Z(w,r.
node())},E.resetZoom=function(){r.each(function(w){Z(w,r.node())})},E.onClick=function(w){return arguments.length?(g=w,E):g},E.onHover=function(w){return arguments.
length?(p=w,E):p},E.merge=function(w){return r&&(this.resetZoom(),M=null,$(null),r.datum(R=>(ae([R.data],[w]),R.data)),Oe(),wt()),E},E.update=function(w){
return r&&(w&&(r.datum(w),Oe()),wt()),E},E.destroy=function(){return r&&(i&&(i.hide(),typeof i.destroy=="function"&&i.destroy()),r.selectAll("svg").remove()),
E},E.setColorMapper=function(w){return arguments.length?(Y=R=>{let D=Ct(R);return w(R,D)},E):(Y=Ct,E)},E.color=E.setColorMapper,E.setColorHue=function(w){
return arguments.length?(k=w,E):(k=null,E)},E.minFrameSize=function(w){return arguments.length?(m=w,E):m},E.setDetailsElement=function(w){return arguments.
length?(v=w,E):v},E.details=E.setDetailsElement,E.selfValue=function(w){return arguments.length?(S=w,E):S},E.resetHeightOnZoom=function(w){return arguments.
length?(C=w,E):C},E.scrollOnZoom=function(w){return arguments.length?(F=w,E):F},E.getName=function(w){return arguments.length?(W=w,E):W},E.getValue=function(w){
return arguments.length?(N=w,E):N},E.getChildren=function(w){return arguments.length?(X=w,E):X},E.getLibtype=function(w){return arguments.length?(j=w,
E):j},E.getDelta=function(w){return arguments.length?(et=w,E):et},E.setSearchHandler=function(w){return arguments.length?(J=w,E):(J=P,E)},E.setDetailsHandler=
function(w){return arguments.length?($=w,E):($=U,E)},E.setSearchMatch=function(w){return arguments.length?(L=w,E):(L=V,E)},E}var ed="uplot",nd="u-hz",rd="u-vt",id="u-title",ld="u-wrap",od="u-under",ud="u-over",ad="u-axis",Tn="u-off",fd="u-select",sd="u-cursor-x",cd="u-cursor\
-y",hd="u-cursor-pt",pd="u-legend",dd="u-live",gd="u-inline",md="u-series",yd="u-marker",of="u-label",wd="u-value",zr="width",Hr="height";var uf="bottom",lr="left",Ql="right",po="#000",af=po+"0",Jl="mousemove",ff="mousedown",jl="mouseup",sf="mouseenter",cf="mouseleave",hf="dblclick",xd="\
resize",vd="scroll",pf="change",Oi="dppxchange",go="--",hr=typeof window<"u",ro=hr?document:null,ur=hr?window:null,_d=hr?navigator:null,mt,Pi;function io(){
let t=devicePixelRatio;mt!=t&&(mt=t,Pi&&oo(pf,Pi,io),Pi=matchMedia(`(min-resolution: ${mt-.001}dppx) and (max-resolution: ${mt+.001}dppx)`),Cn(pf,Pi,io),
ur.dispatchEvent(new CustomEvent(Oi)))}function de(t,e){if(e!=null){let n=t.classList;!n.contains(e)&&n.add(e)}}function lo(t,e){let n=t.classList;n.contains(
e)&&n.remove(e)}function Et(t,e,n){t.style[e]=n+"px"}function Le(t,e,n,r){let i=ro.createElement(t);return e!=null&&de(i,e),n?.insertBefore(i,r),i}function Me(t,e){
return Le("div",t,e)}var df=new WeakMap;function Ye(t,e,n,r,i){let l="translate("+e+"px,"+n+"px)",o=df.get(t);l!=o&&(t.style.transform=l,df.set(t,l),e<
0||n<0||e>r||n>i?de(t,Tn):lo(t,Tn))}var gf=new WeakMap;function mf(t,e,n){let r=e+n,i=gf.get(t);r!=i&&(gf.set(t,r),t.style.background=e,t.style.borderColor=
n)}var yf=new WeakMap;function wf(t,e,n,r){let i=e+""+n,l=yf.get(t);i!=l&&(yf.set(t,i),t.style.height=n+"px",t.style.width=e+"px",t.style.marginLeft=r?
-e/2+"px":0,t.style.marginTop=r?-n/2+"px":0)}var mo={passive:!0},bd={...mo,capture:!0};function Cn(t,e,n,r){e.addEventListener(t,n,r?bd:mo)}function oo(t,e,n,r){
e.removeEventListener(t,n,mo)}hr&&io();function Ie(t,e,n,r){let i;n=n||0,r=r||e.length-1;let l=r<=2147483647;for(;r-n>1;)i=l?n+r>>1:ge((n+r)/2),e[i]<t?
n=i:r=i;return t-e[n]<=e[r]-t?n:r}function Gf(t){return(n,r,i)=>{let l=-1,o=-1;for(let a=r;a<=i;a++)if(t(n[a])){l=a;break}for(let a=i;a>=r;a--)if(t(n[a])){
o=a;break}return[l,o]}}var Uf=t=>t!=null,Kf=t=>t!=null&&t>0,Fi=Gf(Uf),Md=Gf(Kf);function Sd(t,e,n,r=0,i=!1){let l=i?Md:Fi,o=i?Kf:Uf;[e,n]=l(t,e,n);let a=t[e],
s=t[e];if(e>-1)if(r==1)a=t[e],s=t[n];else if(r==-1)a=t[n],s=t[e];else for(let f=e;f<=n;f++){let g=t[f];o(g)&&(g<a?a=g:g>s&&(s=g))}return[a??bt,s??-bt]}
function Vi(t,e,n,r){let i=_f(t),l=_f(e);t==e&&(i==-1?(t*=n,e/=n):(t/=n,e*=n));let o=n==10?je:Zf,a=i==1?ge:Se,s=l==1?Se:ge,f=a(o(Ht(t))),g=s(o(Ht(e))),
p=ar(n,f),m=ar(n,g);return n==10&&(f<0&&(p=Mt(p,-f)),g<0&&(m=Mt(m,-g))),r||n==2?(t=p*i,e=m*l):(t=Xf(t,p),e=qi(e,m)),[t,e]}function yo(t,e,n,r){let i=Vi(
t,e,n,r);return t==0&&(i[0]=0),e==0&&(i[1]=0),i}var wo=.1,xf={mode:3,pad:wo},Vr={pad:0,soft:null,mode:0},kd={min:Vr,max:Vr};function zi(t,e,n,r){return $i(
n)?vf(t,e,n):(Vr.pad=n,Vr.soft=r?0:null,Vr.mode=r?3:0,vf(t,e,kd))}function pt(t,e){return t??e}function Ad(t,e,n){for(e=pt(e,0),n=pt(n,t.length-1);e<=
n;){if(t[e]!=null)return!0;e++}return!1}function vf(t,e,n){let r=n.min,i=n.max,l=pt(r.pad,0),o=pt(i.pad,0),a=pt(r.hard,-bt),s=pt(i.hard,bt),f=pt(r.soft,
bt),g=pt(i.soft,-bt),p=pt(r.mode,0),m=pt(i.mode,0),v=e-t,M=je(v),S=ne(Ht(t),Ht(e)),C=je(S),F=Ht(C-M);(v<1e-24||F>10)&&(v=0,(t==0||e==0)&&(v=1e-24,p==2&&
f!=bt&&(l=0),m==2&&g!=-bt&&(o=0)));let b=v||S||1e3,O=je(b),k=ar(10,ge(O)),W=b*(v==0?t==0?.1:1:l),N=Mt(Xf(t-W,k/10),24),X=t>=f&&(p==1||p==3&&N<=f||p==2&&
N>=f)?f:bt,j=ne(a,N<X&&t>=X?X:Re(X,N)),et=b*(v==0?e==0?.1:1:o),J=Mt(qi(e+et,k/10),24),P=e<=g&&(m==1||m==3&&J>=g||m==2&&J<=g)?g:-bt,L=Re(s,J>P&&e<=P?P:
ne(P,J));return j==L&&j==0&&(L=100),[j,L]}var Nd=new Intl.NumberFormat(hr?_d.language:"en-US"),xo=t=>Nd.format(t),me=Math,Ri=me.PI,Ht=me.abs,ge=me.floor,
zt=me.round,Se=me.ceil,Re=me.min,ne=me.max,ar=me.pow,_f=me.sign,je=me.log10,Zf=me.log2,Ed=(t,e=1)=>me.sinh(t)*e,Xl=(t,e=1)=>me.asinh(t/e),bt=1/0;function bf(t){
return(je((t^t>>31)-(t>>31))|0)+1}function uo(t,e,n){return Re(ne(t,e),n)}function Qf(t){return typeof t=="function"}function ft(t){return Qf(t)?t:()=>t}
var Td=()=>{},Jf=t=>t,jf=(t,e)=>e,Cd=t=>null,Mf=t=>!0,Sf=(t,e)=>t==e,Dd=/\.\d*?(?=9{6,}|0{6,})/gm,Dn=t=>{if(es(t)||sn.has(t))return t;let e=`${t}`,n=e.
match(Dd);if(n==null)return t;let r=n[0].length-1;if(e.indexOf("e-")!=-1){let[i,l]=e.split("e");return+`${Dn(i)}e${l}`}return Mt(t,r)};function Nn(t,e){
return Dn(Mt(Dn(t/e))*e)}function qi(t,e){return Dn(Se(Dn(t/e))*e)}function Xf(t,e){return Dn(ge(Dn(t/e))*e)}function Mt(t,e=0){if(es(t))return t;let n=10**
e,r=t*n*(1+Number.EPSILON);return zt(r)/n}var sn=new Map;function ts(t){return((""+t).split(".")[1]||"").length}function $r(t,e,n,r){let i=[],l=r.map(
ts);for(let o=e;o<n;o++){let a=Ht(o),s=Mt(ar(t,o),a);for(let f=0;f<r.length;f++){let g=t==10?+`${r[f]}e${o}`:r[f]*s,p=(o>=0?0:a)+(o>=l[f]?0:l[f]),m=t==
10?g:Mt(g,p);i.push(m),sn.set(m,p)}}return i}var qr={},vo=[],fr=[null,null],fn=Array.isArray,es=Number.isInteger,Pd=t=>t===void 0;function kf(t){return typeof t==
"string"}function $i(t){let e=!1;if(t!=null){let n=t.constructor;e=n==null||n==Object}return e}function Ld(t){return t!=null&&typeof t=="object"}var Id=Object.
getPrototypeOf(Uint8Array),ns="__proto__";function sr(t,e=$i){let n;if(fn(t)){let r=t.find(i=>i!=null);if(fn(r)||e(r)){n=Array(t.length);for(let i=0;i<
t.length;i++)n[i]=sr(t[i],e)}else n=t.slice()}else if(t instanceof Id)n=t.slice();else if(e(t)){n={};for(let r in t)r!=ns&&(n[r]=sr(t[r],e))}else n=t;
return n}function Ot(t){let e=arguments;for(let n=1;n<e.length;n++){let r=e[n];for(let i in r)i!=ns&&($i(t[i])?Ot(t[i],sr(r[i])):t[i]=sr(r[i]))}return t}
var Rd=0,Od=1,zd=2;function Hd(t,e,n){for(let r=0,i,l=-1;r<e.length;r++){let o=e[r];if(o>l){for(i=o-1;i>=0&&t[i]==null;)t[i--]=null;for(i=o+1;i<n&&t[i]==
null;)t[l=i++]=null}}}function Fd(t,e){if($d(t)){let o=t[0].slice();for(let a=1;a<t.length;a++)o.push(...t[a].slice(1));return Bd(o[0])||(o=qd(o)),o}let n=new Set;
for(let o=0;o<t.length;o++){let s=t[o][0],f=s.length;for(let g=0;g<f;g++)n.add(s[g])}let r=[Array.from(n).sort((o,a)=>o-a)],i=r[0].length,l=new Map;for(let o=0;o<
i;o++)l.set(r[0][o],o);for(let o=0;o<t.length;o++){let a=t[o],s=a[0];for(let f=1;f<a.length;f++){let g=a[f],p=Array(i).fill(void 0),m=e?e[o][f]:Od,v=[];
for(let M=0;M<g.length;M++){let S=g[M],C=l.get(s[M]);S===null?m!=Rd&&(p[C]=S,m==zd&&v.push(C)):p[C]=S}Hd(p,v,i),r.push(p)}}return r}var Vd=typeof queueMicrotask>
"u"?t=>Promise.resolve().then(t):queueMicrotask;function qd(t){let e=t[0],n=e.length,r=Array(n);for(let l=0;l<r.length;l++)r[l]=l;r.sort((l,o)=>e[l]-e[o]);
let i=[];for(let l=0;l<t.length;l++){let o=t[l],a=Array(n);for(let s=0;s<n;s++)a[s]=o[r[s]];i.push(a)}return i}function $d(t){let e=t[0][0],n=e.length;
for(let r=1;r<t.length;r++){let i=t[r][0];if(i.length!=n)return!1;if(i!=e){for(let l=0;l<n;l++)if(i[l]!=e[l])return!1}}return!0}function Bd(t,e=100){let n=t.
length;if(n<=1)return!0;let r=0,i=n-1;for(;r<=i&&t[r]==null;)r++;for(;i>=r&&t[i]==null;)i--;if(i<=r)return!0;let l=ne(1,ge((i-r+1)/e));for(let o=t[r],
a=r+l;a<=i;a+=l){let s=t[a];if(s!=null){if(s<=o)return!1;o=s}}return!0}var rs=["January","February","March","April","May","June","July","August","Sept\
ember","October","November","December"],is=["Sunday","Monday","Tuesday","Wednesday","Thursday","Friday","Saturday"];function ls(t){return t.slice(0,3)}
var Wd=is.map(ls),Yd=rs.map(ls),Gd={MMMM:rs,MMM:Yd,WWWW:is,WWW:Wd};function Or(t){return(t<10?"0":"")+t}function Ud(t){return(t<10?"00":t<100?"0":"")+
t}var Kd={YYYY:t=>t.getFullYear(),YY:t=>(t.getFullYear()+"").slice(2),MMMM:(t,e)=>e.MMMM[t.getMonth()],MMM:(t,e)=>e.MMM[t.getMonth()],MM:t=>Or(t.getMonth()+
1),M:t=>t.getMonth()+1,DD:t=>Or(t.getDate()),D:t=>t.getDate(),WWWW:(t,e)=>e.WWWW[t.getDay()],WWW:(t,e)=>e.WWW[t.getDay()],HH:t=>Or(t.getHours()),H:t=>t.
getHours(),h:t=>{let e=t.getHours();return e==0?12:e>12?e-12:e},AA:t=>t.getHours()>=12?"PM":"AM",aa:t=>t.getHours()>=12?"pm":"am",a:t=>t.getHours()>=12?
"p":"a",mm:t=>Or(t.getMinutes()),m:t=>t.getMinutes(),ss:t=>Or(t.getSeconds()),s:t=>t.getSeconds(),fff:t=>Ud(t.getMilliseconds())};function _o(t,e){e=e||
Gd;let n=[],r=/\{([a-z]+)\}|[^{]+/gi,i;for(;i=r.exec(t);)n.push(i[0][0]=="{"?Kd[i[1]]:i[0]);return l=>{let o="";for(let a=0;a<n.length;a++)o+=typeof n[a]==
"string"?n[a]:n[a](l,e);return o}}var Zd=new Intl.DateTimeFormat().resolvedOptions().timeZone;function Qd(t,e){let n;return e=="UTC"||e=="Etc/UTC"?n=new Date(
+t+t.getTimezoneOffset()*6e4):e==Zd?n=t:(n=new Date(t.toLocaleString("en-US",{timeZone:e})),n.setMilliseconds(t.getMilliseconds())),n}var os=t=>t%1==0,
Hi=[1,2,2.5,5],Jd=$r(10,-32,0,Hi),us=$r(10,0,32,Hi),jd=us.filter(os),En=Jd.concat(us),bo=`
`,as="{YYYY}",Af=bo+as,fs="{M}/{D}",Fr=bo+fs,Li=Fr+"/{YY}",ss="{aa}",Xd="{h}:{mm}",or=Xd+ss,Nf=bo+or,Ef=":{ss}",xt=null;function cs(t){let e=t*1e3,n=e*
60,r=n*60,i=r*24,l=i*30,o=i*365,s=(t==1?$r(10,0,3,Hi).filter(os):$r(10,-3,0,Hi)).concat([e,e*5,e*10,e*15,e*30,n,n*5,n*10,n*15,n*30,r,r*2,r*3,r*4,r*6,r*
8,r*12,i,i*2,i*3,i*4,i*5,i*6,i*7,i*8,i*9,i*10,i*15,l,l*2,l*3,l*4,l*6,o,o*2,o*5,o*10,o*25,o*50,o*100]),f=[[o,as,xt,xt,xt,xt,xt,xt,1],[i*28,"{MMM}",Af,xt,
xt,xt,xt,xt,1],[i,fs,Af,xt,xt,xt,xt,xt,1],[r,"{h}"+ss,Li,xt,Fr,xt,xt,xt,1],[n,or,Li,xt,Fr,xt,xt,xt,1],[e,Ef,Li+" "+or,xt,Fr+" "+or,xt,Nf,xt,1],[t,Ef+"\
.{fff}",Li+" "+or,xt,Fr+" "+or,xt,Nf,xt,1]];function g(p){return(m,v,M,S,C,F)=>{let b=[],O=C>=o,k=C>=l&&C<o,W=p(M),N=Mt(W*t,3),X=to(W.getFullYear(),O?
0:W.getMonth(),k||O?1:W.getDate()),j=Mt(X*t,3);if(k||O){let et=k?C/l:0,J=O?C/o:0,P=N==j?N:Mt(to(X.getFullYear()+J,X.getMonth()+et,1)*t,3),L=new Date(zt(
P/t)),V=L.getFullYear(),$=L.getMonth();for(let U=0;P<=S;U++){let ot=to(V+J*U,$+et*U,1),Y=ot-p(Mt(ot*t,3));P=Mt((+ot+Y)*t,3),P<=S&&b.push(P)}}else{let et=C>=
i?i:C,J=ge(M)-ge(N),P=j+J+qi(N-j,et);b.push(P);let L=p(P),V=L.getHours()+L.getMinutes()/n+L.getSeconds()/r,$=C/r,U=m.axes[v]._space,ot=F/U;for(;P=Mt(P+
C,t==1?0:3),!(P>S);)if($>1){let Y=ge(Mt(V+$,6))%24,rt=p(P).getHours()-Y;rt>1&&(rt=-1),P-=rt*r,V=(V+$)%24;let yt=b[b.length-1];Mt((P-yt)/C,3)*ot>=.7&&b.
push(P)}else b.push(P)}return b}}return[s,f,g]}var[tg,eg,ng]=cs(1),[rg,ig,lg]=cs(.001);$r(2,-53,53,[1]);function Tf(t,e){return t.map(n=>n.map((r,i)=>i==
0||i==8||r==null?r:e(i==1||n[8]==0?r:n[1]+r)))}function Cf(t,e){return(n,r,i,l,o)=>{let a=e.find(M=>o>=M[0])||e[e.length-1],s,f,g,p,m,v;return r.map(M=>{
let S=t(M),C=S.getFullYear(),F=S.getMonth(),b=S.getDate(),O=S.getHours(),k=S.getMinutes(),W=S.getSeconds(),N=C!=s&&a[2]||F!=f&&a[3]||b!=g&&a[4]||O!=p&&
a[5]||k!=m&&a[6]||W!=v&&a[7]||a[1];return s=C,f=F,g=b,p=O,m=k,v=W,N(S)})}}function og(t,e){let n=_o(e);return(r,i,l,o,a)=>i.map(s=>n(t(s)))}function to(t,e,n){
return new Date(t,e,n)}function Df(t,e){return e(t)}var ug="{YYYY}-{MM}-{DD} {h}:{mm}{aa}";function Pf(t,e){return(n,r,i,l)=>l==null?go:e(t(r))}function ag(t,e){
let n=t.series[e];return n.width?n.stroke(t,e):n.points.width?n.points.stroke(t,e):null}function fg(t,e){return t.series[e].fill(t,e)}var sg={show:!0,
live:!0,isolate:!1,mount:Td,markers:{show:!0,width:2,stroke:ag,fill:fg,dash:"solid"},idx:null,idxs:null,values:[]};function cg(t,e){let n=t.cursor.points,
r=Me(),i=n.size(t,e);Et(r,zr,i),Et(r,Hr,i);let l=i/-2;Et(r,"marginLeft",l),Et(r,"marginTop",l);let o=n.width(t,e,i);return o&&Et(r,"borderWidth",o),r}
function hg(t,e){let n=t.series[e].points;return n._fill||n._stroke}function pg(t,e){let n=t.series[e].points;return n._stroke||n._fill}function dg(t,e){
return t.series[e].points.size}var eo=[0,0];function gg(t,e,n){return eo[0]=e,eo[1]=n,eo}function Ii(t,e,n,r=!0){return i=>{i.button==0&&(!r||i.target==
e)&&n(i)}}function no(t,e,n,r=!0){return i=>{(!r||i.target==e)&&n(i)}}var mg={show:!0,x:!0,y:!0,lock:!1,move:gg,points:{one:!1,show:cg,size:dg,width:0,
stroke:pg,fill:hg},bind:{mousedown:Ii,mouseup:Ii,click:Ii,dblclick:Ii,mousemove:no,mouseleave:no,mouseenter:no},drag:{setScale:!0,x:!0,y:!1,dist:0,uni:null,
click:(t,e)=>{e.stopPropagation(),e.stopImmediatePropagation()},_x:!1,_y:!1},focus:{dist:(t,e,n,r,i)=>r-i,prox:-1,bias:0},hover:{skip:[void 0],prox:null,
bias:0},left:-10,top:-10,idx:null,dataIdx:null,idxs:null,event:null},hs={show:!0,stroke:"rgba(0,0,0,0.07)",width:2},Mo=Ot({},hs,{filter:jf}),ps=Ot({},
Mo,{size:10}),ds=Ot({},hs,{show:!1}),So='12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif, "Apple C\
olor Emoji", "Segoe UI Emoji", "Segoe UI Symbol", "Noto Color Emoji"',gs="bold "+So,ms=1.5,Lf={show:!0,scale:"x",stroke:po,space:50,gap:5,alignTo:1,size:50,
labelGap:0,labelSize:30,labelFont:gs,side:2,grid:Mo,ticks:ps,border:ds,font:So,lineGap:ms,rotate:0},yg="Value",wg="Time",If={show:!0,scale:"x",auto:!1,
sorted:1,min:bt,max:-bt,idxs:[]};function xg(t,e,n,r,i){return e.map(l=>l==null?"":xo(l))}function vg(t,e,n,r,i,l,o){let a=[],s=sn.get(i)||0;n=o?n:Mt(
qi(n,i),s);for(let f=n;f<=r;f=Mt(f+i,s))a.push(Object.is(f,-0)?0:f);return a}function ao(t,e,n,r,i,l,o){let a=[],s=t.scales[t.axes[e].scale].log,f=s==
10?je:Zf,g=ge(f(n));i=ar(s,g),s==10&&(i=En[Ie(i,En)]);let p=n,m=i*s;s==10&&(m=En[Ie(m,En)]);do a.push(p),p=p+i,s==10&&!sn.has(p)&&(p=Mt(p,sn.get(i))),
p>=m&&(i=p,m=i*s,s==10&&(m=En[Ie(m,En)]));while(p<=r);return a}function _g(t,e,n,r,i,l,o){let s=t.scales[t.axes[e].scale].asinh,f=r>s?ao(t,e,ne(s,n),r,
i):[s],g=r>=0&&n<=0?[0]:[];return(n<-s?ao(t,e,ne(s,-r),-n,i):[s]).reverse().map(m=>-m).concat(g,f)}var ys=/./,bg=/[12357]/,Mg=/[125]/,Rf=/1/,fo=(t,e,n,r)=>t.
map((i,l)=>e==4&&i==0||l%r==0&&n.test(i.toExponential()[i<0?1:0])?i:null);function Sg(t,e,n,r,i){let l=t.axes[n],o=l.scale,a=t.scales[o],s=t.valToPos,
f=l._space,g=s(10,o),p=s(9,o)-g>=f?ys:s(7,o)-g>=f?bg:s(5,o)-g>=f?Mg:Rf;if(p==Rf){let m=Ht(s(1,o)-g);if(m<f)return fo(e.slice().reverse(),a.distr,p,Se(
f/m)).reverse()}return fo(e,a.distr,p,1)}function kg(t,e,n,r,i){let l=t.axes[n],o=l.scale,a=l._space,s=t.valToPos,f=Ht(s(1,o)-s(2,o));return f<a?fo(e.
slice().reverse(),3,ys,Se(a/f)).reverse():e}function Ag(t,e,n,r){return r==null?go:e==null?"":xo(e)}var Of={show:!0,scale:"y",stroke:po,space:30,gap:5,
alignTo:1,size:50,labelGap:0,labelSize:30,labelFont:gs,side:3,grid:Mo,ticks:ps,border:ds,font:So,lineGap:ms,rotate:0};function Ng(t,e){let n=3+(t||1)*
2;return Mt(n*e,3)}function Eg(t,e){let{scale:n,idxs:r}=t.series[0],i=t._data[0],l=t.valToPos(i[r[0]],n,!0),o=t.valToPos(i[r[1]],n,!0),a=Ht(o-l),s=t.series[e],
f=a/(s.points.space*mt);return r[1]-r[0]<=f}var zf={scale:null,auto:!0,sorted:0,min:bt,max:-bt},ws=(t,e,n,r,i)=>i,Hf={show:!0,auto:!0,sorted:0,gaps:ws,
alpha:1,facets:[Ot({},zf,{scale:"x"}),Ot({},zf,{scale:"y"})]},Ff={scale:"y",auto:!0,sorted:0,show:!0,spanGaps:!1,gaps:ws,alpha:1,points:{show:Eg,filter:null},
values:null,min:bt,max:-bt,idxs:[],path:null,clip:null};function Tg(t,e,n,r,i){return n/10}var xs={time:!0,auto:!0,distr:1,log:10,asinh:1,min:null,max:null,
dir:1,ori:0},Cg=Ot({},xs,{time:!1,ori:1}),Vf={};function vs(t,e){let n=Vf[t];return n||(n={key:t,plots:[],sub(r){n.plots.push(r)},unsub(r){n.plots=n.plots.
filter(i=>i!=r)},pub(r,i,l,o,a,s,f){for(let g=0;g<n.plots.length;g++)n.plots[g]!=i&&n.plots[g].pub(r,i,l,o,a,s,f)}},t!=null&&(Vf[t]=n)),n}var cr=1,so=2;
function Pn(t,e,n){let r=t.mode,i=t.series[e],l=r==2?t._data[e]:t._data,o=t.scales,a=t.bbox,s=l[0],f=r==2?l[1]:l[e],g=r==2?o[i.facets[0].scale]:o[t.series[0].
scale],p=r==2?o[i.facets[1].scale]:o[i.scale],m=a.left,v=a.top,M=a.width,S=a.height,C=t.valToPosH,F=t.valToPosV;return g.ori==0?n(i,s,f,g,p,C,F,m,v,M,
S,Wi,pr,Gi,bs,Ss):n(i,s,f,g,p,F,C,v,m,S,M,Yi,dr,No,Ms,ks)}function ko(t,e){let n=0,r=0,i=pt(t.bands,vo);for(let l=0;l<i.length;l++){let o=i[l];o.series[0]==
e?n=o.dir:o.series[1]==e&&(o.dir==1?r|=1:r|=2)}return[n,r==1?-1:r==2?1:r==3?2:0]}function Dg(t,e,n,r,i){let l=t.mode,o=t.series[e],a=l==2?o.facets[1].
scale:o.scale,s=t.scales[a];return i==-1?s.min:i==1?s.max:s.distr==3?s.dir==1?s.min:s.max:0}function Xe(t,e,n,r,i,l){return Pn(t,e,(o,a,s,f,g,p,m,v,M,S,C)=>{
let F=o.pxRound,b=f.dir*(f.ori==0?1:-1),O=f.ori==0?pr:dr,k,W;b==1?(k=n,W=r):(k=r,W=n);let N=F(p(a[k],f,S,v)),X=F(m(s[k],g,C,M)),j=F(p(a[W],f,S,v)),et=F(
m(l==1?g.max:g.min,g,C,M)),J=new Path2D(i);return O(J,j,et),O(J,N,et),O(J,N,X),J})}function Bi(t,e,n,r,i,l){let o=null;if(t.length>0){o=new Path2D;let a=e==
0?Gi:No,s=n;for(let p=0;p<t.length;p++){let m=t[p];if(m[1]>m[0]){let v=m[0]-s;v>0&&a(o,s,r,v,r+l),s=m[1]}}let f=n+i-s,g=10;f>0&&a(o,s,r-g/2,f,r+l+g)}return o}
function Pg(t,e,n){let r=t[t.length-1];r&&r[0]==e?r[1]=n:t.push([e,n])}function Ao(t,e,n,r,i,l,o){let a=[],s=t.length;for(let f=i==1?n:r;f>=n&&f<=r;f+=
i)if(e[f]===null){let p=f,m=f;if(i==1)for(;++f<=r&&e[f]===null;)m=f;else for(;--f>=n&&e[f]===null;)m=f;let v=l(t[p]),M=m==p?v:l(t[m]),S=p-i;v=o<=0&&S>=
0&&S<s?l(t[S]):v;let F=m+i;M=o>=0&&F>=0&&F<s?l(t[F]):M,M>=v&&a.push([v,M])}return a}function qf(t){return t==0?Jf:t==1?zt:e=>Nn(e,t)}function _s(t){let e=t==
0?Wi:Yi,n=t==0?(i,l,o,a,s,f)=>{i.arcTo(l,o,a,s,f)}:(i,l,o,a,s,f)=>{i.arcTo(o,l,s,a,f)},r=t==0?(i,l,o,a,s)=>{i.rect(l,o,a,s)}:(i,l,o,a,s)=>{i.rect(o,l,
s,a)};return(i,l,o,a,s,f=0,g=0)=>{f==0&&g==0?r(i,l,o,a,s):(f=Re(f,a/2,s/2),g=Re(g,a/2,s/2),e(i,l+f,o),n(i,l+a,o,l+a,o+s,f),n(i,l+a,o+s,l,o+s,g),n(i,l,
o+s,l,o,g),n(i,l,o,l+a,o,f),i.closePath())}}var Wi=(t,e,n)=>{t.moveTo(e,n)},Yi=(t,e,n)=>{t.moveTo(n,e)},pr=(t,e,n)=>{t.lineTo(e,n)},dr=(t,e,n)=>{t.lineTo(
n,e)},Gi=_s(0),No=_s(1),bs=(t,e,n,r,i,l)=>{t.arc(e,n,r,i,l)},Ms=(t,e,n,r,i,l)=>{t.arc(n,e,r,i,l)},Ss=(t,e,n,r,i,l,o)=>{t.bezierCurveTo(e,n,r,i,l,o)},ks=(t,e,n,r,i,l,o)=>{
t.bezierCurveTo(n,e,i,r,o,l)};function As(t){return(e,n,r,i,l)=>Pn(e,n,(o,a,s,f,g,p,m,v,M,S,C)=>{let{pxRound:F,points:b}=o,O,k;f.ori==0?(O=Wi,k=bs):(O=
Yi,k=Ms);let W=Mt(b.width*mt,3),N=(b.size-b.width)/2*mt,X=Mt(N*2,3),j=new Path2D,et=new Path2D,{left:J,top:P,width:L,height:V}=e.bbox;Gi(et,J-X,P-X,L+
X*2,V+X*2);let $=U=>{if(s[U]!=null){let ot=F(p(a[U],f,S,v)),Y=F(m(s[U],g,C,M));O(j,ot+N,Y),k(j,ot,Y,N,0,Ri*2)}};if(l)l.forEach($);else for(let U=r;U<=
i;U++)$(U);return{stroke:W>0?j:null,fill:j,clip:et,flags:cr|so}})}function Ns(t){return(e,n,r,i,l,o)=>{r!=i&&(l!=r&&o!=r&&t(e,n,r),l!=i&&o!=i&&t(e,n,i),
t(e,n,o))}}var Lg=Ns(pr),Ig=Ns(dr);function Es(t){let e=pt(t?.alignGaps,0);return(n,r,i,l)=>Pn(n,r,(o,a,s,f,g,p,m,v,M,S,C)=>{[i,l]=Fi(s,i,l);let F=o.pxRound,
b=V=>F(p(V,f,S,v)),O=V=>F(m(V,g,C,M)),k,W;f.ori==0?(k=pr,W=Lg):(k=dr,W=Ig);let N=f.dir*(f.ori==0?1:-1),X={stroke:new Path2D,fill:null,clip:null,band:null,
gaps:null,flags:cr},j=X.stroke,et=!1;if(l-i>=S*4){let V=Z=>n.posToVal(Z,f.key,!0),$=null,U=null,ot,Y,Ct,dt=b(a[N==1?i:l]),rt=b(a[i]),yt=b(a[l]),ut=V(N==
1?rt+1:yt-1);for(let Z=N==1?i:l;Z>=i&&Z<=l;Z+=N){let It=a[Z],_t=(N==1?It<ut:It>ut)?dt:b(It),ct=s[Z];_t==dt?ct!=null?(Y=ct,$==null?(k(j,_t,O(Y)),ot=$=U=
Y):Y<$?$=Y:Y>U&&(U=Y)):ct===null&&(et=!0):($!=null&&W(j,dt,O($),O(U),O(ot),O(Y)),ct!=null?(Y=ct,k(j,_t,O(Y)),$=U=ot=Y):($=U=null,ct===null&&(et=!0)),dt=
_t,ut=V(dt+N))}$!=null&&$!=U&&Ct!=dt&&W(j,dt,O($),O(U),O(ot),O(Y))}else for(let V=N==1?i:l;V>=i&&V<=l;V+=N){let $=s[V];$===null?et=!0:$!=null&&k(j,b(a[V]),
O($))}let[P,L]=ko(n,r);if(o.fill!=null||P!=0){let V=X.fill=new Path2D(j),$=o.fillTo(n,r,o.min,o.max,P),U=O($),ot=b(a[i]),Y=b(a[l]);N==-1&&([Y,ot]=[ot,
Y]),k(V,Y,U),k(V,ot,U)}if(!o.spanGaps){let V=[];et&&V.push(...Ao(a,s,i,l,N,b,e)),X.gaps=V=o.gaps(n,r,i,l,V),X.clip=Bi(V,f.ori,v,M,S,C)}return L!=0&&(X.
band=L==2?[Xe(n,r,i,l,j,-1),Xe(n,r,i,l,j,1)]:Xe(n,r,i,l,j,L)),X})}function Rg(t){let e=pt(t.align,1),n=pt(t.ascDesc,!1),r=pt(t.alignGaps,0),i=pt(t.extend,
!1);return(l,o,a,s)=>Pn(l,o,(f,g,p,m,v,M,S,C,F,b,O)=>{[a,s]=Fi(p,a,s);let k=f.pxRound,{left:W,width:N}=l.bbox,X=rt=>k(M(rt,m,b,C)),j=rt=>k(S(rt,v,O,F)),
et=m.ori==0?pr:dr,J={stroke:new Path2D,fill:null,clip:null,band:null,gaps:null,flags:cr},P=J.stroke,L=m.dir*(m.ori==0?1:-1),V=j(p[L==1?a:s]),$=X(g[L==
1?a:s]),U=$,ot=$;i&&e==-1&&(ot=W,et(P,ot,V)),et(P,$,V);for(let rt=L==1?a:s;rt>=a&&rt<=s;rt+=L){let yt=p[rt];if(yt==null)continue;let ut=X(g[rt]),Z=j(yt);
e==1?et(P,ut,V):et(P,U,Z),et(P,ut,Z),V=Z,U=ut}let Y=U;i&&e==1&&(Y=W+N,et(P,Y,V));let[Ct,dt]=ko(l,o);if(f.fill!=null||Ct!=0){let rt=J.fill=new Path2D(P),
yt=f.fillTo(l,o,f.min,f.max,Ct),ut=j(yt);et(rt,Y,ut),et(rt,ot,ut)}if(!f.spanGaps){let rt=[];rt.push(...Ao(g,p,a,s,L,X,r));let yt=f.width*mt/2,ut=n||e==
1?yt:-yt,Z=n||e==-1?-yt:yt;rt.forEach(It=>{It[0]+=ut,It[1]+=Z}),J.gaps=rt=f.gaps(l,o,a,s,rt),J.clip=Bi(rt,m.ori,C,F,b,O)}return dt!=0&&(J.band=dt==2?[
Xe(l,o,a,s,P,-1),Xe(l,o,a,s,P,1)]:Xe(l,o,a,s,P,dt)),J})}function $f(t,e,n,r,i,l,o=bt){if(t.length>1){let a=null;for(let s=0,f=1/0;s<t.length;s++)if(e[s]!==
void 0){if(a!=null){let g=Ht(t[s]-t[a]);g<f&&(f=g,o=Ht(n(t[s],r,i,l)-n(t[a],r,i,l)))}a=s}}return o}function Og(t){t=t||qr;let e=pt(t.size,[.6,bt,1]),n=t.
align||0,r=t.gap||0,i=t.radius;i=i==null?[0,0]:typeof i=="number"?[i,0]:i;let l=ft(i),o=1-e[0],a=pt(e[1],bt),s=pt(e[2],1),f=pt(t.disp,qr),g=pt(t.each,
v=>{}),{fill:p,stroke:m}=f;return(v,M,S,C)=>Pn(v,M,(F,b,O,k,W,N,X,j,et,J,P)=>{let L=F.pxRound,V=n,$=r*mt,U=a*mt,ot=s*mt,Y,Ct;k.ori==0?[Y,Ct]=l(v,M):[Ct,
Y]=l(v,M);let dt=k.dir*(k.ori==0?1:-1),rt=k.ori==0?Gi:No,yt=k.ori==0?g:(I,K,st,ye,Ge,Vt,cn)=>{g(I,K,st,Ge,ye,cn,Vt)},ut=pt(v.bands,vo).find(I=>I.series[0]==
M),Z=ut!=null?ut.dir:0,It=F.fillTo(v,M,F.min,F.max,Z),Ft=L(X(It,W,P,et)),_t,ct,ue,jt=J,wt=L(F.width*mt),ae=!1,ke=null,re=null,Ae=null,Oe=null;p!=null&&
(wt==0||m!=null)&&(ae=!0,ke=p.values(v,M,S,C),re=new Map,new Set(ke).forEach(I=>{I!=null&&re.set(I,new Path2D)}),wt>0&&(Ae=m.values(v,M,S,C),Oe=new Map,
new Set(Ae).forEach(I=>{I!=null&&Oe.set(I,new Path2D)})));let{x0:E,size:w}=f;if(E!=null&&w!=null){V=1,b=E.values(v,M,S,C),E.unit==2&&(b=b.map(st=>v.posToVal(
j+st*J,k.key,!0)));let I=w.values(v,M,S,C);w.unit==2?ct=I[0]*J:ct=N(I[0],k,J,j)-N(0,k,J,j),jt=$f(b,O,N,k,J,j,jt),ue=jt-ct+$}else jt=$f(b,O,N,k,J,j,jt),
ue=jt*o+$,ct=jt-ue;ue<1&&(ue=0),wt>=ct/2&&(wt=0),ue<5&&(L=Jf);let R=ue>0,D=jt-ue-(R?wt:0);ct=L(uo(D,ot,U)),_t=(V==0?ct/2:V==dt?0:ct)-V*dt*((V==0?$/2:0)+
(R?wt/2:0));let G={stroke:null,fill:null,clip:null,band:null,gaps:null,flags:0},nt=ae?null:new Path2D,lt=null;if(ut!=null)lt=v.data[ut.series[1]];else{
let{y0:I,y1:K}=f;I!=null&&K!=null&&(O=K.values(v,M,S,C),lt=I.values(v,M,S,C))}let St=Y*ct,q=Ct*ct;for(let I=dt==1?S:C;I>=S&&I<=C;I+=dt){let K=O[I];if(K==
null)continue;if(lt!=null){let ie=lt[I]??0;if(K-ie==0)continue;Ft=X(ie,W,P,et)}let st=k.distr!=2||f!=null?b[I]:I,ye=N(st,k,J,j),Ge=X(pt(K,It),W,P,et),
Vt=L(ye-_t),cn=L(ne(Ge,Ft)),fe=L(Re(Ge,Ft)),we=cn-fe;if(K!=null){let ie=K<0?q:St,Ne=K<0?St:q;ae?(wt>0&&Ae[I]!=null&&rt(Oe.get(Ae[I]),Vt,fe+ge(wt/2),ct,
ne(0,we-wt),ie,Ne),ke[I]!=null&&rt(re.get(ke[I]),Vt,fe+ge(wt/2),ct,ne(0,we-wt),ie,Ne)):rt(nt,Vt,fe+ge(wt/2),ct,ne(0,we-wt),ie,Ne),yt(v,M,I,Vt-wt/2,fe,
ct+wt,we)}}return wt>0?G.stroke=ae?Oe:nt:ae||(G._fill=F.width==0?F._fill:F._stroke??F._fill,G.width=0),G.fill=ae?re:nt,G})}function zg(t,e){let n=pt(e?.
alignGaps,0);return(r,i,l,o)=>Pn(r,i,(a,s,f,g,p,m,v,M,S,C,F)=>{[l,o]=Fi(f,l,o);let b=a.pxRound,O=Y=>b(m(Y,g,C,M)),k=Y=>b(v(Y,p,F,S)),W,N,X;g.ori==0?(W=
Wi,X=pr,N=Ss):(W=Yi,X=dr,N=ks);let j=g.dir*(g.ori==0?1:-1),et=O(s[j==1?l:o]),J=et,P=[],L=[];for(let Y=j==1?l:o;Y>=l&&Y<=o;Y+=j)if(f[Y]!=null){let dt=s[Y],
rt=O(dt);P.push(J=rt),L.push(k(f[Y]))}let V={stroke:t(P,L,W,X,N,b),fill:null,clip:null,band:null,gaps:null,flags:cr},$=V.stroke,[U,ot]=ko(r,i);if(a.fill!=
null||U!=0){let Y=V.fill=new Path2D($),Ct=a.fillTo(r,i,a.min,a.max,U),dt=k(Ct);X(Y,J,dt),X(Y,et,dt)}if(!a.spanGaps){let Y=[];Y.push(...Ao(s,f,l,o,j,O,
n)),V.gaps=Y=a.gaps(r,i,l,o,Y),V.clip=Bi(Y,g.ori,M,S,C,F)}return ot!=0&&(V.band=ot==2?[Xe(r,i,l,o,$,-1),Xe(r,i,l,o,$,1)]:Xe(r,i,l,o,$,ot)),V})}function Hg(t){
return zg(Fg,t)}function Fg(t,e,n,r,i,l){let o=t.length;if(o<2)return null;let a=new Path2D;if(n(a,t[0],e[0]),o==2)r(a,t[1],e[1]);else{let s=Array(o),
f=Array(o-1),g=Array(o-1),p=Array(o-1);for(let m=0;m<o-1;m++)g[m]=e[m+1]-e[m],p[m]=t[m+1]-t[m],f[m]=g[m]/p[m];s[0]=f[0];for(let m=1;m<o-1;m++)f[m]===0||
f[m-1]===0||f[m-1]>0!=f[m]>0?s[m]=0:(s[m]=3*(p[m-1]+p[m])/((2*p[m]+p[m-1])/f[m-1]+(p[m]+2*p[m-1])/f[m]),isFinite(s[m])||(s[m]=0));s[o-1]=f[o-2];for(let m=0;m<
o-1;m++)i(a,t[m]+p[m]/3,e[m]+s[m]*p[m]/3,t[m+1]-p[m]/3,e[m+1]-s[m+1]*p[m]/3,t[m+1],e[m+1])}return a}var co=new Set;function Bf(){for(let t of co)t.syncRect(
!0)}hr&&(Cn(xd,ur,Bf),Cn(vd,ur,Bf,!0),Cn(Oi,ur,()=>{Qt.pxRatio=mt}));var Vg=Es(),qg=As();function Wf(t,e,n,r){return(r?[t[0],t[1]].concat(t.slice(2)):
[t[0]].concat(t.slice(1))).map((l,o)=>ho(l,o,e,n))}function $g(t,e){return t.map((n,r)=>r==0?{}:Ot({},e,n))}function ho(t,e,n,r){return Ot({},e==0?n:r,
t)}function Ts(t,e,n){return e==null?fr:[e,n]}var Bg=Ts;function Wg(t,e,n){return e==null?fr:zi(e,n,wo,!0)}function Cs(t,e,n,r){return e==null?fr:Vi(e,
n,t.scales[r].log,!1)}var Yg=Cs;function Ds(t,e,n,r){return e==null?fr:yo(e,n,t.scales[r].log,!1)}var Gg=Ds;function Ug(t,e,n,r,i){let l=ne(bf(t),bf(e)),
o=e-t,a=Ie(i/r*o,n);do{let s=n[a],f=r*s/o;if(f>=i&&l+(s<5?sn.get(s):0)<=17)return[s,f]}while(++a<n.length);return[0,0]}function Yf(t){let e,n;return t=
t.replace(/(\d+)px/,(r,i)=>(e=zt((n=+i)*mt))+"px"),[t,e,n]}function Kg(t){t.show&&[t.font,t.labelFont].forEach(e=>{let n=Mt(e[2]*mt,1);e[0]=e[0].replace(
/[0-9.]+px/,n+"px"),e[1]=n})}function Qt(t,e,n){let r={mode:pt(t.mode,1)},i=r.mode;function l(u,c,h,d){let y=c.valToPct(u);return d+h*(c.dir==-1?1-y:y)}
function o(u,c,h,d){let y=c.valToPct(u);return d+h*(c.dir==-1?y:1-y)}function a(u,c,h,d){return c.ori==0?l(u,c,h,d):o(u,c,h,d)}r.valToPosH=l,r.valToPosV=
o;let s=!1;r.status=0;let f=r.root=Me(ed);if(t.id!=null&&(f.id=t.id),de(f,t.class),t.title){let u=Me(id,f);u.textContent=t.title}let g=Le("canvas"),p=r.
ctx=g.getContext("2d"),m=Me(ld,f);Cn("click",m,u=>{u.target===M&&(kt!=Bn||Tt!=Wn)&&Zt.click(r,u)},!0);let v=r.under=Me(od,m);m.appendChild(g);let M=r.
over=Me(ud,m);t=sr(t);let S=+pt(t.pxAlign,1),C=qf(S);(t.plugins||[]).forEach(u=>{u.opts&&(t=u.opts(r,t)||t)});let F=t.ms||.001,b=r.series=i==1?Wf(t.series||
[],If,Ff,!1):$g(t.series||[null],Hf),O=r.axes=Wf(t.axes||[],Lf,Of,!0),k=r.scales={},W=r.bands=t.bands||[];W.forEach(u=>{u.fill=ft(u.fill||null),u.dir=
pt(u.dir,-1)});let N=i==2?b[1].facets[0].scale:b[0].scale,X={axes:Us,series:$s},j=(t.drawOrder||["axes","series"]).map(u=>X[u]);function et(u){let c=u.
distr==3?h=>je(h>0?h:u.clamp(r,h,u.min,u.max,u.key)):u.distr==4?h=>Xl(h,u.asinh):u.distr==100?h=>u.fwd(h):h=>h;return h=>{let d=c(h),{_min:y,_max:x}=u,
_=x-y;return(d-y)/_}}function J(u){let c=k[u];if(c==null){let h=(t.scales||qr)[u]||qr;if(h.from!=null){J(h.from);let d=Ot({},k[h.from],h,{key:u});d.valToPct=
et(d),k[u]=d}else{c=k[u]=Ot({},u==N?xs:Cg,h),c.key=u;let d=c.time,y=c.range,x=fn(y);if((u!=N||i==2&&!d)&&(x&&(y[0]==null||y[1]==null)&&(y={min:y[0]==null?
xf:{mode:1,hard:y[0],soft:y[0]},max:y[1]==null?xf:{mode:1,hard:y[1],soft:y[1]}},x=!1),!x&&$i(y))){let _=y;y=(A,T,z)=>T==null?fr:zi(T,z,_)}c.range=ft(y||
(d?Bg:u==N?c.distr==3?Yg:c.distr==4?Gg:Ts:c.distr==3?Cs:c.distr==4?Ds:Wg)),c.auto=ft(x?!1:c.auto),c.clamp=ft(c.clamp||Tg),c._min=c._max=null,c.valToPct=
et(c)}}}J("x"),J("y"),i==1&&b.forEach(u=>{J(u.scale)}),O.forEach(u=>{J(u.scale)});for(let u in t.scales)J(u);let P=k[N],L=P.distr,V,$;P.ori==0?(de(f,nd),
V=l,$=o):(de(f,rd),V=o,$=l);let U={};for(let u in k){let c=k[u];(c.min!=null||c.max!=null)&&(U[u]={min:c.min,max:c.max},c.min=c.max=null)}let ot=t.tzDate||
(u=>new Date(zt(u/F))),Y=t.fmtDate||_o,Ct=F==1?ng(ot):lg(ot),dt=Cf(ot,Tf(F==1?eg:ig,Y)),rt=Pf(ot,Df(ug,Y)),yt=[],ut=r.legend=Ot({},sg,t.legend),Z=r.cursor=
Ot({},mg,{drag:{y:i==2}},t.cursor),It=ut.show,Ft=Z.show,_t=ut.markers;ut.idxs=yt,_t.width=ft(_t.width),_t.dash=ft(_t.dash),_t.stroke=ft(_t.stroke),_t.
fill=ft(_t.fill);let ct,ue,jt,wt=[],ae=[],ke,re=!1,Ae={};if(ut.live){let u=b[1]?b[1].values:null;re=u!=null,ke=re?u(r,1,0):{_:0};for(let c in ke)Ae[c]=
go}if(It)if(ct=Le("table",pd,f),jt=Le("tbody",null,ct),ut.mount(r,ct),re){ue=Le("thead",null,ct,jt);let u=Le("tr",null,ue);Le("th",null,u);for(var Oe in ke)
Le("th",of,u).textContent=Oe}else de(ct,gd),ut.live&&de(ct,dd);let E={show:!0},w={show:!1};function R(u,c){if(c==0&&(re||!ut.live||i==2))return fr;let h=[],
d=Le("tr",md,jt,jt.childNodes[c]);de(d,u.class),u.show||de(d,Tn);let y=Le("th",null,d);if(_t.show){let A=Me(yd,y);if(c>0){let T=_t.width(r,c);T&&(A.style.
border=T+"px "+_t.dash(r,c)+" "+_t.stroke(r,c)),A.style.background=_t.fill(r,c)}}let x=Me(of,y);u.label instanceof HTMLElement?x.appendChild(u.label):
x.textContent=u.label,c>0&&(_t.show||(x.style.color=u.width>0?_t.stroke(r,c):_t.fill(r,c)),G("click",y,A=>{if(Z._lock)return;pn(A);let T=b.indexOf(u);
if((A.ctrlKey||A.metaKey)!=ut.isolate){let z=b.some((H,B)=>B>0&&B!=T&&H.show);b.forEach((H,B)=>{B>0&&He(B,z?B==T?E:w:E,!0,Rt.setSeries)})}else He(T,{show:!u.
show},!0,Rt.setSeries)},!1),In&&G(sf,y,A=>{Z._lock||(pn(A),He(b.indexOf(u),Gn,!0,Rt.setSeries))},!1));for(var _ in ke){let A=Le("td",wd,d);A.textContent=
"--",h.push(A)}return[d,h]}let D=new Map;function G(u,c,h,d=!0){let y=D.get(c)||{},x=Z.bind[u](r,c,h,d);x&&(Cn(u,c,y[u]=x),D.set(c,y))}function nt(u,c,h){
let d=D.get(c)||{};for(let y in d)(u==null||y==u)&&(oo(y,c,d[y]),delete d[y]);u==null&&D.delete(c)}let lt=0,St=0,q=0,I=0,K=0,st=0,ye=K,Ge=st,Vt=q,cn=I,
fe=0,we=0,ie=0,Ne=0;r.bbox={};let Ui=!1,Br=!1,Ln=!1,hn=!1,Wr=!1,xe=!1;function Ki(u,c,h){(h||u!=r.width||c!=r.height)&&Eo(u,c),Fn(!1),Ln=!0,Br=!0,Vn()}
function Eo(u,c){r.width=lt=q=u,r.height=St=I=c,K=st=0,Rs(),Os();let h=r.bbox;fe=h.left=Nn(K*mt,.5),we=h.top=Nn(st*mt,.5),ie=h.width=Nn(q*mt,.5),Ne=h.
height=Nn(I*mt,.5)}let Ps=3;function Ls(){let u=!1,c=0;for(;!u;){c++;let h=Ys(c),d=Gs(c);u=c==Ps||h&&d,u||(Eo(r.width,r.height),Br=!0)}}function Is({width:u,
height:c}){Ki(u,c)}r.setSize=Is;function Rs(){let u=!1,c=!1,h=!1,d=!1;O.forEach((y,x)=>{if(y.show&&y._show){let{side:_,_size:A}=y,T=_%2,z=y.label!=null?
y.labelSize:0,H=A+z;H>0&&(T?(q-=H,_==3?(K+=H,d=!0):h=!0):(I-=H,_==0?(st+=H,u=!0):c=!0))}}),dn[0]=u,dn[1]=h,dn[2]=c,dn[3]=d,q-=tn[1]+tn[3],K+=tn[3],I-=
tn[2]+tn[0],st+=tn[0]}function Os(){let u=K+q,c=st+I,h=K,d=st;function y(x,_){switch(x){case 1:return u+=_,u-_;case 2:return c+=_,c-_;case 3:return h-=
_,h+_;case 0:return d-=_,d+_}}O.forEach((x,_)=>{if(x.show&&x._show){let A=x.side;x._pos=y(A,x._size),x.label!=null&&(x._lpos=y(A,x.labelSize))}})}if(Z.
dataIdx==null){let u=Z.hover,c=u.skip=new Set(u.skip??[]);c.add(void 0);let h=u.prox=ft(u.prox),d=u.bias??(u.bias=0);Z.dataIdx=(y,x,_,A)=>{if(x==0)return _;
let T=_,z=h(y,x,_,A)??bt,H=z>=0&&z<bt,B=P.ori==0?q:I,it=Z.left,gt=e[0],ht=e[x];if(c.has(ht[_])){T=null;let at=null,tt=null,Q;if(d==0||d==-1)for(Q=_;at==
null&&Q-- >0;)c.has(ht[Q])||(at=Q);if(d==0||d==1)for(Q=_;tt==null&&Q++<ht.length;)c.has(ht[Q])||(tt=Q);if(at!=null||tt!=null)if(H){let Nt=at==null?-1/0:
V(gt[at],P,B,0),Dt=tt==null?1/0:V(gt[tt],P,B,0),Gt=it-Nt,vt=Dt-it;Gt<=vt?Gt<=z&&(T=at):vt<=z&&(T=tt)}else T=tt==null?at:at==null?tt:_-at<=tt-_?at:tt}else
H&&Ht(it-V(gt[_],P,B,0))>z&&(T=null);return T}}let pn=u=>{Z.event=u};Z.idxs=yt,Z._lock=!1;let Jt=Z.points;Jt.show=ft(Jt.show),Jt.size=ft(Jt.size),Jt.stroke=
ft(Jt.stroke),Jt.width=ft(Jt.width),Jt.fill=ft(Jt.fill);let ze=r.focus=Ot({},t.focus||{alpha:.3},Z.focus),In=ze.prox>=0,Rn=In&&Jt.one,ve=[],On=[],zn=[];
function To(u,c){let h=Jt.show(r,c);if(h instanceof HTMLElement)return de(h,hd),de(h,u.class),Ye(h,-10,-10,q,I),M.insertBefore(h,ve[c]),h}function Co(u,c){
if(i==1||c>0){let h=i==1&&k[u.scale].time,d=u.value;u.value=h?kf(d)?Pf(ot,Df(d,Y)):d||rt:d||Ag,u.label=u.label||(h?wg:yg)}if(Rn||c>0){u.width=u.width==
null?1:u.width,u.paths=u.paths||Vg||Cd,u.fillTo=ft(u.fillTo||Dg),u.pxAlign=+pt(u.pxAlign,S),u.pxRound=qf(u.pxAlign),u.stroke=ft(u.stroke||null),u.fill=
ft(u.fill||null),u._stroke=u._fill=u._paths=u._focus=null;let h=Ng(ne(1,u.width),1),d=u.points=Ot({},{size:h,width:ne(1,h*.2),stroke:u.stroke,space:h*
2,paths:qg,_stroke:null,_fill:null},u.points);d.show=ft(d.show),d.filter=ft(d.filter),d.fill=ft(d.fill),d.stroke=ft(d.stroke),d.paths=ft(d.paths),d.pxAlign=
u.pxAlign}if(It){let h=R(u,c);wt.splice(c,0,h[0]),ae.splice(c,0,h[1]),ut.values.push(null)}if(Ft){yt.splice(c,0,null);let h=null;Rn?c==0&&(h=To(u,c)):
c>0&&(h=To(u,c)),ve.splice(c,0,h),On.splice(c,0,0),zn.splice(c,0,0)}Yt("addSeries",c)}function zs(u,c){c=c??b.length,u=i==1?ho(u,c,If,Ff):ho(u,c,{},Hf),
b.splice(c,0,u),Co(b[c],c)}r.addSeries=zs;function Hs(u){if(b.splice(u,1),It){ut.values.splice(u,1),ae.splice(u,1);let c=wt.splice(u,1)[0];nt(null,c.firstChild),
c.remove()}Ft&&(yt.splice(u,1),ve.splice(u,1)[0].remove(),On.splice(u,1),zn.splice(u,1)),Yt("delSeries",u)}r.delSeries=Hs;let dn=[!1,!1,!1,!1];function Fs(u,c){
if(u._show=u.show,u.show){let h=u.side%2,d=k[u.scale];d==null&&(u.scale=h?b[1].scale:N,d=k[u.scale]);let y=d.time;u.size=ft(u.size),u.space=ft(u.space),
u.rotate=ft(u.rotate),fn(u.incrs)&&u.incrs.forEach(_=>{!sn.has(_)&&sn.set(_,ts(_))}),u.incrs=ft(u.incrs||(d.distr==2?jd:y?F==1?tg:rg:En)),u.splits=ft(
u.splits||(y&&d.distr==1?Ct:d.distr==3?ao:d.distr==4?_g:vg)),u.stroke=ft(u.stroke),u.grid.stroke=ft(u.grid.stroke),u.ticks.stroke=ft(u.ticks.stroke),u.
border.stroke=ft(u.border.stroke);let x=u.values;u.values=fn(x)&&!fn(x[0])?ft(x):y?fn(x)?Cf(ot,Tf(x,Y)):kf(x)?og(ot,x):x||dt:x||xg,u.filter=ft(u.filter||
(d.distr>=3&&d.log==10?Sg:d.distr==3&&d.log==2?kg:jf)),u.font=Yf(u.font),u.labelFont=Yf(u.labelFont),u._size=u.size(r,null,c,0),u._space=u._rotate=u._incrs=
u._found=u._splits=u._values=null,u._size>0&&(dn[c]=!0,u._el=Me(ad,m))}}function gr(u,c,h,d){let[y,x,_,A]=h,T=c%2,z=0;return T==0&&(A||x)&&(z=c==0&&!y||
c==2&&!_?zt(Lf.size/3):0),T==1&&(y||_)&&(z=c==1&&!x||c==3&&!A?zt(Of.size/2):0),z}let Do=r.padding=(t.padding||[gr,gr,gr,gr]).map(u=>ft(pt(u,gr))),tn=r.
_padding=Do.map((u,c)=>u(r,c,dn,0)),Kt,qt=null,$t=null,Yr=i==1?b[0].idxs:null,Ee=null,mr=!1;function Po(u,c){if(e=u??[],r.data=r._data=e,i==2){Kt=0;for(let h=1;h<
b.length;h++)Kt+=e[h][0].length}else{e.length==0&&(r.data=r._data=e=[[]]),Ee=e[0],Kt=Ee.length;let h=e;if(L==2){h=e.slice();let d=h[0]=Array(Kt);for(let y=0;y<
Kt;y++)d[y]=y}r._data=e=h}if(Fn(!0),Yt("setData"),L==2&&(Ln=!0),c!==!1){let h=P;h.auto(r,mr)?Zi():nn(N,h.min,h.max),hn=hn||Z.left>=0,xe=!0,Vn()}}r.setData=
Po;function Zi(){mr=!0;let u,c;i==1&&(Kt>0?(qt=Yr[0]=0,$t=Yr[1]=Kt-1,u=e[0][qt],c=e[0][$t],L==2?(u=qt,c=$t):u==c&&(L==3?[u,c]=Vi(u,u,P.log,!1):L==4?[u,
c]=yo(u,u,P.log,!1):P.time?c=u+zt(86400/F):[u,c]=zi(u,c,wo,!0))):(qt=Yr[0]=u=null,$t=Yr[1]=c=null)),nn(N,u,c)}let Gr,Hn,Qi,Ji,ji,Xi,tl,el,nl,le;function Lo(u,c,h,d,y,x){
u??(u=af),h??(h=vo),d??(d="butt"),y??(y=af),x??(x="round"),u!=Gr&&(p.strokeStyle=Gr=u),y!=Hn&&(p.fillStyle=Hn=y),c!=Qi&&(p.lineWidth=Qi=c),x!=ji&&(p.lineJoin=
ji=x),d!=Xi&&(p.lineCap=Xi=d),h!=Ji&&p.setLineDash(Ji=h)}function Io(u,c,h,d){c!=Hn&&(p.fillStyle=Hn=c),u!=tl&&(p.font=tl=u),h!=el&&(p.textAlign=el=h),
d!=nl&&(p.textBaseline=nl=d)}function rl(u,c,h,d,y=0){if(d.length>0&&u.auto(r,mr)&&(c==null||c.min==null)){let x=pt(qt,0),_=pt($t,d.length-1),A=h.min==
null?Sd(d,x,_,y,u.distr==3):[h.min,h.max];u.min=Re(u.min,h.min=A[0]),u.max=ne(u.max,h.max=A[1])}}let Ro={min:null,max:null};function Vs(){for(let d in k){
let y=k[d];U[d]==null&&(y.min==null||U[N]!=null&&y.auto(r,mr))&&(U[d]=Ro)}for(let d in k){let y=k[d];U[d]==null&&y.from!=null&&U[y.from]!=null&&(U[d]=
Ro)}U[N]!=null&&Fn(!0);let u={};for(let d in U){let y=U[d];if(y!=null){let x=u[d]=sr(k[d],Ld);if(y.min!=null)Ot(x,y);else if(d!=N||i==2)if(Kt==0&&x.from==
null){let _=x.range(r,null,null,d);x.min=_[0],x.max=_[1]}else x.min=bt,x.max=-bt}}if(Kt>0){b.forEach((d,y)=>{if(i==1){let x=d.scale,_=U[x];if(_==null)
return;let A=u[x];if(y==0){let T=A.range(r,A.min,A.max,x);A.min=T[0],A.max=T[1],qt=Ie(A.min,e[0]),$t=Ie(A.max,e[0]),$t-qt>1&&(e[0][qt]<A.min&&qt++,e[0][$t]>
A.max&&$t--),d.min=Ee[qt],d.max=Ee[$t]}else d.show&&d.auto&&rl(A,_,d,e[y],d.sorted);d.idxs[0]=qt,d.idxs[1]=$t}else if(y>0&&d.show&&d.auto){let[x,_]=d.
facets,A=x.scale,T=_.scale,[z,H]=e[y],B=u[A],it=u[T];B!=null&&rl(B,U[A],x,z,x.sorted),it!=null&&rl(it,U[T],_,H,_.sorted),d.min=_.min,d.max=_.max}});for(let d in u){
let y=u[d],x=U[d];if(y.from==null&&(x==null||x.min==null)){let _=y.range(r,y.min==bt?null:y.min,y.max==-bt?null:y.max,d);y.min=_[0],y.max=_[1]}}}for(let d in u){
let y=u[d];if(y.from!=null){let x=u[y.from];if(x.min==null)y.min=y.max=null;else{let _=y.range(r,x.min,x.max,d);y.min=_[0],y.max=_[1]}}}let c={},h=!1;
for(let d in u){let y=u[d],x=k[d];if(x.min!=y.min||x.max!=y.max){x.min=y.min,x.max=y.max;let _=x.distr;x._min=_==3?je(x.min):_==4?Xl(x.min,x.asinh):_==
100?x.fwd(x.min):x.min,x._max=_==3?je(x.max):_==4?Xl(x.max,x.asinh):_==100?x.fwd(x.max):x.max,c[d]=h=!0}}if(h){b.forEach((d,y)=>{i==2?y>0&&c.y&&(d._paths=
null):c[d.scale]&&(d._paths=null)});for(let d in c)Ln=!0,Yt("setScale",d);Ft&&Z.left>=0&&(hn=xe=!0)}for(let d in U)U[d]=null}function qs(u){let c=uo(qt-
1,0,Kt-1),h=uo($t+1,0,Kt-1);for(;u[c]==null&&c>0;)c--;for(;u[h]==null&&h<Kt-1;)h++;return[c,h]}function $s(){if(Kt>0){let u=b.some(c=>c._focus)&&le!=ze.
alpha;u&&(p.globalAlpha=le=ze.alpha),b.forEach((c,h)=>{if(h>0&&c.show&&(Oo(h,!1),Oo(h,!0),c._paths==null)){let d=le;le!=c.alpha&&(p.globalAlpha=le=c.alpha);
let y=i==2?[0,e[h][0].length-1]:qs(e[h]);c._paths=c.paths(r,h,y[0],y[1]),le!=d&&(p.globalAlpha=le=d)}}),b.forEach((c,h)=>{if(h>0&&c.show){let d=le;le!=
c.alpha&&(p.globalAlpha=le=c.alpha),c._paths!=null&&zo(h,!1);{let y=c._paths!=null?c._paths.gaps:null,x=c.points.show(r,h,qt,$t,y),_=c.points.filter(r,
h,x,y);(x||_)&&(c.points._paths=c.points.paths(r,h,qt,$t,_),zo(h,!0))}le!=d&&(p.globalAlpha=le=d),Yt("drawSeries",h)}}),u&&(p.globalAlpha=le=1)}}function Oo(u,c){
let h=c?b[u].points:b[u];h._stroke=h.stroke(r,u),h._fill=h.fill(r,u)}function zo(u,c){let h=c?b[u].points:b[u],{stroke:d,fill:y,clip:x,flags:_,_stroke:A=h.
_stroke,_fill:T=h._fill,_width:z=h.width}=h._paths;z=Mt(z*mt,3);let H=null,B=z%2/2;c&&T==null&&(T=z>0?"#fff":A);let it=h.pxAlign==1&&B>0;if(it&&p.translate(
B,B),!c){let gt=fe-z/2,ht=we-z/2,at=ie+z,tt=Ne+z;H=new Path2D,H.rect(gt,ht,at,tt)}c?il(A,z,h.dash,h.cap,T,d,y,_,x):Bs(u,A,z,h.dash,h.cap,T,d,y,_,H,x),
it&&p.translate(-B,-B)}function Bs(u,c,h,d,y,x,_,A,T,z,H){let B=!1;T!=0&&W.forEach((it,gt)=>{if(it.series[0]==u){let ht=b[it.series[1]],at=e[it.series[1]],
tt=(ht._paths||qr).band;fn(tt)&&(tt=it.dir==1?tt[0]:tt[1]);let Q,Nt=null;ht.show&&tt&&Ad(at,qt,$t)?(Nt=it.fill(r,gt)||x,Q=ht._paths.clip):tt=null,il(c,
h,d,y,Nt,_,A,T,z,H,Q,tt),B=!0}}),B||il(c,h,d,y,x,_,A,T,z,H)}let Ho=cr|so;function il(u,c,h,d,y,x,_,A,T,z,H,B){Lo(u,c,h,d,y),(T||z||B)&&(p.save(),T&&p.
clip(T),z&&p.clip(z)),B?(A&Ho)==Ho?(p.clip(B),H&&p.clip(H),Kr(y,_),Ur(u,x,c)):A&so?(Kr(y,_),p.clip(B),Ur(u,x,c)):A&cr&&(p.save(),p.clip(B),H&&p.clip(H),
Kr(y,_),p.restore(),Ur(u,x,c)):(Kr(y,_),Ur(u,x,c)),(T||z||B)&&p.restore()}function Ur(u,c,h){h>0&&(c instanceof Map?c.forEach((d,y)=>{p.strokeStyle=Gr=
y,p.stroke(d)}):c!=null&&u&&p.stroke(c))}function Kr(u,c){c instanceof Map?c.forEach((h,d)=>{p.fillStyle=Hn=d,p.fill(h)}):c!=null&&u&&p.fill(c)}function Ws(u,c,h,d){
let y=O[u],x;if(d<=0)x=[0,0];else{let _=y._space=y.space(r,u,c,h,d),A=y._incrs=y.incrs(r,u,c,h,d,_);x=Ug(c,h,A,d,_)}return y._found=x}function ll(u,c,h,d,y,x,_,A,T,z){
let H=_%2/2;S==1&&p.translate(H,H),Lo(A,_,T,z,A),p.beginPath();let B,it,gt,ht,at=y+(d==0||d==3?-x:x);h==0?(it=y,ht=at):(B=y,gt=at);for(let tt=0;tt<u.length;tt++)
c[tt]!=null&&(h==0?B=gt=u[tt]:it=ht=u[tt],p.moveTo(B,it),p.lineTo(gt,ht));p.stroke(),S==1&&p.translate(-H,-H)}function Ys(u){let c=!0;return O.forEach(
(h,d)=>{if(!h.show)return;let y=k[h.scale];if(y.min==null){h._show&&(c=!1,h._show=!1,Fn(!1));return}else h._show||(c=!1,h._show=!0,Fn(!1));let x=h.side,
_=x%2,{min:A,max:T}=y,[z,H]=Ws(d,A,T,_==0?q:I);if(H==0)return;let B=y.distr==2,it=h._splits=h.splits(r,d,A,T,z,H,B),gt=y.distr==2?it.map(Q=>Ee[Q]):it,
ht=y.distr==2?Ee[it[1]]-Ee[it[0]]:z,at=h._values=h.values(r,h.filter(r,gt,d,H,ht),d,H,ht);h._rotate=x==2?h.rotate(r,at,d,H):0;let tt=h._size;h._size=Se(
h.size(r,at,d,u)),tt!=null&&h._size!=tt&&(c=!1)}),c}function Gs(u){let c=!0;return Do.forEach((h,d)=>{let y=h(r,d,dn,u);y!=tn[d]&&(c=!1),tn[d]=y}),c}function Us(){
for(let u=0;u<O.length;u++){let c=O[u];if(!c.show||!c._show)continue;let h=c.side,d=h%2,y,x,_=c.stroke(r,u),A=h==0||h==3?-1:1,[T,z]=c._found;if(c.label!=
null){let te=c.labelGap*A,he=zt((c._lpos+te)*mt);Io(c.labelFont[0],_,"center",h==2?"top":uf),p.save(),d==1?(y=x=0,p.translate(he,zt(we+Ne/2)),p.rotate(
(h==3?-Ri:Ri)/2)):(y=zt(fe+ie/2),x=he);let yn=Qf(c.label)?c.label(r,u,T,z):c.label;p.fillText(yn,y,x),p.restore()}if(z==0)continue;let H=k[c.scale],B=d==
0?ie:Ne,it=d==0?fe:we,gt=c._splits,ht=H.distr==2?gt.map(te=>Ee[te]):gt,at=H.distr==2?Ee[gt[1]]-Ee[gt[0]]:T,tt=c.ticks,Q=c.border,Nt=tt.show?tt.size:0,
Dt=zt(Nt*mt),Gt=zt((c.alignTo==2?c._size-Nt-c.gap:c.gap)*mt),vt=c._rotate*-Ri/180,Pt=C(c._pos*mt),se=(Dt+Gt)*A,Xt=Pt+se;x=d==0?Xt:0,y=d==1?Xt:0;let _e=c.
font[0],Te=c.align==1?lr:c.align==2?Ql:vt>0?lr:vt<0?Ql:d==0?"center":h==3?Ql:lr,Ve=vt||d==1?"middle":h==2?"top":uf;Io(_e,_,Te,Ve);let ce=c.font[1]*c.lineGap,
be=gt.map(te=>C(a(te,H,B,it))),Ce=c._values;for(let te=0;te<Ce.length;te++){let he=Ce[te];if(he!=null){d==0?y=be[te]:x=be[te],he=""+he;let yn=he.indexOf(
`
`)==-1?[he]:he.split(/\n/gm);for(let ee=0;ee<yn.length;ee++){let ru=yn[ee];vt?(p.save(),p.translate(y,x+ee*ce),p.rotate(vt),p.fillText(ru,0,0),p.restore()):
p.fillText(ru,y,x+ee*ce)}}}tt.show&&ll(be,tt.filter(r,ht,u,z,at),d,h,Pt,Dt,Mt(tt.width*mt,3),tt.stroke(r,u),tt.dash,tt.cap);let qe=c.grid;qe.show&&ll(
be,qe.filter(r,ht,u,z,at),d,d==0?2:1,d==0?we:fe,d==0?Ne:ie,Mt(qe.width*mt,3),qe.stroke(r,u),qe.dash,qe.cap),Q.show&&ll([Pt],[1],d==0?1:0,d==0?1:2,d==1?
we:fe,d==1?Ne:ie,Mt(Q.width*mt,3),Q.stroke(r,u),Q.dash,Q.cap)}Yt("drawAxes")}function Fn(u){b.forEach((c,h)=>{h>0&&(c._paths=null,u&&(i==1?(c.min=null,
c.max=null):c.facets.forEach(d=>{d.min=null,d.max=null})))})}let Zr=!1,ol=!1,yr=[];function Ks(){ol=!1;for(let u=0;u<yr.length;u++)Yt(...yr[u]);yr.length=
0}function Vn(){Zr||(Vd(Fo),Zr=!0)}function Zs(u,c=!1){Zr=!0,ol=c,u(r),Fo(),c&&yr.length>0&&queueMicrotask(Ks)}r.batch=Zs;function Fo(){if(Ui&&(Vs(),Ui=
!1),Ln&&(Ls(),Ln=!1),Br){if(Et(v,lr,K),Et(v,"top",st),Et(v,zr,q),Et(v,Hr,I),Et(M,lr,K),Et(M,"top",st),Et(M,zr,q),Et(M,Hr,I),Et(m,zr,lt),Et(m,Hr,St),g.
width=zt(lt*mt),g.height=zt(St*mt),O.forEach(({_el:u,_show:c,_size:h,_pos:d,side:y})=>{if(u!=null)if(c){let x=y===3||y===0?h:0,_=y%2==1;Et(u,_?"left":
"top",d-x),Et(u,_?"width":"height",h),Et(u,_?"top":"left",_?st:K),Et(u,_?"height":"width",_?I:q),lo(u,Tn)}else de(u,Tn)}),Gr=Hn=Qi=ji=Xi=tl=el=nl=Ji=null,
le=1,vr(!0),K!=ye||st!=Ge||q!=Vt||I!=cn){Fn(!1);let u=q/Vt,c=I/cn;if(Ft&&!hn&&Z.left>=0){Z.left*=u,Z.top*=c,qn&&Ye(qn,zt(Z.left),0,q,I),$n&&Ye($n,0,zt(
Z.top),q,I);for(let h=0;h<ve.length;h++){let d=ve[h];d!=null&&(On[h]*=u,zn[h]*=c,Ye(d,Se(On[h]),Se(zn[h]),q,I))}}if(At.show&&!Wr&&At.left>=0&&At.width>
0){At.left*=u,At.width*=u,At.top*=c,At.height*=c;for(let h in hl)Et(Yn,h,At[h])}ye=K,Ge=st,Vt=q,cn=I}Yt("setSize"),Br=!1}lt>0&&St>0&&(p.clearRect(0,0,
g.width,g.height),Yt("drawClear"),j.forEach(u=>u()),Yt("draw")),At.show&&Wr&&(Qr(At),Wr=!1),Ft&&hn&&(mn(null,!0,!1),hn=!1),ut.show&&ut.live&&xe&&(sl(),
xe=!1),s||(s=!0,r.status=1,Yt("ready")),mr=!1,Zr=!1}r.redraw=(u,c)=>{Ln=c||!1,u!==!1?nn(N,P.min,P.max):Vn()};function ul(u,c){let h=k[u];if(h.from==null){
if(Kt==0){let d=h.range(r,c.min,c.max,u);c.min=d[0],c.max=d[1]}if(c.min>c.max){let d=c.min;c.min=c.max,c.max=d}if(Kt>1&&c.min!=null&&c.max!=null&&c.max-
c.min<1e-16)return;u==N&&h.distr==2&&Kt>0&&(c.min=Ie(c.min,e[0]),c.max=Ie(c.max,e[0]),c.min==c.max&&c.max++),U[u]=c,Ui=!0,Vn()}}r.setScale=ul;let al,fl,
qn,$n,Vo,qo,Bn,Wn,$o,Bo,kt,Tt,en=!1,Zt=Z.drag,Bt=Zt.x,Wt=Zt.y;Ft&&(Z.x&&(al=Me(sd,M)),Z.y&&(fl=Me(cd,M)),P.ori==0?(qn=al,$n=fl):(qn=fl,$n=al),kt=Z.left,
Tt=Z.top);let At=r.select=Ot({show:!0,over:!0,left:0,width:0,top:0,height:0},t.select),Yn=At.show?Me(fd,At.over?M:v):null;function Qr(u,c){if(At.show){
for(let h in u)At[h]=u[h],h in hl&&Et(Yn,h,u[h]);c!==!1&&Yt("setSelect")}}r.setSelect=Qr;function Qs(u){if(b[u].show)It&&lo(wt[u],Tn);else if(It&&de(wt[u],
Tn),Ft){let h=Rn?ve[0]:ve[u];h!=null&&Ye(h,-10,-10,q,I)}}function nn(u,c,h){ul(u,{min:c,max:h})}function He(u,c,h,d){c.focus!=null&&ec(u),c.show!=null&&
b.forEach((y,x)=>{x>0&&(u==x||u==null)&&(y.show=c.show,Qs(x),i==2?(nn(y.facets[0].scale,null,null),nn(y.facets[1].scale,null,null)):nn(y.scale,null,null),
Vn())}),h!==!1&&Yt("setSeries",u,c),d&&_r("setSeries",r,u,c)}r.setSeries=He;function Js(u,c){Ot(W[u],c)}function js(u,c){u.fill=ft(u.fill||null),u.dir=
pt(u.dir,-1),c=c??W.length,W.splice(c,0,u)}function Xs(u){u==null?W.length=0:W.splice(u,1)}r.addBand=js,r.setBand=Js,r.delBand=Xs;function tc(u,c){b[u].
alpha=c,Ft&&ve[u]!=null&&(ve[u].style.opacity=c),It&&wt[u]&&(wt[u].style.opacity=c)}let Ue,rn,gn,Gn={focus:!0};function ec(u){if(u!=gn){let c=u==null,
h=ze.alpha!=1;b.forEach((d,y)=>{if(i==1||y>0){let x=c||y==0||y==u;d._focus=c?null:x,h&&tc(y,x?1:ze.alpha)}}),gn=u,h&&Vn()}}It&&In&&G(cf,ct,u=>{Z._lock||
(pn(u),gn!=null&&He(null,Gn,!0,Rt.setSeries))});function Fe(u,c,h){let d=k[c];h&&(u=u/mt-(d.ori==1?st:K));let y=q;d.ori==1&&(y=I,u=y-u),d.dir==-1&&(u=
y-u);let x=d._min,_=d._max,A=u/y,T=x+(_-x)*A,z=d.distr;return z==3?ar(10,T):z==4?Ed(T,d.asinh):z==100?d.bwd(T):T}function nc(u,c){let h=Fe(u,N,c);return Ie(
h,e[0],qt,$t)}r.valToIdx=u=>Ie(u,e[0]),r.posToIdx=nc,r.posToVal=Fe,r.valToPos=(u,c,h)=>k[c].ori==0?l(u,k[c],h?ie:q,h?fe:0):o(u,k[c],h?Ne:I,h?we:0),r.setCursor=
(u,c,h)=>{kt=u.left,Tt=u.top,mn(null,c,h)};function Wo(u,c){Et(Yn,lr,At.left=u),Et(Yn,zr,At.width=c)}function Yo(u,c){Et(Yn,"top",At.top=u),Et(Yn,Hr,At.
height=c)}let wr=P.ori==0?Wo:Yo,xr=P.ori==1?Wo:Yo;function rc(){if(It&&ut.live)for(let u=i==2?1:0;u<b.length;u++){if(u==0&&re)continue;let c=ut.values[u],
h=0;for(let d in c)ae[u][h++].firstChild.nodeValue=c[d]}}function sl(u,c){if(u!=null&&(u.idxs?u.idxs.forEach((h,d)=>{yt[d]=h}):Pd(u.idx)||yt.fill(u.idx),
ut.idx=yt[0]),It&&ut.live){for(let h=0;h<b.length;h++)(h>0||i==1&&!re)&&ic(h,yt[h]);rc()}xe=!1,c!==!1&&Yt("setLegend")}r.setLegend=sl;function ic(u,c){
let h=b[u],d=u==0&&L==2?Ee:e[u],y;re?y=h.values(r,u,c)??Ae:(y=h.value(r,c==null?null:d[c],u,c),y=y==null?Ae:{_:y}),ut.values[u]=y}function mn(u,c,h){$o=
kt,Bo=Tt,[kt,Tt]=Z.move(r,kt,Tt),Z.left=kt,Z.top=Tt,Ft&&(qn&&Ye(qn,zt(kt),0,q,I),$n&&Ye($n,0,zt(Tt),q,I));let d,y=qt>$t;Ue=bt,rn=null;let x=P.ori==0?q:
I,_=P.ori==1?q:I;if(kt<0||Kt==0||y){d=Z.idx=null;for(let A=0;A<b.length;A++){let T=ve[A];T!=null&&Ye(T,-10,-10,q,I)}In&&He(null,Gn,!0,u==null&&Rt.setSeries),
ut.live&&(yt.fill(d),xe=!0)}else{let A,T,z;i==1&&(A=P.ori==0?kt:Tt,T=Fe(A,N),d=Z.idx=Ie(T,e[0],qt,$t),z=V(e[0][d],P,x,0));let H=-10,B=-10,it=0,gt=0,ht=!0,
at="",tt="";for(let Q=i==2?1:0;Q<b.length;Q++){let Nt=b[Q],Dt=yt[Q],Gt=Dt==null?null:i==1?e[Q][Dt]:e[Q][1][Dt],vt=Z.dataIdx(r,Q,d,T),Pt=vt==null?null:
i==1?e[Q][vt]:e[Q][1][vt];if(xe=xe||Pt!=Gt||vt!=Dt,yt[Q]=vt,Q>0&&Nt.show){let se=vt==null?-10:vt==d?z:V(i==1?e[0][vt]:e[Q][0][vt],P,x,0),Xt=Pt==null?-10:
$(Pt,i==1?k[Nt.scale]:k[Nt.facets[1].scale],_,0);if(In&&Pt!=null){let _e=P.ori==1?kt:Tt,Te=Ht(ze.dist(r,Q,vt,Xt,_e));if(Te<Ue){let Ve=ze.bias;if(Ve!=0){
let ce=Fe(_e,Nt.scale),be=Pt>=0?1:-1,Ce=ce>=0?1:-1;Ce==be&&(Ce==1?Ve==1?Pt>=ce:Pt<=ce:Ve==1?Pt<=ce:Pt>=ce)&&(Ue=Te,rn=Q)}else Ue=Te,rn=Q}}if(xe||Rn){let _e,
Te;P.ori==0?(_e=se,Te=Xt):(_e=Xt,Te=se);let Ve,ce,be,Ce,qe,te,he=!0,yn=Jt.bbox;if(yn!=null){he=!1;let ee=yn(r,Q);be=ee.left,Ce=ee.top,Ve=ee.width,ce=ee.
height}else be=_e,Ce=Te,Ve=ce=Jt.size(r,Q);if(te=Jt.fill(r,Q),qe=Jt.stroke(r,Q),Rn)Q==rn&&Ue<=ze.prox&&(H=be,B=Ce,it=Ve,gt=ce,ht=he,at=te,tt=qe);else{
let ee=ve[Q];ee!=null&&(On[Q]=be,zn[Q]=Ce,wf(ee,Ve,ce,he),mf(ee,te,qe),Ye(ee,Se(be),Se(Ce),q,I))}}}}if(Rn){let Q=ze.prox,Nt=gn==null?Ue<=Q:Ue>Q||rn!=gn;
if(xe||Nt){let Dt=ve[0];Dt!=null&&(On[0]=H,zn[0]=B,wf(Dt,it,gt,ht),mf(Dt,at,tt),Ye(Dt,Se(H),Se(B),q,I))}}}if(At.show&&en)if(u!=null){let[A,T]=Rt.scales,
[z,H]=Rt.match,[B,it]=u.cursor.sync.scales,gt=u.cursor.drag;if(Bt=gt._x,Wt=gt._y,Bt||Wt){let{left:ht,top:at,width:tt,height:Q}=u.select,Nt=u.scales[B].
ori,Dt=u.posToVal,Gt,vt,Pt,se,Xt,_e=A!=null&&z(A,B),Te=T!=null&&H(T,it);_e&&Bt?(Nt==0?(Gt=ht,vt=tt):(Gt=at,vt=Q),Pt=k[A],se=V(Dt(Gt,B),Pt,x,0),Xt=V(Dt(
Gt+vt,B),Pt,x,0),wr(Re(se,Xt),Ht(Xt-se))):wr(0,x),Te&&Wt?(Nt==1?(Gt=ht,vt=tt):(Gt=at,vt=Q),Pt=k[T],se=$(Dt(Gt,it),Pt,_,0),Xt=$(Dt(Gt+vt,it),Pt,_,0),xr(
Re(se,Xt),Ht(Xt-se))):xr(0,_)}else pl()}else{let A=Ht($o-Vo),T=Ht(Bo-qo);if(P.ori==1){let it=A;A=T,T=it}Bt=Zt.x&&A>=Zt.dist,Wt=Zt.y&&T>=Zt.dist;let z=Zt.
uni;z!=null?Bt&&Wt&&(Bt=A>=z,Wt=T>=z,!Bt&&!Wt&&(T>A?Wt=!0:Bt=!0)):Zt.x&&Zt.y&&(Bt||Wt)&&(Bt=Wt=!0);let H,B;Bt&&(P.ori==0?(H=Bn,B=kt):(H=Wn,B=Tt),wr(Re(
H,B),Ht(B-H)),Wt||xr(0,_)),Wt&&(P.ori==1?(H=Bn,B=kt):(H=Wn,B=Tt),xr(Re(H,B),Ht(B-H)),Bt||wr(0,x)),!Bt&&!Wt&&(wr(0,0),xr(0,0))}if(Zt._x=Bt,Zt._y=Wt,u==
null){if(h){if(nu!=null){let[A,T]=Rt.scales;Rt.values[0]=A!=null?Fe(P.ori==0?kt:Tt,A):null,Rt.values[1]=T!=null?Fe(P.ori==1?kt:Tt,T):null}_r(Jl,r,kt,Tt,
q,I,d)}if(In){let A=h&&Rt.setSeries,T=ze.prox;gn==null?Ue<=T&&He(rn,Gn,!0,A):Ue>T?He(null,Gn,!0,A):rn!=gn&&He(rn,Gn,!0,A)}}xe&&(ut.idx=d,sl()),c!==!1&&
Yt("setCursor")}let ln=null;Object.defineProperty(r,"rect",{get(){return ln==null&&vr(!1),ln}});function vr(u=!1){u?ln=null:(ln=M.getBoundingClientRect(),
Yt("syncRect",ln))}function Go(u,c,h,d,y,x,_){Z._lock||en&&u!=null&&u.movementX==0&&u.movementY==0||(cl(u,c,h,d,y,x,_,!1,u!=null),u!=null?mn(null,!0,!0):
mn(c,!0,!1))}function cl(u,c,h,d,y,x,_,A,T){if(ln==null&&vr(!1),pn(u),u!=null)h=u.clientX-ln.left,d=u.clientY-ln.top;else{if(h<0||d<0){kt=-10,Tt=-10;return}
let[z,H]=Rt.scales,B=c.cursor.sync,[it,gt]=B.values,[ht,at]=B.scales,[tt,Q]=Rt.match,Nt=c.axes[0].side%2==1,Dt=P.ori==0?q:I,Gt=P.ori==1?q:I,vt=Nt?x:y,
Pt=Nt?y:x,se=Nt?d:h,Xt=Nt?h:d;if(ht!=null?h=tt(z,ht)?a(it,k[z],Dt,0):-10:h=Dt*(se/vt),at!=null?d=Q(H,at)?a(gt,k[H],Gt,0):-10:d=Gt*(Xt/Pt),P.ori==1){let _e=h;
h=d,d=_e}}T&&(c==null||c.cursor.event.type==Jl)&&((h<=1||h>=q-1)&&(h=Nn(h,q)),(d<=1||d>=I-1)&&(d=Nn(d,I))),A?(Vo=h,qo=d,[Bn,Wn]=Z.move(r,h,d)):(kt=h,Tt=
d)}let hl={width:0,height:0,left:0,top:0};function pl(){Qr(hl,!1)}let Uo,Ko,Zo,Qo;function Jo(u,c,h,d,y,x,_){en=!0,Bt=Wt=Zt._x=Zt._y=!1,cl(u,c,h,d,y,x,
_,!0,!1),u!=null&&(G(jl,ro,jo,!1),_r(ff,r,Bn,Wn,q,I,null));let{left:A,top:T,width:z,height:H}=At;Uo=A,Ko=T,Zo=z,Qo=H}function jo(u,c,h,d,y,x,_){en=Zt.
_x=Zt._y=!1,cl(u,c,h,d,y,x,_,!1,!0);let{left:A,top:T,width:z,height:H}=At,B=z>0||H>0,it=Uo!=A||Ko!=T||Zo!=z||Qo!=H;if(B&&it&&Qr(At),Zt.setScale&&B&&it){
let gt=A,ht=z,at=T,tt=H;if(P.ori==1&&(gt=T,ht=H,at=A,tt=z),Bt&&nn(N,Fe(gt,N),Fe(gt+ht,N)),Wt)for(let Q in k){let Nt=k[Q];Q!=N&&Nt.from==null&&Nt.min!=
bt&&nn(Q,Fe(at+tt,Q),Fe(at,Q))}pl()}else Z.lock&&(Z._lock=!Z._lock,mn(c,!0,u!=null));u!=null&&(nt(jl,ro),_r(jl,r,kt,Tt,q,I,null))}function lc(u,c,h,d,y,x,_){
if(Z._lock)return;pn(u);let A=en;if(en){let T=!0,z=!0,H=10,B,it;P.ori==0?(B=Bt,it=Wt):(B=Wt,it=Bt),B&&it&&(T=kt<=H||kt>=q-H,z=Tt<=H||Tt>=I-H),B&&T&&(kt=
kt<Bn?0:q),it&&z&&(Tt=Tt<Wn?0:I),mn(null,!0,!0),en=!1}kt=-10,Tt=-10,yt.fill(null),mn(null,!0,!0),A&&(en=A)}function Xo(u,c,h,d,y,x,_){Z._lock||(pn(u),
Zi(),pl(),u!=null&&_r(hf,r,kt,Tt,q,I,null))}function tu(){O.forEach(Kg),Ki(r.width,r.height,!0)}Cn(Oi,ur,tu);let Un={};Un.mousedown=Jo,Un.mousemove=Go,
Un.mouseup=jo,Un.dblclick=Xo,Un.setSeries=(u,c,h,d)=>{let y=Rt.match[2];h=y(r,c,h),h!=-1&&He(h,d,!0,!1)},Ft&&(G(ff,M,Jo),G(Jl,M,Go),G(sf,M,u=>{pn(u),vr(
!1)}),G(cf,M,lc),G(hf,M,Xo),co.add(r),r.syncRect=vr);let Jr=r.hooks=t.hooks||{};function Yt(u,c,h){ol?yr.push([u,c,h]):u in Jr&&Jr[u].forEach(d=>{d.call(
null,r,c,h)})}(t.plugins||[]).forEach(u=>{for(let c in u.hooks)Jr[c]=(Jr[c]||[]).concat(u.hooks[c])});let eu=(u,c,h)=>h,Rt=Ot({key:null,setSeries:!1,filters:{
pub:Mf,sub:Mf},scales:[N,b[1]?b[1].scale:null],match:[Sf,Sf,eu],values:[null,null]},Z.sync);Rt.match.length==2&&Rt.match.push(eu),Z.sync=Rt;let nu=Rt.
key,dl=vs(nu);function _r(u,c,h,d,y,x,_){Rt.filters.pub(u,c,h,d,y,x,_)&&dl.pub(u,c,h,d,y,x,_)}dl.sub(r);function oc(u,c,h,d,y,x,_){Rt.filters.sub(u,c,
h,d,y,x,_)&&Un[u](null,c,h,d,y,x,_)}r.pub=oc;function uc(){dl.unsub(r),co.delete(r),D.clear(),oo(Oi,ur,tu),f.remove(),ct?.remove(),Yt("destroy")}r.destroy=
uc;function gl(){Yt("init",t,e),Po(e||t.data,!1),U[N]?ul(N,U[N]):Zi(),Wr=At.show&&(At.width>0||At.height>0),hn=xe=!0,Ki(t.width,t.height)}return b.forEach(
Co),O.forEach(Fs),n?n instanceof HTMLElement?(n.appendChild(f),gl()):n(r,gl):gl(),r}Qt.assign=Ot;Qt.fmtNum=xo;Qt.rangeNum=zi;Qt.rangeLog=Vi;Qt.rangeAsinh=
yo;Qt.orient=Pn;Qt.pxRatio=mt;Qt.join=Fd;Qt.fmtDate=_o,Qt.tzDate=Qd;Qt.sync=vs;{Qt.addGap=Pg,Qt.clipGaps=Bi;let t=Qt.paths={points:As};t.linear=Es,t.stepped=
Rg,t.bars=Og,t.spline=Hg}return pc(Zg);})();
