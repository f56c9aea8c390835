import Bytes
import StatusCrypto
import Store

/// The meaning of a failure that gorush reports (GORUSH.md §6).
enum FailureKind: Sendable, CaseIterable {
    /// Apple's 410: the device token is dead. The only verdict that one attempt proves.
    case deadToken
    /// Words about the device: its token is dead, or the push went to the wrong environment of Apple or another Firebase project.
    case refusedDevice
    /// The failure will pass.
    case transient
    /// The device gets too many pushes.
    case deviceQuota
    /// Google limits the device, or the whole project.
    case quota
    /// Apple or Google rejects gorush itself, in words that no registration can cause.
    case credentials
    /// Apple rejects the bundle id: gorush has no credentials for it, or it does not exist.
    case topic
    /// An operator of gorush has to change something, or the token is in the wrong place. The device is not to blame.
    case operatorFault
    /// The push is too long for Apple or Google: send less.
    case tooLong
    /// Words about the push: it is invalid, or a setting makes every push invalid.
    case refusedPush
    /// Words that the table lacks. They must cost neither device nor push.
    case unknown
}

/// A failure with the reason for metrics and the database.
struct Failure: Sendable, Equatable {
    var kind: FailureKind
    var reason: PushReason
    /// Apple's or Google's words on one short line without tokens, for an operator.
    var words: String

    init(kind: FailureKind, reason: PushReason, words: String? = nil) {
        self.kind = kind
        self.reason = reason
        self.words = words ?? reason.rawValue
    }

    static let unknownText = Failure(kind: .unknown, reason: .unknownText)
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
        var reason: PushReason

        func applies(to error: String) -> Bool {
            switch match {
            case .whole: error == text
            case .beginning: error.hasPrefix(text)
            case .part: error.contains(text)
            }
        }
    }

    /// Returns the meaning of an error in `logs`. The first row that applies decides.
    ///
    /// - Parameter token: The device token, which never gets into the words.
    static func classify(_ error: String, token: DeviceToken = "") -> Failure {
        guard let row = rows.first(where: { $0.applies(to: error) }) else {
            return Failure(kind: .unknown, reason: .unknownText, words: words(of: error, without: token))
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
        return line.allSatisfy { $0 == " " } ? PushReason.unknownText.rawValue : String(line)
    }

    static let rows: [Row] =
        // APNs: the `reason`, verbatim.
        rows(.whole, .deadToken, .apnsUnregistered, .expiredToken)
        + rows(.whole, .refusedDevice, .badDeviceToken, .deviceTokenNotForTopic, .missingDeviceToken)
        + rows(.whole, .deviceQuota, .tooManyRequests)
        + rows(.whole, .transient, .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout)
        + rows(
            .whole, .credentials, .invalidProviderToken, .expiredProviderToken, .missingProviderToken, .badCertificate,
            .badCertificateEnvironment, .forbidden, .tooManyProviderTokenUpdates, .badEnvironmentKeyIDInToken, .unrelatedKeyIDInToken)
        + rows(.whole, .topic, .topicDisallowed, .badTopic, .missingTopic)
        + rows(.whole, .tooLong, .payloadTooLarge)
        + rows(
            .whole, .refusedPush, .payloadEmpty, .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .invalidPushType, .badPath
        )
        // FCM's OAuth, before the shorter words that its text contains. A failure of Google's server or of the network will pass.
        + rows(.part, .transient, .oauthServerFailed, .oauthUnreachable)
        + rows(.part, .credentials, .oauthRejected, .oauthFailed)
        // FCM: Google's message. The code is not passed on. The short forms are those of gorush before 1.18.
        + rows(.beginning, .refusedDevice, .entityNotFound)
        + rows(.whole, .refusedDevice, .notRegistered, .unregisteredDevice)
        + rows(.beginning, .refusedDevice, .invalidFCMToken, .senderMismatch)
        + rows(.whole, .refusedDevice, .invalidRegistrationToken, .invalidRegistration, .mismatchedSender)
        + rows(.beginning, .quota, .resourceExhausted, .quotaExceeded)
        + rows(
            .beginning, .transient, .serviceUnavailableAtGoogle, .internalErrorAtGoogle, .serverErrorAtGoogle, .callFailed, .callTimedOut,
            .connectionFailed)
        + rows(.part, .credentials, .invalidCredentials, .missingCredential, .projectDisabled, .callerNotPermitted)
        + rows(.beginning, .credentials, .permission)
        // THIRD_PARTY_AUTH_ERROR, which a token for iOS or the web causes too.
        + rows(.beginning, .operatorFault, .apnsAuthorization)
        + rows(.beginning, .operatorFault, .fcmServerError, .clientErrorAtGoogle)
        + rows(.part, .tooLong, .tooBig)
        + rows(.beginning, .refusedPush, .sendError, .invalidArgument)
        // The network between gorush and them: Go's words, which hold the token.
        + [Row(match: .beginning, text: "Post \"", kind: .transient, reason: .networkError)]
        + rows(.part, .transient, .contextCanceled, .deadlineExceeded)

    private static func rows(_ match: Row.Match, _ kind: FailureKind, _ reasons: PushReason...) -> [Row] {
        reasons.map { Row(match: match, text: $0.rawValue, kind: kind, reason: $0) }
    }
}
