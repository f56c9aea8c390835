import Bytes
package import Delivery
import Foundation
package import Logging
package import Observation
package import PushProtocol
package import ServerFiles
import StatusCrypto
package import Transport

/// The validated configuration. `Config/pushserver.yaml` documents every key.
package struct Settings: HoldsSecret, Sendable {
    package enum TransportKind: String, CaseIterable, Sendable {
        case embedded
        case waku
    }

    package var identityKeyFile: String
    /// Where an SQLite database is. Files such as the admin token are next to this path, also with PostgreSQL.
    package var storagePath: String
    package var storage: DatabaseLocation
    /// This server's name, which distinguishes it from other servers on its database.
    package var serverName: String
    /// The settings of automatic backups, or nil without any.
    package var backup: BackupSettings?
    package var sealingKeyFile: String
    package var transportKind: TransportKind
    package var pubsubTopics: [String]
    /// Whether replies to queries and push requests are published again after 1.5 s and 4 s.
    package var echoesReplies: Bool
    /// Each address is a separate node. They share a bus.
    package var embeddedListen: [ListenAddress]
    /// The nodes' URLs. There is always at least a default.
    package var wakuURLs: [String]
    /// Headers for a proxy in front of the nodes.
    package var wakuHeaders: [(name: String, value: String)]
    /// A PEM file's path. Nil means the certificates that the system trusts.
    package var wakuCertificateAuthorityFile: String?
    package var waku: WakuTransport.Configuration
    /// The delivery's configuration, or nil for a dry run, which discards pushes.
    package var delivery: DeliveryConfiguration?
    package var registrationPolicy: RegistrationPolicy
    /// The gateways' settings, or nil without gateways.
    package var gateways: GatewaySettings?
    /// The canary's settings, or nil without a canary.
    package var canary: CanarySettings?
    package var adminListen: ListenAddress
    /// The host names under which the admin endpoints respond, in addition to IP addresses and `localhost`.
    package var adminAllowedHosts: [String]
    /// The time for work in flight to finish after SIGTERM. 25 s by default.
    package var shutdownGracePeriod: Duration
    package var logLevel: Logger.Level
    package var logFormat: LogFormat

    /// The sources of settings other than the defaults: the file, and the names of variables and flags.
    package private(set) var origins: [String] = []
    /// The configuration file's absolute path, or nil without a file.
    package private(set) var configurationFile: String?
    /// The settings that a later version no longer reads, each with its replacement.
    package private(set) var deprecations: [String] = []
    /// The effective configuration as YAML, secrets redacted.
    package private(set) var effectiveYAML = ""

    /// Reads the configuration file, then the environment, then the flags. The later value wins.
    ///
    /// - Parameters:
    ///   - file: The YAML file's path. Nil takes the file that the environment names, if any.
    ///   - flags: Settings by key.
    package static func load(
        file: String?, flags: [String: String], environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(SettingsError) -> Settings {
        let source = try SettingsSource(file: file, environment: environment, flags: flags)
        return try Settings(source, environment: environment)
    }

    /// Reads the log's format, so that errors in other settings can be reported in it.
    ///
    /// - Returns: `text` if it cannot be read.
    package static func logFormat(
        file: String?, flags: [String: String], environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> LogFormat {
        guard let source = try? SettingsSource(file: file, environment: environment, flags: flags) else { return .text }
        var reader = SettingsReader(source)
        return logFormat(&reader)
    }

    private static func logFormat(_ reader: inout SettingsReader) -> LogFormat {
        reader.value("log.format", .choice, default: .text)
    }

    /// - Throws: `SettingsError` with all problems together.
    package init(_ source: SettingsSource, environment: [String: String]) throws(SettingsError) {
        var reader = SettingsReader(source)
        let paths = ServerPaths(environment: environment)

        identityKeyFile = reader.value(ServerPaths.keyFileSetting, .path, default: paths.keyFile)
        storagePath = reader.value(ServerPaths.databaseSetting, .path, default: paths.database)
        sealingKeyFile = reader.value(
            ServerPaths.sealingKeyFileSetting, .path,
            default: ServerPaths.defaultSealingKeyFile(keyFile: identityKeyFile, database: storagePath))
        let maximumStoredByteCount = reader.optional("storage.maximumBytes", .integer((1 << 20)...Int.max))
        backup = Self.backup(&reader)
        storage = Self.readStorage(path: storagePath, &reader)
        serverName = Self.readServerName(&reader)

        transportKind = reader.value("transport.kind", .choice, default: .embedded)
        pubsubTopics = reader.list("transport.pubsubTopics", of: .pubsubTopic, default: ["/waku/2/rs/16/32"], isSet: true)
        let quietTopics = reader.list("transport.quietTopics", of: .pubsubTopic, isSet: true)
        for topic in quietTopics where !pubsubTopics.contains(topic) {
            reader.report("transport.quietTopics", "\(topic) is not in transport.pubsubTopics; add it there, or remove it here")
        }
        echoesReplies = reader.value("transport.replyEcho", .bool, default: true)
        embeddedListen = reader.list("transport.embedded.listen", of: .address, default: [ListenAddress(host: "127.0.0.1", port: 8645)])
        wakuURLs = Self.wakuURLs(&reader)
        waku = WakuTransport.Configuration(pubsubTopics: pubsubTopics)
        waku.quietTopics = Set(quietTopics)
        reader.update(&waku.pollInterval, "transport.waku.pollInterval", .duration(from: .milliseconds(10), to: .seconds(60)))
        reader.update(&waku.cacheCapacity, "transport.waku.cacheCapacity", .integer(1...1_000_000))
        reader.update(&waku.usesHistory, "transport.waku.history", .bool)
        waku.storePeerAddress = reader.optional("transport.waku.storePeer", .multiaddress)
        reader.ignore("transport.waku.confirmPublishing")
        wakuHeaders = reader.headers("transport.waku.headers")
        wakuCertificateAuthorityFile = reader.existingFile("transport.waku.certificateAuthorityFile")
        waku.maximumPostsInFlight = reader.optional("transport.waku.maximumPostsInFlight", .integer(1...64))

        delivery = Self.gorush(&reader)

        if waku.storePeerAddress != nil, !waku.usesHistory {
            reader.report("transport.waku.storePeer", "has no effect, because transport.waku.history is false")
        }

        registrationPolicy = RegistrationPolicy(
            acceptRetransmission: reader.value("registration.acceptRetransmission", .bool, default: true),
            acceptNew: reader.value("registration.acceptNew", .bool, default: true), apnTopics: Self.apnTopics(&reader),
            maximumStoredByteCount: maximumStoredByteCount,
            lifetime: reader.value(
                "registration.lifetime", .duration(from: .seconds(30 * 86_400), to: .seconds(3_650 * 86_400)),
                default: RegistrationPolicy().lifetime))
        // Apple accepts these bundle ids. If it rejects any of them, the configuration is at fault, and the id wasn't invented.
        delivery?.knownBundleIDs = registrationPolicy.apnTopics ?? []

        canary = Self.canary(&reader)

        adminListen = reader.value("admin.listen", .address, default: ListenAddress.defaultAdmin)
        adminAllowedHosts = reader.list("admin.allowedHosts", of: .host("host names"), isSet: true)
        gateways = Self.gateways(&reader)
        let relays = transportKind == .embedded ? embeddedListen.map { ("transport.embedded.listen", $0) } : []
        Self.notePortsInUseTwice(
            [("admin.listen", adminListen)] + relays + (gateways.map { [("gateways.listen", $0.listen)] } ?? []), &reader)

        shutdownGracePeriod = reader.value(
            "shutdown.gracePeriod", .duration(from: .seconds(1), to: .seconds(600)), default: ShutdownLimits.defaultGracePeriod)

        logLevel = reader.value("log.level", .choice, default: .info)
        logFormat = Self.logFormat(&reader)

        reader.finish()
        guard reader.problems.isEmpty else { throw SettingsError(problems: reader.problems) }
        origins = source.origins
        configurationFile = source.configurationFile
        deprecations = reader.warnings
        effectiveYAML = Self.yaml(reader.effective)
    }

    private static func wakuURLs(_ reader: inout SettingsReader) -> [String] {
        let urls = reader.list("transport.waku.urls", of: .url, isSet: true)
        guard !urls.isEmpty else { return [reader.value("transport.waku.url", .url, default: "http://127.0.0.1:8645")] }
        if reader.optional("transport.waku.url", .url) != nil {
            reader.report("transport.waku.url", "conflicts with transport.waku.urls; set only one of them")
        }
        return urls
    }

    /// Reads the bundle ids of the apps that the server serves. Nil means every app.
    private static func apnTopics(_ reader: inout SettingsReader) -> Set<String>? {
        let key = "registration.apnTopics"
        let topics = reader.optionalList(key, of: .text("bundle ids"), isSet: true)
        if topics?.isEmpty == true { reader.report(key, "expected at least one bundle id; leave the setting out to serve every app") }
        return topics.map { Set($0) }
    }

    /// The file with the token that a tool presents to change the server's state, next to the database.
    package var adminTokenFile: String { storagePath + ".admin-token" }
    /// The file with a random text that tells this machine from others with the same ``serverName``.
    package var serverPartFile: String { storagePath + ".server-part" }

    /// The file that keeps the status page's histories between two runs, next to the database.
    package var statusHistoryFile: String { storagePath + ".status-history" }

    /// The recommendations about settings that are valid but unsafe.
    package var recommendations: [String] {
        var recommendations: [String] = []
        if delivery != nil, registrationPolicy.apnTopics == nil {
            recommendations.append(
                "registration.apnTopics: list the bundle ids of your apps; without it anyone can send pushes to any app that gorush serves")
        }
        if !adminListen.isLoopback {
            recommendations.append(
                "admin.listen: other machines can reach \(adminListen), and whoever does reads health, metrics and status; listen on "
                    + "127.0.0.1, or let a firewall admit only your monitoring")
        }
        return recommendations
    }

    private static func notePortsInUseTwice(_ addresses: [(key: String, address: ListenAddress)], _ reader: inout SettingsReader) {
        for (index, one) in addresses.enumerated() {
            for other in addresses[..<index] where one.address.collides(with: other.address) {
                reader.report(one.key, "\(one.address) is already used by \(other.key), on \(other.address)")
            }
        }
    }
}
