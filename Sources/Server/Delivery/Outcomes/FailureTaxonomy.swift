import Bytes
import StatusCrypto

/// The meaning of a failure that gorush reports (GORUSH.md §6).
enum FailureKind: Sendable, CaseIterable {
    /// Apple's 410: the device token is dead. The only verdict that one attempt proves.
    case deadToken
    /// The device token is dead, or the push went to the wrong environment of Apple or another Firebase project.
    case ambiguous
    /// The failure will pass.
    case transient
    /// Apple or Google rejects gorush itself, in words that no registration can cause.
    case credentials
    /// Apple rejects the bundle id: gorush has no credentials for it, or it does not exist.
    case topic
    /// An operator of gorush has to change something, or the token is in the wrong place. The device is not to blame.
    case operatorFault
    /// The push is too long for Apple or Google: send less.
    case tooLong
    /// The push is invalid permanently.
    case ourFault
}

/// A failure with the reason that metrics and the database contain.
struct Failure: Sendable, Equatable {
    var kind: FailureKind
    /// The reason for metrics and the database, from a fixed set.
    var reason: String
    /// Apple's or Google's words on one short line without tokens, for an operator.
    var words: String

    init(kind: FailureKind, reason: String, words: String? = nil) {
        self.kind = kind
        self.reason = reason
        self.words = words ?? reason
    }

    /// The failure for a text that the table lacks. It must cost neither device nor push, so the push is retried until it expires.
    static let unknownText = Failure(kind: .transient, reason: "unknown text")
}

/// The texts of Apple, Google and gorush's own network stack, by what to do: GORUSH.md §6 as one table.
enum FailureTaxonomy {
    struct Row: Sendable {
        enum Match: Sendable {
            case whole
            case beginning
            case part
        }

        var match: Match
        var text: String
        var kind: FailureKind
        /// The reason for metrics and the database.
        var reason: String

        func applies(to error: String) -> Bool {
            switch match {
            case .whole: error == text
            case .beginning: error.hasPrefix(text)
            case .part: error.contains(text)
            }
        }
    }

    /// The reasons that can occur in metrics.
    static let reasons = rows.map(\.reason) + [Failure.unknownText.reason]

    static func reasons(of kinds: FailureKind...) -> [String] { rows.filter { kinds.contains($0.kind) }.map(\.reason) }

    /// Returns the meaning of an error in `logs`. The first row that applies decides.
    ///
    /// - Parameter token: The device token, which never gets into the words.
    static func classify(_ error: String, token: DeviceToken = "") -> Failure {
        guard let row = rows.first(where: { $0.applies(to: error) }) else {
            return Failure(kind: .transient, reason: Failure.unknownText.reason, words: words(of: error, without: token))
        }
        if row.match == .whole { return Failure(kind: row.kind, reason: row.reason) }
        return Failure(kind: row.kind, reason: row.reason, words: words(of: error, without: token))
    }

    /// Returns one short line. The URL of a request precedes Go's words, and a path of it holds the token.
    private static func words(of error: String, without token: DeviceToken) -> String {
        var words = error.firstRange(of: "oauth2:").map { String(error[$0.lowerBound...]) } ?? error
        if !token.isEmpty { words = words.replacing(token.text, with: "…") }
        words = words.replacing(#/Post "[^"]*": /#, with: "").replacing(#/[A-Za-z0-9_:\-]{20,}/#) { match in
            match.output.contains(where: \.isNumber) ? "…" : String(match.output)
        }
        let line = words.prefix(200).map { ($0.isASCII && !$0.isNewline && $0 >= " ") || $0 == "…" ? $0 : " " }
        return line.allSatisfy { $0 == " " } ? Failure.unknownText.reason : String(line)
    }

    static let rows: [Row] =
        // APNs: the `reason`, verbatim.
        rows(.whole, .deadToken, "Unregistered", "ExpiredToken")
        + rows(.whole, .ambiguous, "BadDeviceToken", "DeviceTokenNotForTopic", "MissingDeviceToken")
        + rows(.whole, .transient, "TooManyRequests", "InternalServerError", "ServiceUnavailable", "Shutdown", "IdleTimeout")
        + rows(
            .whole, .credentials, "InvalidProviderToken", "ExpiredProviderToken", "MissingProviderToken", "BadCertificate",
            "BadCertificateEnvironment", "Forbidden", "TooManyProviderTokenUpdates", "BadEnvironmentKeyIdInToken", "UnrelatedKeyIdInToken")
        + rows(.whole, .topic, "TopicDisallowed", "BadTopic", "MissingTopic")
        + rows(.whole, .tooLong, "PayloadTooLarge")
        + rows(
            .whole, .ourFault, "PayloadEmpty", "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "InvalidPushType",
            "BadPath")
        // FCM's OAuth, before the shorter words that its text contains. A failure of Google's server or of the network will pass.
        + rows(.part, .transient, "cannot fetch token: 5", "cannot fetch token: Post")
        + rows(.part, .credentials, "cannot fetch token", "oauth2: ")
        // FCM: Google's message; the code is not passed on. The short forms are those of gorush before 1.18.
        + rows(.beginning, .ambiguous, "Requested entity was not found")
        + rows(.whole, .ambiguous, "NotRegistered", "unregistered device")
        + rows(.beginning, .ambiguous, "The registration token is not a valid FCM registration token", "SenderId mismatch")
        + rows(.whole, .ambiguous, "invalid registration token", "InvalidRegistration", "mismatched sender id")
        + rows(
            .beginning, .transient, "The service is currently unavailable", "Internal error encountered", "Resource has been exhausted",
            "Quota exceeded",
            "unexpected http response with status: 5", "unknown error while making an http call",
            "timed out while making an http call", "failed to establish a connection")
        + rows(
            .part, .credentials, "invalid authentication credentials", "missing required authentication credential",
            "has not been used in project", "caller does not have permission")
        + rows(.beginning, .credentials, "Permission")
        // THIRD_PARTY_AUTH_ERROR, which a token for iOS or the web causes too.
        + rows(.beginning, .operatorFault, "Auth error from APNS")
        + rows(.beginning, .operatorFault, "FCM server error", "unexpected http response with status: 4")
        + rows(.part, .tooLong, "too big")
        + rows(.beginning, .ourFault, "fcm service send message error", "Request contains an invalid argument")
        // The network between gorush and them: Go's words, which hold the token.
        + [Row(match: .beginning, text: "Post \"", kind: .transient, reason: "network error")]
        + rows(.part, .transient, "context canceled", "context deadline exceeded")

    private static func rows(_ match: Row.Match, _ kind: FailureKind, _ texts: String...) -> [Row] {
        texts.map { Row(match: match, text: $0, kind: kind, reason: $0) }
    }
}
