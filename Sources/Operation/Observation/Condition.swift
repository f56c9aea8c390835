package import Delivery

/// A condition that an operator should know: a reason why the server is not ready, or a warning. The case tells in which part the operator
/// has to act.
package indirect enum Condition: Sendable, Equatable {
    /// The transport is not usable.
    case node(String)
    /// One of several nodes is not usable, or the shard is silent or loses messages.
    case network(String)
    /// The database rejects writes, or its writer hangs.
    case store(String)
    /// Messages are rejected, because there is no capacity for them.
    case overload(String)
    /// Most messages have a version that this server cannot read.
    case clients(String)
    /// gorush itself doesn't take pushes.
    case gorush(String)
    /// Apple or Google delivers nothing, or refuses gorush.
    case provider(String)
    /// A setting of gorush or the outcomes of attempts suggest that pushes are lost or late.
    case route(String)
    /// An operator holds a route, or the hold has ended early.
    case hold(String)
    /// No gorush is configured.
    case dryRun
    /// The wall clock has made a step, or contradicts the database's.
    case clock(String)
    /// A file with a key of the server is gone, or another one.
    case keyFile(String)
    /// The canary's test pushes fail.
    case canary(String)
    /// Replies come later than clients wait.
    case replies(String)
    /// The last automatic backup failed.
    case backup(String)
    /// Push proxies limit the Nextcloud origin.
    case pushProxy(String)
    /// More conditions of the kind that the given one has (``folded``).
    case further(Int, like: Condition)

    /// The text in `GET /health/ready`, in logs and on the status page.
    package var text: String {
        switch self {
        case .node(let text), .network(let text), .store(let text), .overload(let text), .clients(let text), .gorush(let text),
            .provider(let text), .route(let text), .hold(let text), .clock(let text), .keyFile(let text), .canary(let text),
            .replies(let text), .backup(let text), .pushProxy(let text):
            text
        case .dryRun: "dry run: no gorush.url is set, and no push leaves this machine"
        case .further(let count, let condition): "\(count) more of the kind \(condition.kind)"
        }
    }

    /// The kind's name in `GET /status.json` (JSON.md).
    package var kind: String {
        switch self {
        case .node: "node"
        case .network: "network"
        case .store: "store"
        case .overload: "overload"
        case .clients: "clients"
        case .gorush: "gorush"
        case .provider: "provider"
        case .route: "route"
        case .hold: "hold"
        case .dryRun: "dryRun"
        case .clock: "clock"
        case .keyFile: "keyFile"
        case .canary: "canary"
        case .replies: "replies"
        case .backup: "backup"
        case .pushProxy: "pushProxy"
        case .further(_, let condition): condition.kind
        }
    }

    /// What the operator should do next. REASONS.md has the long form.
    ///
    /// - Parameters:
    ///   - pushLifetime: The setting `gorush.pushLifetime`: how long accepted pushes wait.
    ///   - usesPostgreSQL: Whether the database is on a PostgreSQL server.
    package func advice(pushLifetime: String, usesPostgreSQL: Bool = false) -> String {
        switch self {
        case .node: "Start the node, or read its log. The server then continues by itself and reads what it missed from the node's store."
        case .network: "Check that apps, node and server use the same shard, and that no other program reads from the node."
        case .store where usesPostgreSQL:
            "Check PostgreSQL: that it runs, can be reached, takes writes and has space. "
                + "The server tries again each second and has lost no accepted message."
        case .store: "Check the database, its disk and its locks. The server tries again each second and has lost no accepted message."
        case .overload: "Wait if it passes: the node's store keeps the rejected messages. Otherwise find the sender or a faster machine."
        case .clients: "Update this server if your newer apps send this version. Otherwise ignore it: anybody can send such messages."
        case .gorush(let text):
            (Remedy.of(text)?.text ?? "Start gorush, or correct gorush.url.") + " Accepted pushes wait for up to \(pushLifetime)."
        case .provider(let text):
            (Remedy.of(text)?.text ?? "Correct the credentials, the bundle id or the environment in gorush's configuration.")
                + " Accepted pushes wait for up to \(pushLifetime)."
        case .route(let text):
            Remedy.of(text)?.text ?? "Compare gorush's configuration with Config/gorush.yml, and its keys with the app."
        case .hold: "Wait for its end, or end it with `pushctl resume`. If it has ended early, its pushes are posted."
        case .dryRun: "Set gorush.url in the configuration and restart the server."
        case .clock where usesPostgreSQL:
            "Correct the clock that is wrong, this machine's or PostgreSQL's. Nothing is lost if it is right within ten minutes."
        case .clock: "Correct the clock of this machine. Nothing is lost if it is right within ten minutes."
        case .keyFile: "Put the file back from its backup before the next start of the server."
        case .canary: "Send a test push of your own, which shows the step that fails."
        case .replies: "Find what is slow: the node, the database or the processor. Clients no longer wait for such a reply."
        case .backup: "Free space, or correct the folder's owner. The server tries again within 15 minutes, without room within an hour."
        case .pushProxy: "Ask the operator of the push proxy for a higher limit."
        case .further(_, let condition): condition.advice(pushLifetime: pushLifetime)
        }
    }

    /// The shell commands that help, each on its own line.
    package func commands(in shell: OperatorShell) -> [String] {
        switch self {
        case .node, .network, .gorush, .provider, .route, .dryRun: shell.commands("pushserver check-config --probe > /dev/null")
        case .backup: ["df -h", "journalctl --unit pushserver --lines 50"]
        case .store where shell.usesPostgreSQL:
            shell.commands("pushserver check-config --probe > /dev/null") + ["journalctl --unit pushserver --lines 50"]
        case .store: ["df -h", "dmesg | tail", "journalctl --unit pushserver --lines 50"]
        case .hold, .overload, .replies: shell.commands("pushctl top" + shell.adminOption)
        case .clients: ["pushserver --version"]
        case .clock: ["timedatectl"]
        case .canary: shell.commands("pushctl doctor" + shell.clientOptions)
        case .keyFile: ["ls -l /etc/pushserver /var/lib/pushserver"]
        case .pushProxy: ["journalctl --unit pushserver --lines 50"]
        case .further(_, let condition): condition.commands(in: shell)
        }
    }

    /// The heading in RUNBOOK.md about the alert for this condition, or nil if REASONS.md has a heading for its text.
    package var alert: String? {
        switch self {
        case .canary: "PushserverCanaryLate"
        case .replies: "PushserverRepliesSlow"
        case .overload: "PushserverShedding"
        case .backup: "PushserverBackupOld"
        default: nil
        }
    }
}

extension Condition {
    /// Returns the routes' issues. If routes report the same issue with the same gorush, it is listed once, because a single step helps all
    /// of them.
    package static func issues(of routes: [RouteReport]) -> [Condition] {
        var shared: [(issue: RouteReport.Issue, routes: [RouteReport])] = []
        for route in routes {
            for issue in route.issues {
                let same = shared.firstIndex { $0.issue == issue && $0.routes.first?.gorushURL == route.gorushURL }
                if let same { shared[same].routes.append(route) } else { shared.append((issue, [route])) }
            }
        }
        return shared.map { issue, routes in
            let text = RouteReport.text(issue, of: routes)
            return switch issue {
            case .gorush: .gorush(text)
            case .provider: .provider(text)
            case .outbox: .store(text)
            }
        }
    }
}

extension [Condition] {
    /// The number of conditions of a kind that are told one by one. An operator needs no more to see what goes on, and nobody can fill
    /// pages and logs.
    private static var exampleCount: Int { 3 }

    /// The first three conditions of each kind, and in place of the others their number.
    package var folded: [Condition] {
        let counts = reduce(into: [:]) { counts, condition in counts[condition.kind, default: 0] += 1 }
        var seen: [String: Int] = [:]
        return compactMap { condition in
            let position = seen[condition.kind, default: 0]
            seen[condition.kind] = position + 1
            guard position >= Self.exampleCount else { return condition }
            return position == Self.exampleCount
                ? .further(counts[condition.kind, default: position] - position, like: condition) : nil
        }
    }
}
