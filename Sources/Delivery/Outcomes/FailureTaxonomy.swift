/// What a failure that gorush reports asks us to do (GORUSH.md §6).
enum FailureKind: String, Sendable, CaseIterable {
    /// The device is gone: unregister it.
    case deadToken = "dead token"
    /// The device is gone, or the push went to the wrong place (sandbox for production, another Firebase project): ask again.
    case wrongEnvironment = "wrong environment"
    /// It will pass.
    case transient = "transient"
    /// Apple or Google refuses gorush itself. Nothing is delivered before an operator of gorush puts its credentials right.
    case credentials = "credentials"
    /// Apple refuses the bundle id: gorush has no credentials for it, or there is none of that name.
    case topic = "topic"
    /// It will not pass before an operator of gorush does something. The device is not to blame.
    case operatorFault = "operator"
    /// Too long for Apple or Google: send less.
    case tooLong = "too long"
    /// We asked for something that cannot be: never again.
    case ourFault = "our fault"
}

/// A failure as it is counted and stored: never gorush's own words, which can hold a token.
struct Failure: Sendable, Equatable {
    var kind: FailureKind
    /// One of a fixed set.
    var reason: String
    /// Apple's or Google's own, if the credentials are refused: the one kind that never speaks of a device. One short line.
    var words: String?

    /// What the table does not know. It must not cost a device or a push: it is tried again until it expires.
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
        /// As it is counted and stored.
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

    static func reasons(of kind: FailureKind) -> [String] { rows.filter { $0.kind == kind }.map(\.reason) }

    /// - Parameter error: of an entry of `logs` or of a feedback. The first row that applies decides.
    static func classify(_ error: String) -> Failure {
        guard let row = rows.first(where: { $0.applies(to: error) }) else { return .unknownText }
        return Failure(kind: row.kind, reason: row.reason, words: row.kind == .credentials ? words(of: error) : nil)
    }

    /// What stands before the words on OAuth is a request's URL, and what follows is Google's answer.
    private static func words(of error: String) -> String {
        let words = error.firstRange(of: "oauth2:").map { error[$0.lowerBound...] } ?? error[...]
        return String(words.prefix(200).map { $0.isASCII && !$0.isNewline && $0 >= " " ? $0 : " " })
    }

    static let rows: [Row] =
        // APNs: the `reason`, verbatim.
        rows(.whole, .deadToken, "Unregistered", "ExpiredToken")
        + rows(.whole, .wrongEnvironment, "BadDeviceToken", "DeviceTokenNotForTopic", "MissingDeviceToken")
        + rows(.whole, .transient, "TooManyRequests", "InternalServerError", "ServiceUnavailable", "Shutdown", "IdleTimeout")
        + rows(
            .whole, .credentials, "InvalidProviderToken", "ExpiredProviderToken", "MissingProviderToken", "BadCertificate",
            "BadCertificateEnvironment", "Forbidden")
        + rows(.whole, .topic, "TopicDisallowed", "BadTopic", "MissingTopic")
        + rows(.whole, .operatorFault, "TooManyProviderTokenUpdates")
        + rows(.whole, .tooLong, "PayloadTooLarge")
        + rows(
            .whole, .ourFault, "PayloadEmpty", "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "InvalidPushType",
            "BadPath")
        // OAuth of FCM, before the words that stand around it: Google's end decides. What its server or the network did will pass.
        + rows(.part, .transient, "cannot fetch token: 5", "cannot fetch token: Post")
        + rows(.part, .credentials, "cannot fetch token", "oauth2: ")
        // FCM: Google's message; the code is not passed on. The short forms are those of gorush before 1.18.
        + rows(.beginning, .deadToken, "Requested entity was not found")
        + rows(.whole, .deadToken, "NotRegistered", "unregistered device")
        + rows(.beginning, .wrongEnvironment, "The registration token is not a valid FCM registration token", "SenderId mismatch")
        + rows(.whole, .wrongEnvironment, "invalid registration token", "InvalidRegistration", "mismatched sender id")
        + rows(
            .beginning, .transient, "The service is currently unavailable", "Internal error encountered", "Resource has been exhausted",
            "unexpected http response with status: 5", "unknown error while making an http call",
            "timed out while making an http call", "failed to establish a connection")
        + rows(.part, .credentials, "invalid authentication credentials")
        + rows(.beginning, .credentials, "Permission")
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
