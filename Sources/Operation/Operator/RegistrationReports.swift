package import Bytes
package import Envelope
import StatusCrypto
package import Store
import Wire

/// How many registrations a server has.
package struct RegistrationCountsReport: Report {
    private let apn: Int
    private let firebase: Int
    private let unregistered: Int
    private let nextcloud: Int
    private let nextcloudOrigin: Int

    /// - Parameter start: The time since which counted installations have registered, renewed or unregistered. Nil counts all.
    package init(since start: Timestamp?, reading store: any OperatorViews) async throws {
        let counts = try await store.registrationCounts(since: start)
        apn = counts.live[.apn] ?? 0
        firebase = counts.live[.firebase] ?? 0
        unregistered = counts.tombstones
        nextcloud = counts.nextcloud
        nextcloudOrigin = counts.nextcloudOrigin
    }

    package var lines: [String] {
        [
            "apn           \(apn)", "firebase      \(firebase)", "unregistered  \(unregistered)", "nextcloud     \(nextcloud)",
            "origin        \(nextcloudOrigin)",
        ]
    }
}

/// A key's registrations, without tokens.
package struct RegistrationsReport: Report {
    private struct Summary: Encodable {
        var installationID: String
        /// Digits, because most readers of JSON lose precision above 2^53.
        var version: String
        var isRegistered: Bool
        var tokenType: String?
        var bundleID: String?
        var isEnabled: Bool?

        var line: String {
            let details = [tokenType, bundleID, isEnabled == false ? "disabled" : nil].compactMap { $0 }
            return "\(installationID)  version \(version)  " + (isRegistered ? details.joined(separator: ", ") : "unregistered")
        }
    }

    private let summaries: [Summary]

    package init(of keyHash: Digest64, reading store: any OperatorViews) async throws {
        summaries = try await store.registrationSummaries(of: keyHash).map {
            Summary(
                installationID: $0.installationID, version: "\($0.version)", isRegistered: $0.isLive,
                tokenType: $0.isLive ? ($0.tokenType == .apn ? "apn" : "firebase") : nil,
                bundleID: $0.isLive && !$0.apnTopic.isEmpty ? $0.apnTopic : nil, isEnabled: $0.isLive ? $0.isEnabled : nil)
        }
    }

    package var lines: [String] { summaries.map(\.line) }

    package var failure: Failure? { summaries.isEmpty ? .failed("The server does not know that key.", .unknownOwner) : nil }

    package func encode(to encoder: any Encoder) throws { try summaries.encode(to: encoder) }
}
