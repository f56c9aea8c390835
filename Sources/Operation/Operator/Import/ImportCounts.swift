import PushProtocol

/// The numbers of rows that an import has treated, by treatment.
struct ImportCounts: Sendable {
    var registrations = 0
    /// Tombstones of owners who had unregistered.
    var unregistered = 0
    /// Registrations that the server would reject today, taken as they are.
    var exceptions: [ImportException: Int] = [:]
    /// Registrations whose version alone was taken.
    var tombstones: [ImportRefusal: Int] = [:]
    var skipped: [ImportObstacle: Int] = [:]
    var requests = 0
    /// Handled requests that were not taken: older requests, and rows that are not an id.
    var skippedRequests = 0

    mutating func add(_ decision: ImportDecision) {
        switch decision {
        case .register(_, let exceptions):
            registrations += 1
            for exception in exceptions { self.exceptions[exception, default: 0] += 1 }
        case .tombstone(_, _, _, refusal: nil): unregistered += 1
        case .tombstone(_, _, _, let refusal?): tombstones[refusal, default: 0] += 1
        case .skip(let obstacle): skipped[obstacle, default: 0] += 1
        }
    }
}

extension ImportException {
    var text: String {
        switch self {
        case .accessToken: "access token in other brackets than braces"
        case .lists: "lists above the limits of new registrations"
        }
    }
}

extension ImportRefusal {
    var text: String {
        switch self {
        case .unreadable: "unreadable registration message"
        case .otherContent: "registration of another installation or version"
        case .accessToken: "access token other than a UUID"
        case .grant: "malformed grant"
        case .deviceToken: "device token that is empty, too long, or none of APNs"
        case .tokenType: "token type that is neither APN nor FIREBASE"
        case .bundleID: "APN without a usable apn_topic"
        }
    }
}

extension ImportObstacle {
    var text: String {
        switch self {
        case .keyHash: "public_key other than a hash of 64 bytes"
        case .installationID: "installation_id that is empty or longer than \(ProtocolLimits.maximumInstallationIDByteCount) bytes"
        case .version: "version that is not above 0"
        }
    }
}
