import Glibc
import HTTPGateways
import Transport

/// How many files the process may have open (`RLIMIT_NOFILE`, getrlimit(2)). A connection takes a file.
enum OpenFileLimit {
    /// The highest limit that the process asks for: all listeners at their own limits need about a third of it.
    private static let maximum: rlim_t = 65_536

    /// Raises the soft limit to the hard limit, at most to 65,536. Shells and containers often start programs with 1,024.
    ///
    /// - Returns: The limit in force.
    @discardableResult
    static func raise() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        let wanted = wanted(underHardLimit: limit.rlim_max)
        if limit.rlim_cur < wanted {
            var raised = rlimit(rlim_cur: wanted, rlim_max: limit.rlim_max)
            if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(min(limit.rlim_cur, maximum))
    }

    /// Returns the soft limit that the process asks for. A hard limit may be `RLIM_INFINITY`, the greatest number.
    static func wanted(underHardLimit hard: rlim_t) -> rlim_t { min(hard, maximum) }
}

/// The numbers of connections that the listeners accept under a limit of open files.
///
/// A process that runs out of files can neither open its database nor reach gorush. The budget therefore reserves files for these and
/// divides only the rest among the listeners: equally, up to what each of them asks for.
struct ConnectionBudget: Equatable {
    /// The listeners' own limits, in connections.
    static let wanted = ConnectionBudget(
        admin: AdminServer.maximumConnectionCount, relay: RelayServer.Configuration.defaultMaximumConnectionCount,
        gateways: GatewayServer.Configuration.defaultMaximumConnectionCount)
    /// Files for the database and its readers, event loops, logs, and connections to nodes, proxies and identity servers.
    private static let reservedFileCount = 256
    /// A listener accepts at least so many connections, even if the limit is lower, because health checks have to get through.
    private static let minimum = 16

    var admin: Int
    /// Each relay's connections.
    var relay: Int
    var gateways: Int

    private init(admin: Int, relay: Int, gateways: Int) {
        (self.admin, self.relay, self.gateways) = (admin, relay, gateways)
    }

    /// - Parameters:
    ///   - openFileLimit: The number of files that the process may have open.
    ///   - deliveryConnectionCount: The number of connections that the delivery may open to gorush.
    init(openFileLimit: Int, deliveryConnectionCount: Int, relayCount: Int, hasGateways: Bool) {
        let wanted = Self.wanted
        let demands = [wanted.admin] + Array(repeating: wanted.relay, count: relayCount) + (hasGateways ? [wanted.gateways] : [])
        let share = Self.fairShare(of: openFileLimit - Self.reservedFileCount - deliveryConnectionCount, demands: demands)
        self.init(
            admin: min(wanted.admin, share), relay: min(wanted.relay, share), gateways: min(wanted.gateways, share))
    }

    /// Returns the largest number that every listener may have without exceeding the total. What a listener does not need is left to the
    /// rest.
    private static func fairShare(of total: Int, demands: [Int]) -> Int {
        var left = total
        for (index, demand) in demands.sorted().enumerated() {
            let share = left / (demands.count - index)
            guard demand < share else { return max(minimum, share) }
            left -= demand
        }
        return demands.max() ?? minimum
    }
}
