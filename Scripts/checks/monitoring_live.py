"""Checks the alerts and the board with Debian's prometheus, which scrapes Scripts/demo, and then two servers on one PostgreSQL in seven
kinds of trouble: takes a quarter of an hour once all is built."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

from checks.monitoring import ALERTS, BOARD, alert_rules, parsed, queries, with_values
from checks.repository import ROOT

# Queries without a result while the demo runs: a pattern of the expression, and the reason.
EMPTY = {
    "offset 1d": "Prometheus has just started",
    "pushserver_(node_(up|last_poll_age_|publish_queue_)|checkpoint_)": "the demo has no Waku node",
    "pushserver_last_backup_": "the demo makes no backups",
}


def start_demo(stack):
    """Starts the demo and returns the address of its metrics."""
    environment = {**os.environ, "PUSHSERVER_CANARY_INTERVAL": "10s"}
    demo = subprocess.Popen([ROOT / "Scripts/demo", "--keep"], stdout=subprocess.PIPE, text=True, env=environment)
    stack.callback(stop, demo)
    output = []
    for line in demo.stdout:
        output.append(line)
        if metrics := re.search(r"curl http://(\S+)/metrics", line):
            return metrics[1]
    sys.exit(f"monitoring-live: the demo ended:\n{''.join(output)}")


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % probe.getsockname()[1]


def start_prometheus(stack, targets, rules):
    """Starts a Prometheus that scrapes the targets, as an ordinary user, and returns its address."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    address = free_address()
    (folder / Path(ALERTS).name).write_text(rules)
    configuration = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [Path(ALERTS).name],
        "scrape_configs": [{"job_name": "pushserver", "static_configs": [{"targets": targets}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    user = {}
    if os.geteuid() == 0:
        user = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, "nobody", "nogroup")
    options = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", f"--web.listen-address={address}"]
    log = stack.enter_context(open(folder / "log", "w"))
    prometheus = subprocess.Popen(["prometheus", *options], stdout=log, stderr=log, **user)
    stack.callback(stop, prometheus)
    # Enough scrapes for rate().
    deadline = time.monotonic() + 60
    while not query(address, "sum_over_time(up[1m]) >= 12")[1]:
        if prometheus.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"monitoring-live: Prometheus has no metrics of {targets}: {(folder / 'log').read_text()[-500:]}")
        time.sleep(0.5)
    return address


def stop(process):
    process.terminate()
    process.wait()


def get(address, path):
    """The status and the data of a response; 0 and nothing if none exists."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as response:
            return response.status, json.load(response)["data"]
    except urllib.error.HTTPError as error:
        return error.code, {}
    except OSError:
        return 0, {}


def query(address, expression):
    """The status and the samples of a query."""
    status, data = get(address, "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
    return status, data.get("result", [])


def faults():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    yield from faults_of_demo()
    yield from faults_of_troubles()


def faults_of_demo():
    rules, board = alert_rules(), parsed(BOARD, json.loads)
    with contextlib.ExitStack() as stack:
        address = start_prometheus(stack, [start_demo(stack)], (ROOT / ALERTS).read_text())
        for title, expression in queries(board):
            status, samples = query(address, with_values(expression))
            reason = next((reason for pattern, reason in EMPTY.items() if re.search(pattern, expression)), None)
            if status != 200:
                yield f"{BOARD}: “{title}”: Prometheus responds with {status} to {expression}"
            # An annotation marks what happens seldom.
            elif not samples and not reason and not expression.endswith("> 0"):
                yield f"{BOARD}: “{title}”: no series for {expression}"
            elif samples and reason:
                yield f"Scripts/checks/monitoring_live.py: there are series for {expression}, although {reason}"
        loaded = [rule for group in get(address, "/api/v1/rules")[1].get("groups", []) for rule in group["rules"]]
        if sorted(rule["name"] for rule in loaded) != sorted(rule.get("alert", rule.get("record")) for rule in rules):
            yield f"{ALERTS}: Prometheus has loaded {len(loaded)} of {len(rules)} rules"
        for rule in loaded:
            if rule["health"] != "ok":
                yield f"{ALERTS}: {rule['name']} is {rule['health']}: {rule.get('lastError', '')}"
        for alert in get(address, "/api/v1/alerts")[1].get("alerts", []):
            yield f"{ALERTS}: {alert['labels']['alertname']} is {alert['state']}, although the demo works"


# Trouble


# How much faster the durations of the rules pass than in production.
PACE = 10
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *time) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(id, time);
    if (id == CLOCK_REALTIME) time->tv_sec += atol(getenv("CLOCK_STEP"));
    return result;
}
"""


def hastened(rules):
    """The rules with shorter durations."""
    seconds = {"s": 1, "m": 60, "h": 3600}
    duration = r"(\[|for: )(\d+)([smh])"
    return re.sub(duration, lambda match: f"{match[1]}{max(2, int(match[2]) * seconds[match[3]] // PACE)}s", rules)


class Cluster:
    """Two servers on one PostgreSQL, each with a node of its own, and one gorush."""

    def __init__(self, stack):
        programs = Path(subprocess.run(["swift", "build", "--show-bin-path"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip())
        self.programs, self.stack = programs, stack
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.postgresql = Path(tempfile.mkdtemp(dir="/tmp"))
        self.postgresql.rmdir()
        subprocess.run([ROOT / "Scripts/postgresql", "start", self.postgresql], check=True, stdout=subprocess.DEVNULL)
        stack.callback(subprocess.run, [ROOT / "Scripts/postgresql", "stop", self.postgresql])
        self.processes = {}
        self.addresses = {name: free_address() for name in ("one", "two", "node one", "node two", "gorush")}
        # The nodes are one process, because they have to be connected.
        (self.folder / "clock.c").write_text(CLOCK)
        subprocess.run(["clang", "-shared", "-fPIC", "-o", self.folder / "clock.so", self.folder / "clock.c", "-ldl"], check=True)
        for name in ("nodes", "gorush", "one", "two"):
            self.start(name)
        for name in ("one", "two"):
            self.wait_until(name, 200)

    def start(self, name, clock_step=None):
        if name == "gorush":
            command = ["stubgorush", "--port", self.addresses[name].split(":")[1], "--quiet"]
        elif name == "nodes":
            command = ["pushserver", "relay", "--listen", self.addresses["node one"], "--listen", self.addresses["node two"]]
        else:
            settings = {
                "server.name": name,
                "identity.keyFile": self.folder / "key",
                "storage.kind": "postgresql",
                "storage.url": f"postgresql://postgres@/postgres?host={self.postgresql}",
                "storage.path": self.folder / name,
                "storage.sealingKeyFile": self.folder / "sealing.key",
                "transport.kind": "waku",
                "transport.waku.url": f"http://{self.addresses[f'node {name}']}",
                "gorush.url": f"http://{self.addresses['gorush']}",
                "canary.interval": "10s",
                "canary.deviceToken": "canary",
                "admin.listen": self.addresses[name],
            }
            command = ["pushserver", "serve", *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]
        environment = {**os.environ}
        if clock_step:
            environment |= {"LD_PRELOAD": str(self.folder / "clock.so"), "CLOCK_STEP": str(clock_step)}
        log = self.stack.enter_context(open(self.folder / f"{name}.log", "a"))
        process = subprocess.Popen([self.programs / command[0], *command[1:]], stdout=log, stderr=log, env=environment)
        self.processes[name] = process
        self.stack.callback(stop, process)

    def stop(self, name, number=signal.SIGTERM):
        self.processes[name].send_signal(number)
        self.processes[name].wait()

    def wait_until(self, name, status):
        """Returns when the health check of a server has this status."""
        deadline = time.monotonic() + 120
        while readiness(self.addresses[name]) != status:
            if time.monotonic() > deadline:
                log = (self.folder / f"{name}.log").read_text()[-1000:]
                sys.exit(f"monitoring-live: server {name} does not answer with {status}: {log}")
            time.sleep(0.5)

    # PostgreSQL

    def postmaster(self):
        return int((self.postgresql / "cluster/postmaster.pid").read_text().split()[0])

    def signal_postgresql(self, number):
        """Signals the first process of PostgreSQL, and its children."""
        first = self.postmaster()
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for process in [first, *map(int, children)]:
            os.kill(process, number)

    def stop_postgresql(self):
        self.command = (self.postgresql / "cluster/postmaster.opts").read_text().strip()
        first = self.postmaster()
        os.kill(first, signal.SIGINT)
        while Path(f"/proc/{first}").exists():
            time.sleep(0.1)

    def start_postgresql(self):
        user = ["runuser", "--user", "postgres", "--"] if os.geteuid() == 0 else []
        log = self.stack.enter_context(open(self.folder / "postgresql.log", "a"))
        subprocess.Popen([*user, "sh", "-c", f"exec {self.command}"], cwd="/", stdout=log, stderr=log)

    def make_read_only(self, is_read_only):
        psql = ["psql", "-h", self.postgresql, "-U", "postgres", "-XAtq"]
        change = f"ALTER SYSTEM SET default_transaction_read_only = {'on' if is_read_only else 'off'}"
        subprocess.run([*psql, "-c", change, "-c", "SELECT pg_reload_conf()"], check=True, stdout=subprocess.DEVNULL)


def troubles(cluster):
    """Yields the trouble, the alert that it fires with the cause, what begins it and what ends it."""

    def restart(clock_step=None):
        cluster.stop("two")
        cluster.start("two", clock_step)
        cluster.wait_until("two", 503 if clock_step else 200)

    not_ready = "PushserverNotReady"
    yield "PostgreSQL away", (not_ready, "store"), cluster.stop_postgresql, cluster.start_postgresql
    yield (
        "PostgreSQL hanging", (not_ready, "store"), lambda: cluster.signal_postgresql(signal.SIGSTOP),
        lambda: cluster.signal_postgresql(signal.SIGCONT),
    )
    yield "PostgreSQL read-only", (not_ready, "store"), lambda: cluster.make_read_only(True), lambda: cluster.make_read_only(False)
    yield "the nodes away", (not_ready, "node"), lambda: cluster.stop("nodes"), lambda: cluster.start("nodes")
    yield "gorush away", (not_ready, "gorush"), lambda: cluster.stop("gorush"), lambda: cluster.start("gorush")
    yield "a server killed", ("PushserverDown", None), lambda: cluster.stop("two", signal.SIGKILL), lambda: cluster.start("two")
    # Two clocks that differ by less than ten minutes leave it open which of them is wrong.
    yield "a clock ten minutes off", (not_ready, "clock"), lambda: restart(clock_step=-630), restart


def firing(address):
    alerts = get(address, "/api/v1/alerts")[1].get("alerts", [])
    return {tuple(sorted(alert["labels"].items())) for alert in alerts if alert["state"] == "firing"}


def faults_of_troubles():
    with contextlib.ExitStack() as stack:
        cluster = Cluster(stack)
        servers = [cluster.addresses[name] for name in ("one", "two")]
        address = start_prometheus(stack, servers, hastened((ROOT / ALERTS).read_text()))
        for trouble, (alert, cause), begin, end in troubles(cluster):
            # Long enough for the canary, which is late after 30 s, and for every alert with `for` of at most 10 minutes.
            seen = set()
            begin()
            deadline = time.monotonic() + 75
            while time.monotonic() < deadline:
                seen |= firing(address)
                time.sleep(0.5)
            end()
            for name in ("one", "two"):
                cluster.wait_until(name, 200)
            # What the trouble has left must not fire either.
            deadline = time.monotonic() + 50
            while time.monotonic() < deadline or firing(address):
                seen |= firing(address)
                if time.monotonic() > deadline + 60:
                    yield f"{trouble}: alerts go on firing: {firing(address)}"
                    break
                time.sleep(0.5)
            names = [(dict(labels)["alertname"], dict(labels).get("cause")) for labels in seen]
            if names != [(alert, cause)]:
                yield f"{trouble}: these alerts fired instead of {alert} ({cause}): {sorted(map(dict, seen), key=str)}"
            print(f"{trouble}: {names}", file=sys.stderr)


def readiness(address):
    """The status of the health check; 0 if none exists."""
    try:
        with urllib.request.urlopen(f"http://{address}/health/ready", timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
