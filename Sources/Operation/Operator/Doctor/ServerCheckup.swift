import Bytes
import Delivery
package import Envelope
import Foundation
import HTTPClient
import Observation
package import PushClient
import SQLiteStore
import ServerFiles
package import Settings
import StatusCrypto
import Store
import Transport
import WakuREST

/// A check of something around a server that a test device does not show.
struct ServerCheck: Encodable {
    /// What is wrong comes first.
    enum State: String, Encodable, CaseIterable {
        case failed
        case warning
        case ok
        /// It could not be made. The text says why.
        case notChecked
    }

    let name: String
    let state: State
    let text: String
    let remedy: String?

    static func ok(_ name: String, _ text: String) -> Self { Self(name: name, state: .ok, text: text, remedy: nil) }
    static func notChecked(_ name: String, _ why: String) -> Self { Self(name: name, state: .notChecked, text: why, remedy: nil) }
    static func failed(_ name: String, _ text: String, _ remedy: String) -> Self {
        Self(name: name, state: .failed, text: text, remedy: remedy)
    }
    static func warning(_ name: String, _ text: String, _ remedy: String) -> Self {
        Self(name: name, state: .warning, text: text, remedy: remedy)
    }

    var lines: [String] {
        let column = name + String(repeating: " ", count: max(1, 12 - name.count))
        let line =
            switch state {
            case .failed: "failed  \(column)\(text)"
            case .warning: "warning \(column)\(text)"
            case .ok: "ok      \(column)\(text)"
            case .notChecked: "unknown \(column)not checked: \(text)"
            }
        return [line] + (remedy.map { ["        remedy      \($0)"] } ?? [])
    }

    var failure: Failure? { state == .failed ? .failed("\(name): \(text)\n\(remedy ?? "")") : nil }
}

/// Checks the chain around the server on this machine: its settings, files, disk and backups, its node and its gorush.
package struct ServerCheckup {
    private let settings: OperatorSettings
    private let key: PushClient.PublicKey
    private let clock: WallClock

    /// - Parameters:
    ///   - settings: The server's settings, or defaults if nobody has named any.
    ///   - key: The server that is checked. The settings may be another one's.
    package init(_ settings: OperatorSettings, of key: PushClient.PublicKey, clock: WallClock = .system) {
        (self.settings, self.key, self.clock) = (settings, key, clock)
    }

    private var now: Timestamp { clock.now() }

    /// Makes the checks.
    ///
    /// - Returns: All of them, with those that found something wrong first.
    func run(_ endpoints: AdminEndpoints) async -> [ServerCheck] {
        let checks = await checks(endpoints)
        return ServerCheck.State.allCases.flatMap { state in checks.filter { $0.state == state } }
    }

    private func checks(_ endpoints: AdminEndpoints) async -> [ServerCheck] {
        guard settings.areNamed else {
            return [.notChecked("server", "nobody names its settings; run the doctor on its machine, or name them with --config")]
        }
        let server: Settings
        do {
            server = try settings.settings()
        } catch {
            let problems = error.problems.joined(separator: "; ")
            return [.failed("settings", problems, "Correct the settings; `pushserver check-config` explains each.")]
        }
        var checks = [ServerCheck.ok("settings", settings.origin)]
        let files = self.files(server)
        checks += files.checks
        guard !files.areOthers else { return checks }
        let delivery = await endpoints.delivery(of: key)
        if !files.areReadable, case .otherServer(let reason) = delivery { return checks + [.notChecked("server", reason)] }
        if files.areReadable {
            checks += await [database(), disk(server), backup(server)]
        } else {
            checks += ["database", "disk", "backup"].map { .notChecked($0, "only root and the server's user may look") }
        }
        checks += await node(server)
        checks += await gorush(server)
        checks.append(admin(endpoints, delivery))
        return checks
    }

    // MARK: Files

    private func files(_ server: Settings) -> (checks: [ServerCheck], areReadable: Bool, areOthers: Bool) {
        let name = "files"
        guard unsafe access(server.identityKeyFile, R_OK) == 0 || errno != EACCES else {
            return ([.notChecked(name, "no permission to read \(server.identityKeyFile); run the doctor as root")], false, false)
        }
        do throws(KeyFileError) {
            guard let own = try KeyFile(path: server.identityKeyFile).load() else {
                guard !PrivateFile(path: server.identityKeyFile).isCredential else {
                    return ([.notChecked(name, "\(server.identityKeyFile) is there only while the service runs")], true, false)
                }
                return (
                    [
                        .failed(
                            name, "there is no key file \(server.identityKeyFile)",
                            "Start the server once, or put back its key (docs/BACKUP.md#restore).")
                    ], true, false
                )
            }
            guard own.publicKey == key.publicKey else {
                return (
                    [
                        .notChecked(
                            name,
                            "the settings are another server's, \(PushClient.PublicKey(own.publicKey).hex); "
                                + "name those of \(key.hex) with --config"
                        )
                    ], true, true
                )
            }
            _ = try SealingKeyFile(path: server.sealingKeyFile).load()
        } catch {
            return ([.failed(name, error.description, "Correct the file, or its rights (docs/INTERFACE.md, Files).")], true, false)
        }
        let open = Set([server.identityKeyFile, server.sealingKeyFile, server.storagePath].map(Self.folder)).sorted().filter {
            (FileManager.default.permissions(of: $0) ?? 0) & 0o022 != 0
        }
        guard let folder = open.first else { return ([.ok(name, "identity key, sealing keys, rights")], true, false) }
        return ([.warning(name, "other users may replace the server's files in \(folder)", "Run: chmod go-w \(folder)")], true, false)
    }

    private func database() async -> ServerCheck {
        let database = ServerDatabase(settings.paths)
        do {
            let figures = try await database.read { try await $0.figures() }
            if let time = figures.databaseTime, let problem = Self.clockProblem(lead: time.duration(to: now), of: "PostgreSQL's") {
                return .failed("database", problem, "Set this machine's clock, or PostgreSQL's (docs/RUNBOOK.md#pushserverclockskew).")
            }
            return .ok("database", "\(figures.registrationCount) registrations, \(figures.ledger.openCount) pushes wait")
        } catch {
            return .failed(
                "database", (error as? Failure)?.message ?? "\(error)", "Look at the server's log; docs/REASONS.md explains each reason.")
        }
    }

    private func disk(_ server: Settings) -> ServerCheck {
        guard !server.storage.isPostgreSQL else { return .notChecked("disk", "the database is on PostgreSQL's machine") }
        guard let space = DiskSpace(ofFile: server.storagePath) else { return .notChecked("disk", "the system does not tell its space") }
        let size = ["", "-wal"].map { FileManager.default.byteCount(of: server.storagePath + $0) ?? 0 }.reduce(0, +)
        let text = "\(ByteText.text(Int(clamping: space.free))) free, the database has \(ByteText.text(size))"
        guard space.free >= 2 * size else {
            return .failed("disk", text + "; two copies of it do not fit", "Free or add space (docs/RUNBOOK.md#pushserverdiskfull).")
        }
        return .ok("disk", text)
    }

    private func backup(_ server: Settings) -> ServerCheck {
        let name = "backup"
        guard !server.storage.isPostgreSQL else {
            return .notChecked(name, "PostgreSQL has backups of its own (docs/BACKUP.md#postgresql)")
        }
        guard let backup = server.backup else {
            return .notChecked(name, "storage.backup.folder is not set; whoever else makes backups is unknown")
        }
        let folder = BackupFolder(path: backup.folder, identity: key.publicKey.compressed)
        guard let newest = folder.backups().filter({ $0.time <= now }).max(by: { $0.time < $1.time }) else {
            return .failed(name, "there is none in \(backup.folder)", "Look at the server's log and at the folder (docs/BACKUP.md).")
        }
        let path = folder.path(of: newest)
        guard Self.isReadable(path) else {
            return .failed(name, "\(path) is neither a database nor encrypted with age", "Make another with `pushctl backup` and try it.")
        }
        let age = newest.time.duration(to: now)
        let text = "the newest one is \(StatusText.age(Int(age.components.seconds))) old"
        guard age <= backup.schedule.interval * 2 else {
            return .failed(name, text, "Look at the server's log: it should be made every \(backup.schedule.interval) (docs/BACKUP.md).")
        }
        return .ok(name, text)
    }

    /// Whether a file begins as a database or an encrypted file does.
    private static func isReadable(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path), let start = try? file.read(upToCount: 21) else { return false }
        return start.starts(with: Data("SQLite format 3\0".utf8)) || start.starts(with: Data("age-encryption.org/v1".utf8))
    }

    // MARK: Services

    private func node(_ server: Settings) async -> [ServerCheck] {
        guard server.transportKind == .waku else {
            return [
                .ok("network", "the server's own relay (transport.kind: embedded)"),
                .notChecked("clock", "there is no node to compare with"),
            ]
        }
        let client = HTTPClient(configuration: .init(certificateAuthorityFile: server.wakuCertificateAuthorityFile))
        defer { client.shutdown() }
        var checks: [ServerCheck] = []
        for url in server.wakuURLs {
            let node = WakuNode(url: url, client: client, headers: server.wakuHeaders)
            do {
                let health = try await node.health()
                let connection = health.connection.map { " (\($0))" } ?? ""
                if !health.issues.isEmpty {
                    checks.append(
                        .failed(
                            "node", "\(node.name): \(health.issues.joined(separator: "; "))", "docs/WAKU_NODE.md has the flags of a node."))
                } else if let warning = health.warnings.first {
                    checks.append(.warning("node", "\(node.name): \(warning)", "docs/WAKU_NODE.md has the flags of a node."))
                } else {
                    checks.append(.ok("node", "\(node.name)\(connection)"))
                }
                if let time = health.time {
                    checks.append(
                        Self.clockProblem(lead: time.duration(to: now), of: "that of \(node.name)").map {
                            .failed("clock", $0, "Let both machines set their clocks by NTP.")
                        } ?? .ok("clock", "as that of \(node.name)"))
                } else {
                    checks.append(.notChecked("clock", "\(node.name) does not tell the time"))
                }
            } catch {
                checks.append(.failed("node", "\(node.name): \(error)", "Is it running, with --rest=true (docs/WAKU_NODE.md)?"))
                continue
            }
            if server.waku.usesHistory { checks.append(await store(of: node, server)) }
        }
        return checks
    }

    /// How far back a node's store reaches on the first shard.
    private func store(of node: WakuNode, _ server: Settings) async -> ServerCheck {
        var query = StoreQuery()
        query.pubsubTopic = server.pubsubTopics.first
        query.pageSize = 1
        query.peerAddress = server.waku.storePeerAddress
        do {
            let page = try await node.storePage(query)
            guard let oldest = page.rows.first?.timestamp else {
                return .warning(
                    "store", "\(node.name) has no message of \(query.pubsubTopic ?? "the shard")",
                    "Right after its start that is normal; else compare the shard (docs/WAKU_NODE.md#shards).")
            }
            return .ok("store", "\(node.name) reaches back \(StatusText.age(Int(oldest.duration(to: now).components.seconds)))")
        } catch {
            return .failed("store", "\(node.name): \(error)", "Without it the server cannot catch up after an outage (docs/WAKU_NODE.md).")
        }
    }

    private func gorush(_ server: Settings) async -> [ServerCheck] {
        guard let delivery = server.delivery else {
            return [.warning("gorush", "gorush.url is not set: no push leaves the server", "Set it (docs/INSTALL.md#first-push).")]
        }
        let probes = await delivery.probe()
        return probes.flatMap { probe -> [ServerCheck] in
            guard let issue = probe.issue else {
                let warnings = probe.warnings.map { warning in
                    ServerCheck.warning("gorush", "\(probe.name): \(warning)", Self.remedy(for: warning))
                }
                return warnings.isEmpty ? [.ok("gorush", probe.name)] : warnings
            }
            return [.failed("gorush", "\(probe.name): \(issue)", Self.remedy(for: issue))]
        } + [
            .notChecked(
                "credentials",
                "gorush does not tell when its certificates and keys expire (docs/CREDENTIALS.md#before-a-certificate-expires)")
        ]
    }

    private func admin(_ endpoints: AdminEndpoints, _ delivery: AdminEndpoints.Delivery) -> ServerCheck {
        switch delivery {
        case .works, .fails: .ok("address", "the admin endpoints at \(endpoints.url) are this server's")
        case .unknown where endpoints.url.hasSuffix(":0"): .notChecked("address", "admin.listen leaves its port to the system")
        case .unknown(let reason), .otherServer(let reason):
            .failed("address", reason, "Is the server running? Compare admin.listen of its settings.")
        }
    }

    // MARK: Rules

    private static func remedy(for text: String) -> String {
        Remedy.of(text).map { "\($0.text) (docs/\($0.page))" } ?? "docs/DELIVERY.md#configuration-check-of-gorush explains each text."
    }

    /// What is wrong with this machine's clock beside another one, or nil.
    private static func clockProblem(lead: Duration, of other: String) -> String? {
        guard Exchange.isWrong(clockLead: lead) else { return nil }
        let (seconds, side) = (abs(lead.components.seconds), lead < .zero ? "behind" : "ahead of")
        return "this machine's clock is \(seconds) s \(side) \(other)"
    }

    private static func folder(_ path: String) -> String { URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false) }
}

extension OperatorSettings {
    /// Returns the key of the settings' key file. If it cannot be read, the server is asked.
    ///
    /// - Throws: ``Failure`` of kind `usage` without both.
    package func serverKey(asking endpoints: AdminEndpoints) async throws(Failure) -> PushClient.PublicKey {
        guard areNamed, let own = try? KeyFile(path: paths.keyFile).load() else { return try await endpoints.publicKey() }
        return PushClient.PublicKey(own.publicKey)
    }
}

extension FileManager {
    fileprivate func permissions(of path: String) -> Int? { (try? attributesOfItem(atPath: path))?[.posixPermissions] as? Int }
    fileprivate func byteCount(of path: String) -> Int? { (try? attributesOfItem(atPath: path))?[.size] as? Int }
}
