import ArgumentParser
import PushClient
import SQLiteStore
import StatusCrypto
import Store
import Wire

struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations",
        abstract: "Counts the registrations of a server, or shows those of one key; tokens are never shown.")

    @Option(help: "A public key (0x04… or compressed) or the 128 hex digits of its hash.", transform: HexArgument.person)
    var of: Person?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    private struct Counts: Encodable {
        var apn: Int
        var firebase: Int
        var unregistered: Int
        var nextcloud: Int
        var nextcloudOrigin: Int
    }

    private struct Summary: Encodable {
        var installationID: String
        var version: UInt64
        var registered: Bool
        var tokenType: String?
        var apnTopic: String?
        var enabled: Bool?
    }

    func run() async throws {
        guard let of else { return try await printCounts() }
        let hash = of.keyHash.bytes
        let summaries = try await database.withStore { try await $0.registrationSummaries(of: hash) }.map {
            Summary(
                installationID: $0.installationID, version: $0.version, registered: $0.isLive,
                tokenType: $0.isLive ? ($0.tokenType == .apn ? "apn" : "firebase") : nil,
                apnTopic: $0.isLive && !$0.apnTopic.isEmpty ? $0.apnTopic : nil, enabled: $0.isLive ? $0.isEnabled : nil)
        }
        try output.print(summaries) {
            summaries.map { summary in
                let details = [summary.tokenType, summary.apnTopic, summary.enabled == false ? "disabled" : nil].compactMap { $0 }
                return "\(summary.installationID)  version \(summary.version)  "
                    + (summary.registered ? details.joined(separator: ", ") : "unregistered")
            }
        }
        if summaries.isEmpty { throw Failure.failed("The server has never heard of that key.") }
    }

    private func printCounts() async throws {
        let counts = try await database.withStore { try await $0.registrationCounts() }
        let result = Counts(
            apn: counts.live[.apn] ?? 0, firebase: counts.live[.firebase] ?? 0, unregistered: counts.tombstones,
            nextcloud: counts.nextcloud, nextcloudOrigin: counts.nextcloudOrigin)
        try output.print(result) {
            [
                "apn           \(result.apn)", "firebase      \(result.firebase)", "unregistered  \(result.unregistered)",
                "nextcloud     \(result.nextcloud)", "origin        \(result.nextcloudOrigin)",
            ]
        }
    }
}
