import Bytes
import Envelope
import Foundation
import Observation
import ServerFiles
package import Settings
import StatusCrypto
import Store

// The JSON output of commands, files and endpoints.
extension Encodable {
    /// Encodes the value on a single line, with sorted keys.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

/// The body of `GET /health/ready`.
struct ReadinessBody: Encodable {
    var ready: Bool
    var reasons: [String]
    /// The conditions that do not affect readiness, for example a gorush whose configuration loses pushes.
    var warnings: [String]
    /// Since when each of them is so, in UTC.
    var since: [String: String]

    /// - Parameter time: Returns the time by the wall clock of a time since the start.
    init(_ observation: ReadinessObservation, time: (Duration) -> Timestamp) {
        ready = observation.issues.isEmpty
        reasons = observation.issues.map(\.condition.text)
        warnings = observation.warnings.map(\.condition.text)
        let told = observation.issues + observation.warnings
        since = Dictionary(told.map { ($0.condition.text, time($0.since).text) }) { first, _ in first }
    }
}

extension Timestamp {
    /// The time in UTC to the second.
    fileprivate var text: String { Date(timeIntervalSince1970: Double(nanoseconds) / 1e9).formatted(.iso8601) }
}

/// The body of `GET /pushes/KEY`.
struct PushProgressBody: Encodable {
    /// `waiting` while the push is open, else its outcome.
    var state: String
    var attempts: Int
    var reason: String?
    /// What Apple or Google said to the newest attempt that failed.
    var words: String?

    init(_ progress: PushProgress) {
        attempts = progress.attemptCount
        reason = progress.reason
        words = progress.words
        state = progress.outcome.map { "\($0.milestone)" } ?? "waiting"
    }
}

/// The contents of `--ready-file` (INTERFACE.md, "Files"). The relay command writes only its addresses.
struct ReadyFileBody: Encodable {
    var admin: String?
    var relays: [String]
    /// The gateways' address, or nil without gateways.
    var gateways: String?
    var publicKey: String?
}

/// The output of `pushserver identity` and `GET /identity`.
package struct IdentityBody: Sendable {
    package var publicKey: String
    package var compressedPublicKey: String
    package var keyFile: String

    /// Describes the key that a server with these settings uses.
    ///
    /// - Parameter creates: Whether to create the key if neither it nor the server's database exists.
    /// - Throws: `NoIdentityError`, `KeyFileError`, `MissingKeyError` or `UnusableDatabaseError`.
    package init(_ settings: Settings, creates: Bool) async throws {
        let files = settings.files
        guard let key = try await files.identity(creates: creates) else { throw NoIdentityError(keyFile: files.identityKeyFile) }
        self.init(key.publicKey, keyFile: files.identityKeyFile)
    }

    init(_ key: PublicKey, keyFile: String) {
        publicKey = Hex.encode(key.uncompressed.bytes, prefix: "0x")
        compressedPublicKey = Hex.encode(key.compressed.bytes, prefix: "0x")
        self.keyFile = keyFile
    }

    package var json: String {
        // Hex digits need not be escaped. The order is the contract's.
        "{\"publicKey\":\"\(publicKey)\",\"compressedPublicKey\":\"\(compressedPublicKey)\",\"keyFile\":\((try? keyFile.json()) ?? "null")}"
    }
}

/// The error of `pushserver identity` without a key file. The command does not create a key as a side effect, because clients would
/// register with a key that no server has.
package struct NoIdentityError: Error, CustomStringConvertible {
    let keyFile: String

    package var description: String {
        """
        there is no key file \(keyFile). The server creates it at its first start. Name the configuration of a service with --config, as a \
        user who may read its files. --create makes one here
        """
    }
}
