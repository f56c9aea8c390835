/// gorush's description of itself at `/api/config` (GORUSH.md §1, §13), under its own names. A value that it leaves out is nil.
struct GorushInstance: Sendable, Equatable {
    struct Core: Sendable, Equatable {
        /// Whether it responds once Apple or Google has responded. In async mode it responds immediately, and can lose what it has in
        /// memory.
        var sync: Bool?
        var max_notification: Int?
        var queue_num: Int?
        var worker_num: Int?
    }

    struct Platform: Sendable, Equatable {
        var enabled: Bool?
        var production: Bool?
        var max_concurrent_pushes: Int?
        var max_retry: Int?
    }

    var core: Core
    /// The setting `queue.engine`.
    var queueEngine: String?
    var ios: Platform
    var android: Platform

    /// gorush's default, which it shows as 0 (GORUSH.md §2.6).
    static let defaultQueueCount = 8_192

    /// Reads a configuration. Nil if the bytes are something else.
    init?(_ bytes: [UInt8]) {
        guard let text = GorushConfigurationText(bytes), text.has("core") else { return nil }
        core = Core(
            sync: text.flag("sync", in: "core"), max_notification: text.number("max_notification", in: "core"),
            queue_num: text.number("queue_num", in: "core"), worker_num: text.number("worker_num", in: "core"))
        queueEngine = text.text("engine", in: "queue")
        (ios, android) = (Platform("ios", text), Platform("android", text))
    }

    var maximumNotificationCount: Int? { core.max_notification.flatMap { $0 > 0 ? $0 : nil } }

    /// The maximum number of notifications that wait in gorush. It loses further notifications or never responds to them (GORUSH.md §0
    /// facts 4 and 5).
    var queueCount: Int { core.queue_num.flatMap { $0 > 0 ? $0 : nil } ?? Self.defaultQueueCount }

    /// How many notifications it works on at a time.
    var workerCount: Int { core.worker_num.flatMap { $0 > 0 ? $0 : nil } ?? GorushProfile.defaultWorkerCount }

    /// Why nothing is posted to this gorush: it would lose pushes that count as sent. The text names the line to change.
    var configurationFault: String? {
        switch core.sync {
        case true: break
        case false: return "gorush runs in async mode and loses what it has in memory; set core.sync: true in gorush's configuration"
        case nil: return "gorush does not show core.sync, so it may lose pushes; set core.sync: true in gorush's configuration"
        }
        switch queueEngine {
        case "local": return nil
        case nil: return "gorush does not show queue.engine, so it may lose pushes; set queue.engine: local in gorush's configuration"
        case let engine?:
            return "gorush ignores core.sync with queue.engine: \(engine); set queue.engine: local in gorush's configuration"
        }
    }

    /// Whether a failure in its `logs` may have been followed by a success (GORUSH.md §2.4).
    var retriesItself: Bool { max(ios.max_retry ?? 0, android.max_retry ?? 0) > 0 }

    /// Whether gorush sends pushes to Apple's other environment. False for a gorush without iOS.
    func contradicts(_ environment: DeliveryConfiguration.APNsEnvironment) -> Bool {
        guard ios.enabled == true, let isProduction = ios.production else { return false }
        return isProduction != (environment == .production)
    }

    /// A route's requirements.
    struct Use: Sendable {
        var platform: GorushPlatform
        var environment: DeliveryConfiguration.APNsEnvironment = .production
        /// Whether the route has ever had a push: an unused platform may be disabled.
        var hasPushes = true
        /// How many routes share gorush.
        var routeCount = 1
    }

    /// Returns the settings that lose pushes or hide their loss, in words for an operator.
    func warnings(for use: Use) -> [String] {
        var warnings: [String] = []
        switch use.platform {
        case .ios:
            if ios.enabled == false, use.hasPushes {
                warnings.append("ios.enabled is false: pushes for iOS wait here until they expire")
            }
            if contradicts(use.environment) {
                warnings.append(
                    use.environment == .production
                        ? "ios.production is false: pushes go to Apple's sandbox, where the tokens of released apps are invalid"
                        : "ios.production is true: pushes do not go to Apple's sandbox, where gorush.apnsEnvironment wants them")
            }
            if ios.max_concurrent_pushes == 0 { warnings.append("ios.max_concurrent_pushes is 0: every push for iOS hangs") }
        case .android:
            if android.enabled == false, use.hasPushes {
                warnings.append("android.enabled is false: pushes for Android wait here until they expire")
            }
        }
        if retriesItself { warnings.append("max_retry is above 0: what gorush reports as failed may have arrived; the retry is made here") }
        let wanted = GorushProfile.wantedWorkerCount(routes: use.routeCount)
        if let count = core.worker_num, count < wanted {
            let share = max(1, count / use.routeCount)
            warnings.append(
                "core.worker_num is \(count): set it to \(wanted) or more, or \(counted(share, "silent phone")) can stop a platform for a "
                    + "minute")
        }
        if queueCount < workerCount {
            warnings.append(
                "core.queue_num is \(queueCount): set it to \(Self.defaultQueueCount), or pushes wait although workers are free")
        }
        return warnings
    }
}

extension GorushInstance.Platform {
    fileprivate init(_ section: String, _ text: GorushConfigurationText) {
        enabled = text.flag("enabled", in: section)
        production = text.flag("production", in: section)
        max_concurrent_pushes = text.number("max_concurrent_pushes", in: section)
        max_retry = text.number("max_retry", in: section)
    }
}
