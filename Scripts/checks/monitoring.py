"""Checks the alerts, the board and the runbook, by promtool and by comparing the files with each other.

- Packaging/prometheus/alerts.yaml: each alert has `for`, a severity, a summary and a section of docs/RUNBOOK.md; alerts_test.yaml tests it
  with a server that fires and one that stays silent.
- Packaging/grafana/pushserver.json: panels have ids of their own, do not overlap, and name unit, data source and valid queries.
- Both use metrics of docs/METRICS.md only. Those of a database have the same results for one server as for two on one database.
- Each trouble of two servers fires one alert, named after its cause.
- docs/RUNBOOK.md: the section "Alerts" has a heading for each alert and no other one.
- docs/REASONS.md: the headings of "Readiness reasons" are texts of the server.
"""

import json
import re
import subprocess
import sys
import tempfile
from itertools import combinations

import yaml

from checks.repository import ROOT, files, read

ALERTS = "Packaging/prometheus/alerts.yaml"
TESTS = "Packaging/prometheus/alerts_test.yaml"
BOARD = "Packaging/grafana/pushserver.json"
RUNBOOK = "docs/RUNBOOK.md"
REASONS = "docs/REASONS.md"
METRICS = "docs/METRICS.md"

ROWS = ["Now", "Flow", "Latency", "Delivery", "Node", "Store", "Process"]
# Series of Prometheus itself.
BUILT_IN = {"up", "ALERTS"}
WORDS = {"and", "or", "unless", "offset", "bool", "by", "without", "on", "ignoring", "group_left", "group_right"}


def metrics_in(expression):
    """The names of the metrics in an expression of PromQL."""
    text = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)', " ", expression)
    return set(re.findall(r"\b[A-Za-z_:][\w:]*\b(?!\s*\()", text)) - WORDS


def unknown_metrics(expression, known):
    """The metrics of an expression that are not known; those of a histogram have one of three endings."""
    return sorted(name for name in metrics_in(expression) if name not in known and re.sub(r"_(?:bucket|sum|count)$", "", name) not in known)


def promtool(*arguments):
    """The complaints of promtool; None if there are none."""
    result = subprocess.run(["promtool", *arguments], cwd=ROOT, capture_output=True, text=True)
    return re.sub(r"\n\s*\n", "\n", result.stdout + result.stderr).strip() if result.returncode else None


def parsed(name, parse):
    try:
        return parse(read(name))
    except (ValueError, yaml.YAMLError) as error:
        sys.exit(f"{name}: {error}")


def alert_rules():
    return [rule for group in parsed(ALERTS, yaml.safe_load)["groups"] for rule in group["rules"]]


def queries(board):
    """Yields the expression of each query of the board with the title of its panel."""
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for annotation in board["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]


def with_values(expression):
    return expression.replace("$__rate_interval", "10s").replace("$instance", ".*")


def servers_in(texts, label):
    return {server for text in texts for server in re.findall(rf'{label}="([^"]+)"', text)}


def tested():
    """The alerts that a test lets fire, and those that it sees silent."""
    firing, silent = set(), set()
    for test in parsed(TESTS, yaml.safe_load)["tests"]:
        for expected in test["promql_expr_test"]:
            # An alert about a database names the server key.
            label = "public_key" if "public_key" in expected["expr"] else "instance"
            servers = servers_in((series["series"] for series in test.get("input_series", [])), label)
            alert = re.search(r'alertname="(\w+)"', expected["expr"])
            if not alert:  # a test of several alerts together
                continue
            alert = alert[1]
            affected = servers_in((sample["labels"] for sample in expected["exp_samples"]), label)
            firing |= {alert} if affected else set()
            silent |= {alert} if servers - affected else set()
    return firing, silent


def faults_of_alerts(rules, known):
    if complaint := promtool("check", "rules", ALERTS) or promtool("test", "rules", TESTS):
        yield complaint
    firing, silent = tested()
    for rule in rules:
        name = rule.get("alert", rule.get("record"))
        for metric in unknown_metrics(rule["expr"], known):
            yield f"{ALERTS}: {name}: docs/METRICS.md has no {metric}"
        if "record" in rule:
            continue
        if "for" not in rule:
            yield f"{ALERTS}: {name} has no `for`"
        if rule.get("labels", {}).get("severity") not in ("page", "ticket"):
            yield f"{ALERTS}: {name} needs the severity page or ticket"
        if not rule.get("annotations", {}).get("summary"):
            yield f"{ALERTS}: {name} has no summary"
        if name not in firing:
            yield f"{TESTS}: {name} has no server that fires"
        if name not in silent:
            yield f"{TESTS}: {name} has no server that stays silent"


def sections(page, heading):
    """The subheadings of a section of a page."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", read(page), re.M | re.S)
    return re.findall(r"^### (.+)$", section[1], re.M) if section else []


def faults_of_runbook(rules):
    headings = {f"docs/RUNBOOK.md#{heading.lower()}": heading for heading in sections(RUNBOOK, "Alerts")}
    alerts = [rule for rule in rules if "alert" in rule]
    for rule in alerts:
        runbook = rule.get("annotations", {}).get("runbook")
        if runbook not in headings:
            yield f"{ALERTS}: {rule['alert']}: the runbook has no section {runbook}"
    for anchor in sorted(headings.keys() - {rule.get("annotations", {}).get("runbook") for rule in alerts}):
        yield f"{RUNBOOK}: no alert leads to the section {headings[anchor]}"
    sources = "".join(map(read, files("Sources/", ".swift")))
    reasons = sections(REASONS, "Readiness reasons")
    if not reasons:
        yield f"{REASONS}: the section “Readiness reasons” is empty"
    for reason in reasons:
        # An ellipsis stands for a value.
        if not all(part.strip() in sources for part in reason.split("…")):
            yield f"{REASONS}: the server has no reason “{reason}”"


def faults_of_board(board, known):
    fault = f"{BOARD}: ".__add__
    panels = board["panels"]
    if board.get("schemaVersion") != 39 or not board.get("uid"):
        yield fault("the board needs schemaVersion 39 and a uid")
    if [panel["title"] for panel in panels if panel["type"] == "row"] != ROWS:
        yield fault(f"the rows should be {', '.join(ROWS)}")
    variables = {variable["name"] for variable in board["templating"]["list"]}
    for one, other in combinations(panels, 2):
        if one["id"] == other["id"]:
            yield fault(f"“{one['title']}” and “{other['title']}” both have the id {one['id']}")
        a, b = one["gridPos"], other["gridPos"]
        if a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]:
            yield fault(f"“{one['title']}” and “{other['title']}” overlap")
    for panel in panels:
        place = panel["gridPos"]
        if place["x"] < 0 or place["x"] + place["w"] > 24:
            yield fault(f"“{panel['title']}” is wider than the board")
        if panel["type"] == "row":
            continue
        targets = panel.get("targets", [])
        letters = [target.get("refId") for target in targets]
        if not targets or None in letters or len(set(letters)) < len(letters):
            yield fault(f"“{panel['title']}” needs queries with a refId of their own")
        if not panel["fieldConfig"]["defaults"].get("unit"):
            yield fault(f"“{panel['title']}” has no unit")
        if any(source.get("datasource", {}).get("uid") != "$datasource" for source in [panel, *targets]):
            yield fault(f"“{panel['title']}” has a fixed data source")
    for title, expression in queries(board):
        for variable in sorted(set(re.findall(r"\$(\w+)", expression)) - variables - {"__rate_interval"}):
            yield fault(f"“{title}”: the board has no variable {variable}")
        if re.search(r"\brate\([^\[]*\[(?!\$__rate_interval\])", expression):
            yield fault(f"“{title}”: rate() needs $__rate_interval")
        for metric in unknown_metrics(expression, known):
            yield fault(f"“{title}”: docs/METRICS.md has no {metric}")
    # promtool reads queries as rules.
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        rules = [{"record": f"query:{number}", "expr": with_values(expression)} for number, (_, expression) in enumerate(queries(board))]
        yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}, file)
        file.flush()
        if complaint := promtool("check", "rules", file.name):
            yield fault(complaint)


# Two servers on one database


def of_servers(expression, servers):
    """The expression for the servers whose instance matches."""
    matcher = f'instance=~"{servers}"'
    expression = with_values(expression).replace('instance=~".*", ', "").replace('instance=~".*"', "")
    selector = r"\b(pushserver_\w+)(?:\{([^}]*)\})?"
    return re.sub(selector, lambda match: f"{match[1]}{{{', '.join(filter(None, [match[2], matcher]))}}}", expression)


def database_metrics():
    """The metrics with the scope `database`, each with its closed label and the values of it."""
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| database \| (?:`(\w+)`: ([^|]+))? \|", read(METRICS), re.M)
    return {name: (label, values.split(", ")) for name, label, values in rows}


def faults_of_clusters(rules, board):
    """Compares the result of each query about a database for one server with that for two, which expose the same figures."""
    figures = database_metrics()
    series = []
    for instance in ("one", "two-a", "two-b"):
        own = f'instance="{instance}", job="pushserver"'
        series.append({"series": f'pushserver_identity_info{{{own}, public_key="key", server="{instance}"}}', "values": "1x60"})
        for name, (label, values) in figures.items():
            selectors = [f'{own}, {label}="{value}"' for value in values] if label else [own]
            series += [{"series": f"{name}{{{selector}}}", "values": "0+1000x60"} for selector in selectors]
    expressions = [*queries(board), *((rule.get("alert", rule.get("record")), rule["expr"]) for rule in rules)]
    for title, expression in expressions:
        if not figures.keys() & metrics_in(expression):
            continue
        one, two = (of_servers(expression, servers) for servers in ("one", "two-.*"))
        same = {"expr": f"count(({one}) == ({two})) / count({two})", "eval_time": "1m", "exp_samples": [{"labels": "{}", "value": 1}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump({"tests": [{"interval": "2s", "input_series": series, "promql_expr_test": [same]}]}, file)
            file.flush()
            if promtool("test", "rules", file.name):
                yield f"“{title}”: two servers on one database have another result than one: {expression}"


def faults():
    rules, board = alert_rules(), parsed(BOARD, json.loads)
    known = BUILT_IN | set(re.findall(r"`((?:pushserver|process)_\w+)", read(METRICS))) | {rule.get("record") for rule in rules}
    yield from faults_of_alerts(rules, known)
    yield from faults_of_runbook(rules)
    yield from faults_of_board(board, known)
    yield from faults_of_clusters(rules, board)
