extension StatusPage {
    static let style = """
        :root{color-scheme:light dark;--text:#1f2328;--quiet:#59636e;--back:#f6f8fa;--card:#fff;--line:#d1d9e0;--good:#1a7f37;\
        --bad:#cf222e;\
        --warn:#8a5a00;--chart:#0969da}
        @media(prefers-color-scheme:dark){:root{--text:#e6edf3;--quiet:#9198a1;--back:#0d1117;--card:#151b23;--line:#3d444d;\
        --good:#3fb950;\
        --bad:#ff7b72;--warn:#e3b341;--chart:#58a6ff}}
        *{box-sizing:border-box}
        body{margin:0;font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--back);overflow-wrap:anywhere}
        main{max-width:64rem;margin:auto;padding:1rem;display:grid;gap:.8rem;\
        grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr));\
        grid-auto-flow:dense}
        .card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem .9rem;min-width:0}
        .wide{grid-column:1/-1}
        h1,h2,p,dl,dd{margin:0}h1{font-size:2rem;line-height:1.2}h2{font-size:.85rem;font-weight:600;color:var(--quiet)}
        .value{font-size:1.35rem;font-weight:600}small{display:block;color:var(--quiet);font-size:.85rem}
        .good .value,.good h1,b.good{color:var(--good)}.warn .value,.warn h1,b.warn{color:var(--warn)}\
        .bad .value,.bad h1,b.bad{color:var(--bad)}
        .verdict.good,.finding.good{border-left:5px solid var(--good)}.verdict.warn,.finding.warn{border-left:5px solid var(--warn)}\
        .verdict.bad,.finding.bad{border-left:5px solid var(--bad)}
        .balance{margin-top:.4rem}code{display:block;white-space:pre-wrap;margin-top:.3rem;padding:.15rem .5rem;border-radius:5px;\
        background:var(--back);border:1px solid var(--line);\
        font:.85rem ui-monospace,monospace}
        table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums;overflow-wrap:normal}\
        th,td{padding:.2rem 0 .2rem .5rem;text-align:right;\
        border-bottom:1px solid var(--line);font-weight:400}th:first-child{text-align:left;padding-left:0}thead th{color:var(--quiet);\
        font-size:.85rem}
        .row{display:grid;gap:.8rem;margin-top:.8rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,8.5rem),1fr))}
        @media(min-width:60rem){.row{grid-template-columns:repeat(4,1fr)}}
        .card>div+div{margin-top:.5rem}.card>.chart{margin-top:.5rem}
        svg{display:block;width:100%;height:40px;border-left:1px solid var(--line);border-bottom:1px solid var(--line);color:var(--chart)}
        .plot{display:grid;grid-template-columns:auto 1fr;gap:0 .3rem}.plot small{font-size:.75rem;line-height:1.1}
        .scale{text-align:right;display:flex;flex-direction:column;justify-content:space-between;font-variant-numeric:tabular-nums}
        .axis{grid-column:2;display:flex;flex-wrap:wrap;gap:0 .4rem;justify-content:space-between}
        a{color:var(--chart)}nav{grid-column:1/-1;color:var(--quiet);font-size:.85rem;display:flex;gap:1rem;flex-wrap:wrap}
        pre{margin:.4rem 0 0;white-space:pre-wrap;font:.85rem/1.4 ui-monospace,monospace}
        polyline{fill:none;stroke:currentColor;stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round;\
        vector-effect:non-scaling-stroke}
        """

    /// A chart has a scale from 0 (or the lowest value) to the highest, and its time below.
    private static let chart = """
        <div class="chart"><small>{{name}}</small><div class="plot">\
        <small class="scale"><span>{{top}}</span><span>{{bottom}}</span></small>\
        <svg viewBox="0 0 240 40" preserveAspectRatio="none" role="img" aria-label="{{name}}: {{label}}">\
        {{#lines}}<polyline points="{{.}}"/>{{/lines}}</svg>\
        <small class="axis"><span>{{start}}</span><span>{{newest}}</span></small></div></div>
        """

    private static let card = """
        <section class="card {{style}}"><h2>{{name}}</h2><p class="value">{{value}}</p>\
        {{#notes}}<small>{{.}}</small>{{/notes}}{{#charts}}\(chart){{/charts}}</section>

        """

    private static let dependency = """
        <div><b class="{{style}}">{{name}}: {{state}}</b>{{#notes}}<small>{{.}}</small>{{/notes}}</div>
        """

    static let template = """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="refresh" content="10"><title>{{name}}: {{state}} - pushserver</title><style>\(style)</style></head>
        <body><main>
        <header class="card verdict {{style}}"><p>pushserver <b>{{name}}</b></p><h1>{{state}}</h1><p>{{since}}</p></header>
        {{#findings}}<section class="card wide finding {{style}}"><p><b class="{{style}}">{{word}}:</b> {{text}}</p>\
        <p>{{advice}}{{#runbook}} <a href="{{.}}">Runbook</a>{{/runbook}}</p>\
        <code>{{command}}</code></section>
        {{/findings}}{{#firstCards}}\(card){{/firstCards}}<section class="card wide"><h2>{{flowName}}</h2>
        <table><thead><tr><th></th><th>last hour</th><th>yesterday</th><th>total</th></tr></thead><tbody>
        {{#flow}}<tr><th scope="row">{{name}}</th><td>{{lastHour}}</td><td>{{hourYesterday}}</td><td>{{total}}</td></tr>
        {{/flow}}</tbody></table><p class="balance"><b class="{{balanceStyle}}">{{balance}}</b></p>
        {{#hasFlowCharts}}<div class="row">{{#flowCharts}}\(chart){{/flowCharts}}</div>{{/hasFlowCharts}}</section>
        {{#replies}}\(card){{/replies}}\
        {{#hasMembers}}<section class="card"><h2>{{membersName}}</h2>{{#members}}\(dependency){{/members}}</section>
        {{/hasMembers}}<section class="card"><h2>{{nodeName}}</h2>{{#nodes}}\(dependency){{/nodes}}\
        {{^nodes}}<p class="value">embedded</p><small>no Waku node is configured</small>{{/nodes}}</section>
        <section class="card"><h2>{{gorushName}}</h2>{{#routes}}\(dependency){{/routes}}\
        {{^routes}}<p class="value">dry run</p><small>no push leaves this machine</small>{{/routes}}</section>
        {{#lastCards}}\(card){{/lastCards}}<nav><a href="/metrics">Metrics</a><a href="/status.json">JSON</a>\
        {{#runbookPath}}<a href="{{.}}">Runbook</a>{{/runbookPath}}</nav></main></body></html>
        """
}
